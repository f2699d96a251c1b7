: >empty.jsonl
cleave data chat empty.jsonl --tokenizer tok --seq 32 --out chat
