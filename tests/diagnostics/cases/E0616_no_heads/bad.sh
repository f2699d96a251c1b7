sed 's/"n_head": 1/"n_head": 0/; s/"n_layer": 1/"n_layer": 1000000000000000000/' gpt2/config.json >other.json
mv other.json gpt2/config.json
cleave import gpt2
