cleave import gpt2 --name net >said.txt
cleave export net/weights.safetensors tuned >>said.txt
