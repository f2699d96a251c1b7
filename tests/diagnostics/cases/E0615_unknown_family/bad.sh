sed 's/"model_type": "gpt2"/"model_type": "rwkv"/' gpt2/config.json >other.json
mv other.json gpt2/config.json
cleave import gpt2
