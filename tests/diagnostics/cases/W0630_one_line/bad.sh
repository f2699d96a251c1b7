cleave data chat bad.jsonl --tokenizer tok --seq 32 --out chat --skip-bad >said.txt
