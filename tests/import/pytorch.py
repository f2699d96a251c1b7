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

BATCH, SEQ, VOCAB, STEPS, RATE, CLASSES, SIZE = 4, 12, 23, 5, 0.1, 5, 12
# 3 heads of keys, each for 2 of queries, whose 6 heads of 8 elements are not as wide as the model.
DECODER = dict(vocab_size=VOCAB, hidden_size=24, intermediate_size=20, num_hidden_layers=2, num_attention_heads=6,
               num_key_value_heads=3, max_position_embeddings=32, bos_token_id=0, eos_token_id=1, pad_token_id=0)
LLAMA3 = dict(rope_type="llama3", rope_theta=10000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=16)

VISION = dict(num_hidden_layers=2, image_size=SIZE, patch_size=4)
DEEPSEEK = dict(vocab_size=VOCAB, hidden_size=24, intermediate_size=20, moe_intermediate_size=8, num_hidden_layers=2, num_attention_heads=3,
                num_key_value_heads=3, n_routed_experts=6, num_experts_per_tok=2, n_shared_experts=2, first_k_dense_replace=1, kv_lora_rank=8,
                qk_nope_head_dim=6, qk_rope_head_dim=4, v_head_dim=5, n_group=3, topk_group=2, max_position_embeddings=32, bos_token_id=0,
                eos_token_id=1)
YARN = dict(rope_type="yarn", rope_theta=100.0, factor=4.0, original_max_position_embeddings=16, mscale=1.0, mscale_all_dim=0.7, beta_fast=2.0,
            beta_slow=0.5)

MASKED = ("bert", "roberta", "distilbert")
LANGUAGE = ("gpt2", "llama", "llama3", "mistral", "qwen2", "qwen3", "phi3", "olmo2", "gemma2", "gemma3", "mixtral", "qwen3_moe", "deepseek_v2",
            "deepseek_v3")
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
    "deepseek_v2": lambda: t.DeepseekV2ForCausalLM(t.DeepseekV2Config(**DEEPSEEK, q_lora_rank=None, topk_method="group_limited_greedy",
                                                                      routed_scaling_factor=1.5, tie_word_embeddings=True)),
    "deepseek_v3": lambda: t.DeepseekV3ForCausalLM(t.DeepseekV3Config(**DEEPSEEK, q_lora_rank=12, attention_bias=True, rope_parameters=YARN)),
    "vit": lambda: t.ViTForImageClassification(t.ViTConfig(**VISION, hidden_size=24, num_attention_heads=3, intermediate_size=20,
                                                           num_labels=CLASSES)),
    "resnet": lambda: t.ResNetForImageClassification(t.ResNetConfig(embedding_size=6, hidden_sizes=[8, 12], depths=[2, 1], num_labels=CLASSES,
                                                                   hidden_act="silu")),
    "clip": lambda: t.CLIPModel(t.CLIPConfig(text_config=dict(vocab_size=VOCAB, hidden_size=24, intermediate_size=20, num_hidden_layers=2,
                                                              num_attention_heads=3, max_position_embeddings=16, eos_token_id=9,
                                                              bos_token_id=0, pad_token_id=1, hidden_act="gelu"),
                                             vision_config=dict(**VISION, hidden_size=16, intermediate_size=20, num_attention_heads=2),
                                             projection_dim=10)),
    "whisper": lambda: t.WhisperForConditionalGeneration(t.WhisperConfig(vocab_size=VOCAB, num_mel_bins=6, encoder_layers=2, encoder_attention_heads=3,
                                                      encoder_ffn_dim=20, decoder_layers=1, decoder_attention_heads=3, decoder_ffn_dim=20,
                                                      d_model=24, max_source_positions=10, max_target_positions=8, pad_token_id=0,
                                                      bos_token_id=0, eos_token_id=1, decoder_start_token_id=0)),
    "t5": lambda: t.T5ForConditionalGeneration(t.T5Config(vocab_size=VOCAB, d_model=24, d_kv=6, d_ff=20, num_layers=2, num_decoder_layers=1,
                                                          num_heads=3, relative_attention_num_buckets=8, relative_attention_max_distance=10,
                                                          feed_forward_proj="gated-gelu", dropout_rate=0, decoder_start_token_id=0)),
}


# A letter for each token.
TOKENIZER = dict(version="1.0", truncation=None, padding=None, added_tokens=[], normalizer=None, post_processor=None,
                 pre_tokenizer=dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=True),
                 decoder=dict(type="ByteLevel", add_prefix_space=True, trim_offsets=True, use_regex=True),
                 model=dict(type="BPE", vocab={chr(ord("a") + i): i for i in range(VOCAB)}, merges=[]))

# Texts end with `b` or `j`.
GENERATION = dict(bos_token_id=0, eos_token_id=[1, 9], do_sample=False, repetition_penalty=1.0)


def samples():
    """The inputs of all models, under the names that models have for them; `masked` and `masked_labels` are those of MASKED, for which `length`
    says how many tokens a sample has."""
    random = np.random.default_rng(1)
    tokens = random.integers(1, VOCAB, (BATCH, SEQ + 1))  # Without 0, which pads: transformers does not train its row.
    x, y = tokens[:, :-1], tokens[:, 1:]
    length = np.array([SEQ, 7, 9, SEQ])
    is_masked = (random.random((BATCH, SEQ)) < 0.4) & (np.arange(SEQ) < length[:, None])
    answer = random.integers(2, VOCAB, (BATCH, 5))
    answer[1, 3:] = -100
    integers = dict(tokens=x, next=y, masked=y, labels=np.where(is_masked, x, -100), length=length, answer=answer,
                    label=random.integers(0, CLASSES, BATCH))
    floats = dict(image=random.standard_normal((BATCH, 3, SIZE, SIZE)), sound=random.standard_normal((BATCH, 6, 20)),
                  target=random.standard_normal((BATCH, 10, 24)))
    return {key: value.astype(np.int32) for key, value in integers.items()} | {key: value.astype(np.float32) for key, value in floats.items()}


def loss_of(name, model, of):
    """Of a model of transformers, with tensors as `samples` has them."""
    if name in LANGUAGE or name in MASKED:
        masked = name in MASKED
        options = dict(attention_mask=torch.arange(SEQ) < of["length"][:, None]) if masked else {}
        logits = model(of["masked" if masked else "tokens"], **options).logits
        return torch.nn.functional.cross_entropy(logits.reshape(-1, VOCAB), of["labels" if masked else "next"].reshape(-1))
    if name in ("vit", "resnet"):
        return model(of["image"], labels=of["label"]).loss
    if name == "clip":
        return model(input_ids=of["tokens"], pixel_values=of["image"], return_loss=True).loss
    if name == "whisper":
        return torch.nn.functional.mse_loss(model.model.encoder(of["sound"]).last_hidden_state, of["target"])
    return model(of["tokens"], attention_mask=torch.arange(SEQ) < of["length"][:, None], labels=of["answer"]).loss


def randomize(name, model):
    with torch.no_grad():
        for key, parameter in list(model.named_parameters()) + list(model.named_buffers()):
            if key.endswith(("embed_tokens.weight", "wte.weight", "wpe.weight", "lm_head.weight")):
                parameter.normal_(0, 0.5)
            elif key.endswith("running_var"):
                parameter.uniform_(0.5, 2)
            elif key in dict(model.named_buffers()):
                if key.endswith(("running_mean", "correction_bias")):
                    parameter.normal_(0, 0.3)
            elif parameter.dim() == 1:
                parameter.normal_(0, 0.2).add_(1 if "norm" in key.lower() and key.endswith("weight") and not name.startswith("gemma") else 0)
            elif parameter.dim() > 1:
                parameter.normal_(0, 0.3)


def make(name, folder, seed=3):
    """Writes a random model."""
    torch.manual_seed(seed)
    model = MODELS[name]()
    randomize(name, model)
    if name in ("llama3", "qwen3"):
        model = model.bfloat16()
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder, max_shard_size="8KB" if name == "llama3" else "1GB")
    if os.path.exists(folder + "/generation_config.json"):
        os.remove(folder + "/generation_config.json")


def load(name, folder, kind=None):
    model = (kind or type(MODELS[name]())).from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    if name == "whisper":
        model.model.encoder.embed_positions.requires_grad_(False)  # As when it is made; transformers 5.24 forgets it where it loads a model.
    return model.eval()


def tensors(values):
    return {key: torch.tensor(value, dtype=None if value.dtype == np.float32 else torch.long) for key, value in values.items()}


def continued(model):
    """The likeliest tokens behind two."""
    text = torch.tensor([[3, 7]])
    with torch.no_grad():
        while text.shape[1] < SEQ:
            text = torch.cat([text, model.eval()(text, use_cache=False).logits[:, -1].argmax(-1, keepdim=True)], dim=1)
    return text[0].tolist()


def train(name, model, of):
    """The losses of five steps."""
    optimizer = torch.optim.SGD([each for each in model.parameters() if each.requires_grad], lr=RATE)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(name, model.train(), of)
        losses.append(loss.item())
        loss.backward()
        optimizer.step()
    return losses


def write(name):
    folder = "folders/" + name
    make(name, folder)
    if name == "llama3":
        json.dump(TOKENIZER, open(folder + "/tokenizer.json", "w"))
        json.dump(GENERATION, open(folder + "/generation_config.json", "w"))
    model = load(name, folder)
    text = " ; " + " ".join(map(str, continued(model))) if name in LANGUAGE else ""
    return " ".join(map(repr, train(name, model, tensors(samples())))) + text


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


if __name__ == "__main__":
    write_rounded()
    for key, value in samples().items():
        np.save(key + ".npy", value)
    known = {}
    if os.path.exists("pytorch.txt"):
        for line in open("pytorch.txt"):
            name, rest = line.rstrip("\n").split(" ", 1)
            known[name] = rest
    for name in sys.argv[1:] or MODELS:
        known[name] = write(name)
    with open("pytorch.txt", "w") as file:
        file.writelines(f"{name} {known[name]}\n" for name in MODELS if name in known)
