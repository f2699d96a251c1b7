cleave data chat good.jsonl --tokenizer tok --seq 32 --out chat >said.txt
sed -i 's/"a": 2, "b": 3/"a": 3, "b": 2/' tok/tokenizer.json
cleave data show chat
