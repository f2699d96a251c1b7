cleave data chat good.jsonl --tokenizer tok --seq 32 --out chat >said.txt
