echo '{"weight_map": {"transformer.wte.weight": "model-00001-of-00002.safetensors"}}' >gpt2/model.safetensors.index.json
rm gpt2/model.safetensors
cleave import gpt2
