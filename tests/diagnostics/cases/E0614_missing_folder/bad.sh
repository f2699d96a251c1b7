cleave import gpt3
