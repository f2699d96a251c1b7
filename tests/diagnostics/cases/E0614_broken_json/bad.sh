head -c 100 gpt2/config.json >short.json
mv short.json gpt2/config.json
cleave import gpt2
