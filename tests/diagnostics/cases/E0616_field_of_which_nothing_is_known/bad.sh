sed 's/"vocab_size": 4/"vocab_size": 4, "logit_scale": 0.5/' gpt2/config.json >other.json
mv other.json gpt2/config.json
cleave import gpt2
