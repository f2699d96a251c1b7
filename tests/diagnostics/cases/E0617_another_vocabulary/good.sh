cleave import gpt2 --name net >said.txt
