cleave data chat good.jsonl --tokenizer tok --seq 16 --long error --out chat
