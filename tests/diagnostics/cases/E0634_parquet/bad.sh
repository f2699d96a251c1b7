cleave data chat train.parquet --tokenizer tok --seq 32 --out chat
