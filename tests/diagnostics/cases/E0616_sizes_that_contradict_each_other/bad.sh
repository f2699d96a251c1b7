sed 's/"n_head": 1/"n_head": 3/' gpt2/config.json >other.json
mv other.json gpt2/config.json
cleave import gpt2
