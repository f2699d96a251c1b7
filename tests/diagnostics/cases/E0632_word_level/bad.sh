sed -i 's/"BPE"/"WordLevel"/' tok/tokenizer.json
cleave data chat good.jsonl --tokenizer tok --seq 32 --out chat
