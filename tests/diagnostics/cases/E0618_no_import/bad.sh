cleave export gpt2/model.safetensors tuned
