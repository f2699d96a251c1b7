"""Writes small random models of transformers as folders of Hugging Face, and what PyTorch makes of them in five steps.

    python pytorch.py [FAMILY ...]

writes folders/FAMILY, and the lines of the families into pytorch.txt: the losses of five steps of gradient descent, and the likeliest
tokens behind a prompt. Writes rounded.safetensors, too: numbers, and what torch rounds them to. Written with torch 2.15.0 and transformers 5.24.0.
"""

import json
import os
import shutil
import sys

import numpy as np
import torch
import transformers as t
from safetensors.torch import save_file

BATCH, SEQ, VOCAB, STEPS, RATE = 4, 12, 23, 5, 0.1
# 3 heads of keys, each for 2 of queries, whose 6 heads of 8 elements are not as wide as the model.
DECODER = dict(vocab_size=VOCAB, hidden_size=24, intermediate_size=20, num_hidden_layers=2, num_attention_heads=6,
               num_key_value_heads=3, max_position_embeddings=32, bos_token_id=0, eos_token_id=1, pad_token_id=0)
LLAMA3 = dict(rope_type="llama3", rope_theta=10000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=16)

MASKED = ("bert", "roberta", "distilbert")
MODELS = {
    "gpt2": lambda: t.GPT2LMHeadModel(t.GPT2Config(vocab_size=VOCAB, n_positions=16, n_embd=24, n_layer=2, n_head=3, n_inner=20,
                                                   layer_norm_epsilon=1e-3, embd_pdrop=0, attn_pdrop=0, resid_pdrop=0,
                                                   bos_token_id=0, eos_token_id=1)),
    "llama": lambda: t.LlamaForCausalLM(t.LlamaConfig(**DECODER, head_dim=8, tie_word_embeddings=False)),
    "llama3": lambda: t.LlamaForCausalLM(t.LlamaConfig(**DECODER, head_dim=8, tie_word_embeddings=True, rope_parameters=LLAMA3,
                                                       attention_bias=True, mlp_bias=True)),
    "mistral": lambda: t.MistralForCausalLM(t.MistralConfig(**DECODER, head_dim=8, sliding_window=5)),
    "qwen2": lambda: t.Qwen2ForCausalLM(t.Qwen2Config(**DECODER, tie_word_embeddings=True,
                                                      rope_parameters=dict(rope_type="linear", rope_theta=1e6, factor=2.5))),
    "qwen3": lambda: t.Qwen3ForCausalLM(t.Qwen3Config(**DECODER, head_dim=8)),
    "phi3": lambda: t.Phi3ForCausalLM(t.Phi3Config(**DECODER, original_max_position_embeddings=32, sliding_window=5)),
    "olmo2": lambda: t.Olmo2ForCausalLM(t.Olmo2Config(**DECODER)),
    "gemma2": lambda: t.Gemma2ForCausalLM(t.Gemma2Config(**DECODER, head_dim=8, query_pre_attn_scalar=6, sliding_window=5,
                                                         attn_logit_softcapping=2.0, final_logit_softcapping=3.0)),
    "gemma3": lambda: t.Gemma3ForCausalLM(t.Gemma3TextConfig(vocab_size=VOCAB, hidden_size=16, intermediate_size=12, num_hidden_layers=7,
                                                             num_attention_heads=2, num_key_value_heads=1, head_dim=8,
                                                             max_position_embeddings=32, query_pre_attn_scalar=6, sliding_window=5,
                                                             bos_token_id=0, eos_token_id=1, pad_token_id=0, rope_parameters=dict(
                                                                 full_attention=dict(rope_type="linear", factor=2.5, rope_theta=1e6),
                                                                 sliding_attention=dict(rope_type="default", rope_theta=1e4)))),
    "mixtral": lambda: t.MixtralForCausalLM(t.MixtralConfig(**(DECODER | dict(intermediate_size=12)), head_dim=8, num_local_experts=4,
                                                            num_experts_per_tok=2, sliding_window=5)),
    "qwen3_moe": lambda: t.Qwen3MoeForCausalLM(t.Qwen3MoeConfig(**DECODER, head_dim=8, moe_intermediate_size=8, num_experts=5,
                                                                num_experts_per_tok=3, tie_word_embeddings=True)),
    "bert": lambda: t.BertForMaskedLM(t.BertConfig(vocab_size=VOCAB, hidden_size=24, intermediate_size=20, num_hidden_layers=2,
                                                   num_attention_heads=3, max_position_embeddings=16, hidden_dropout_prob=0,
                                                   attention_probs_dropout_prob=0)),
    "roberta": lambda: t.RobertaForMaskedLM(t.RobertaConfig(vocab_size=VOCAB, hidden_size=24, intermediate_size=20, num_hidden_layers=2,
                                                            num_attention_heads=3, max_position_embeddings=16, type_vocab_size=1,
                                                            layer_norm_eps=1e-5, hidden_dropout_prob=0, attention_probs_dropout_prob=0,
                                                            pad_token_id=0, bos_token_id=1)),
    "distilbert": lambda: t.DistilBertForMaskedLM(t.DistilBertConfig(vocab_size=VOCAB, dim=24, hidden_dim=20, n_layers=2, n_heads=3,
                                                                     max_position_embeddings=16, dropout=0, attention_dropout=0)),
}


# A letter for each token.
TOKENIZER = dict(version="1.0", truncation=None, padding=None, added_tokens=[], normalizer=None, post_processor=None,
                 pre_tokenizer=dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=True),
                 decoder=dict(type="ByteLevel", add_prefix_space=True, trim_offsets=True, use_regex=True),
                 model=dict(type="BPE", vocab={chr(ord("a") + i): i for i in range(VOCAB)}, merges=[]))

# Texts end with `b` or `j`.
GENERATION = dict(bos_token_id=0, eos_token_id=[1, 9], do_sample=False, repetition_penalty=1.0)


def write(name):
    torch.manual_seed(3)
    model = MODELS[name]()
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if key.endswith(("embed_tokens.weight", "wte.weight", "wpe.weight", "lm_head.weight")):
                parameter.normal_(0, 0.5)
            elif parameter.dim() == 1:
                parameter.normal_(0, 0.2).add_(1 if "norm" in key.lower() and key.endswith("weight") and not name.startswith("gemma") else 0)
            else:
                parameter.normal_(0, 0.3)
    if name in ("llama3", "qwen3"):
        model = model.bfloat16()
    shutil.rmtree("folders/" + name, ignore_errors=True)
    model.save_pretrained("folders/" + name, max_shard_size="8KB" if name == "llama3" else "1GB")
    if os.path.exists("folders/" + name + "/generation_config.json"):
        os.remove("folders/" + name + "/generation_config.json")
    if name == "llama3":
        json.dump(TOKENIZER, open("folders/" + name + "/tokenizer.json", "w"))
        json.dump(GENERATION, open("folders/" + name + "/generation_config.json", "w"))
    model = type(model).from_pretrained("folders/" + name, dtype=torch.float32, attn_implementation="eager")
    random = np.random.default_rng(1)
    tokens = random.integers(1, VOCAB, (BATCH, SEQ + 1))  # Without 0, which pads: transformers does not train its row.
    x, y = torch.tensor(tokens[:, :-1]), torch.tensor(tokens[:, 1:])
    if name in MASKED:
        x, y = y, torch.where(torch.tensor(random.random((BATCH, SEQ)) < 0.4), x, -100)
    np.save("labels.npy" if name in MASKED else "next.npy", y.numpy().astype(np.int32))
    np.save("masked.npy" if name in MASKED else "tokens.npy", x.numpy().astype(np.int32))
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    text = torch.tensor([[3, 7]])
    with torch.no_grad():
        while name not in MASKED and text.shape[1] < SEQ:
            text = torch.cat([text, model.eval()(text, use_cache=False).logits[:, -1].argmax(-1, keepdim=True)], dim=1)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        logits = model.train()(x).logits
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, VOCAB), y.reshape(-1))
        losses.append(loss.item())
        loss.backward()
        optimizer.step()
    return " ".join(map(repr, losses)) + ("" if name in MASKED else " ; " + " ".join(map(str, text[0].tolist())))


def write_rounded():
    """Numbers of all sizes, and those halfway between two of bf16 and of f16, and their neighbours."""
    random = np.random.default_rng(2)
    exponents = random.integers(-30, 15, 300)
    halves = random.integers(0, 1024, 300) + 0.5
    values = [random.standard_normal(300) * 2.0**exponents, np.ldexp(1 + (random.integers(0, 128, 300) + 0.5) / 128, exponents),
              np.ldexp(1 + halves / 1024, exponents), np.ldexp(halves, -24), [0.0]]
    exact = torch.tensor(np.concatenate(values), dtype=torch.float32)
    exact = torch.cat([exact, torch.nextafter(exact, torch.zeros(())), -exact, torch.tensor([torch.inf, -torch.inf])])
    save_file({"F32": exact, "BF16": exact.to(torch.bfloat16), "F16": exact.to(torch.float16)}, "rounded.safetensors")


write_rounded()
known = {}
if os.path.exists("pytorch.txt"):
    for line in open("pytorch.txt"):
        name, rest = line.rstrip("\n").split(" ", 1)
        known[name] = rest
for name in sys.argv[1:] or MODELS:
    known[name] = write(name)
with open("pytorch.txt", "w") as file:
    file.writelines(f"{name} {known[name]}\n" for name in MODELS if name in known)
