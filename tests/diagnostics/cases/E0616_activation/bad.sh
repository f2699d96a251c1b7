sed 's/"gelu_new"/"xielu"/' gpt2/config.json >other.json
mv other.json gpt2/config.json
cleave import gpt2
