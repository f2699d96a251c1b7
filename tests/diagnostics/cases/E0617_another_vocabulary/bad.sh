sed 's/"vocab_size": 4/"vocab_size": 5/; s/"n_layer": 1/"n_layer": 2/' gpt2/config.json >other.json
mv other.json gpt2/config.json
cleave import gpt2
