sed -i 's/"BPE"/"WordPiece"/' tok/tokenizer.json
cleave data chat good.jsonl --tokenizer tok --seq 32 --out chat
