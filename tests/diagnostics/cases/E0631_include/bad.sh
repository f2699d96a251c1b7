mv wrong.jinja tok/chat_template.jinja
cleave data chat good.jsonl --tokenizer tok --seq 32 --out chat
