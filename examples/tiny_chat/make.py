"""Makes model/, a folder as Hugging Face's transformers 5 writes it: Qwen 3, tiny and untrained, with bytes as tokens.

    python make.py
"""

import pathlib

import tokenizers
import torch
from tokenizers import decoders, pre_tokenizers
from transformers import GenerationConfig, PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

FOLDER = pathlib.Path(__file__).parent / "model"
SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

vocabulary = {token: i for i, token in enumerate(SPECIALS + sorted(pre_tokenizers.ByteLevel.alphabet()))}
byte_tokens = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[]))
byte_tokens.add_special_tokens(SPECIALS)
byte_tokens.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
byte_tokens.decoder = decoders.ByteLevel()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=byte_tokens, eos_token=SPECIALS[2], pad_token=SPECIALS[0])
tokenizer.chat_template = TEMPLATE
tokenizer.save_pretrained(FOLDER)

torch.manual_seed(1)
end = tokenizer.convert_tokens_to_ids(SPECIALS[2])
config = Qwen3Config(
    vocab_size=len(tokenizer),
    hidden_size=48,
    intermediate_size=96,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=16,
    max_position_embeddings=256,
    tie_word_embeddings=True,
    eos_token_id=end,
    initializer_range=0.1,
)
model = Qwen3ForCausalLM(config).to(torch.bfloat16)
model.generation_config = GenerationConfig(eos_token_id=end, pad_token_id=0)
model.save_pretrained(FOLDER)
