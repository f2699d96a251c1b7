"""Writes adapters of PEFT for small random models of transformers, and what PyTorch makes of them in five steps.

    python peft.py

writes folders/CASE/start and folders/CASE/trained, the adapter before and after, and a line of losses for each case into peft.txt, and one more for
frozen matrices in 8 bits.
The models are those of tests/import. Written with torch 2.15.0, transformers 5.24.0 and peft 0.21.2.
"""

import os
import shutil
import sys

sys.path = [path for path in sys.path if os.path.abspath(path or ".") != os.path.dirname(os.path.abspath(__file__))]

import numpy as np
import peft
import torch
import transformers as t

STEPS = 5
IMPORT = "../import/"
CASES = {
    "llama_lora": dict(r=2, lora_alpha=3, target_modules=["q_proj", "v_proj"]),
    "llama_dora": dict(r=4, lora_alpha=5, use_rslora=True, use_dora=True,
                       target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]),
    "gpt2_lora": dict(r=3, lora_alpha=6, target_modules=["c_attn", "c_fc"], fan_in_fan_out=True),
    "gpt2_dora": dict(r=2, lora_alpha=4, use_dora=True, target_modules=["c_attn", "c_proj"], fan_in_fan_out=True),
}


def quantize(model):
    """Each matrix of a product as whole numbers from -127 to 127 times a scale for each output; not the tied last layer."""
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, t.pytorch_utils.Conv1D):
                scale = module.weight.abs().amax(0, keepdim=True) / 127
                module.weight.copy_(torch.round(module.weight / scale) * scale)


def train(case, in_8_bits=False):
    torch.manual_seed(5)
    family = case.split("_")[0]
    kind = t.LlamaForCausalLM if family == "llama" else t.GPT2LMHeadModel
    base = kind.from_pretrained(IMPORT + "folders/" + family, dtype=torch.float32, attn_implementation="eager")
    if in_8_bits:
        quantize(base)
    model = peft.get_peft_model(base, peft.LoraConfig(bias="none", **CASES[case]))
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if "lora_B" in key:
                parameter.normal_(0, 0.1)
            if "magnitude" in key:
                parameter.mul_(torch.rand_like(parameter) * 0.4 + 0.8)
    if not in_8_bits:
        shutil.rmtree("folders/" + case, ignore_errors=True)
        save(model, f"folders/{case}/start")
    x = torch.tensor(np.load(IMPORT + "tokens.npy")).long()
    y = torch.tensor(np.load(IMPORT + "next.npy")).long()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.02, weight_decay=0.0)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        logits = model.train()(x).logits
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))
        losses.append(loss.item())
        loss.backward()
        optimizer.step()
    if not in_8_bits:
        save(model, f"folders/{case}/trained")
    return " ".join(map(repr, losses))


def save(model, folder):
    model.save_pretrained(folder)
    os.remove(folder + "/README.md")


with open("peft.txt", "w") as file:
    file.writelines(f"{case} {train(case)}\n" for case in CASES)
    file.write(f"gpt2_lora_i8 {train('gpt2_lora', in_8_bits=True)}\n")
