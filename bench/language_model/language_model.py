"""Trains examples/tiny_gpt with PyTorch, from the start values and on the samples that the programs of this project get.

    language_model.py prepare FOLDER TEXT STEPS     writes tokens.npy, next.npy and begin.safetensors; prints the share of validation
    language_model.py compare FOLDER STEPS          trains, and prints the losses of all
"""
import json
import statistics
import sys
import time

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional

VOCAB, SEQ, BATCH, WIDTH, HEADS, DEPTH = 256, 64, 32, 128, 4, 4
SHOWN = (1, 100, 200, 500, 1000, 1500, 2000, 3000, 5000)
TESTED = 64 * BATCH  # Samples of the last tenth of the text, behind the others.


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)  # Its rows are ordered (heads, 3, head size).
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        batch, seq, width = x.shape
        parts = self.qkv(x).view(batch, seq, HEADS, 3, width // HEADS).permute(3, 0, 2, 1, 4)
        mixed = functional.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, seq, width))


class Feed(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return self.down(functional.gelu(self.up(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.attn, self.norm2, self.ffn = nn.LayerNorm(WIDTH), Attention(), nn.LayerNorm(WIDTH), Feed()

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.ffn(self.norm2(x))


class TinyGpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.position = nn.Embedding(VOCAB, WIDTH), nn.Embedding(SEQ, WIDTH)
        self.x = nn.ModuleList(Block() for _ in range(DEPTH))
        self.normal, self.logits = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCAB)
        nn.init.normal_(self.embedding.weight, std=0.02)
        nn.init.normal_(self.position.weight, std=0.02)

    def forward(self, tokens):
        x = self.embedding(tokens) + self.position.weight
        for block in self.x:
            x = block(x)
        return self.logits(self.normal(x))

    def parameters_here(self):
        """By the names that they have in the programs of this project."""
        names = {"embedding.weight": "x.embedding_0.weight", "position.weight": "x.position_0.weight"}
        return {names.get(name, name): value for name, value in self.named_parameters()}


def prepare(folder, path, steps):
    text = np.fromfile(path, dtype=np.uint8)
    random = np.random.default_rng(1)
    border = len(text) * 9 // 10
    trained = steps * BATCH
    starts = np.concatenate([random.integers(0, border - SEQ - 1, trained), random.integers(border, len(text) - SEQ - 1, TESTED)])
    windows = text[starts[:, None] + np.arange(SEQ + 1)].astype(np.int32)
    np.save(folder + "/tokens.npy", np.ascontiguousarray(windows[:, :-1]))
    np.save(folder + "/next.npy", np.ascontiguousarray(windows[:, 1:]))
    torch.manual_seed(1)
    save_file({name: value.detach().clone() for name, value in TinyGpt().parameters_here().items()}, folder + "/begin.safetensors")
    print((TESTED - 0.5) / len(starts))


def run_of(out):
    """The losses by step, the mean over the samples for validation, and the seconds of a step."""
    lines = [line for line in map(json.loads, open(out + "/metrics.jsonl")) if "loss" in line]
    tested = json.load(open(out + "/run.json"))["validation"]["loss"]
    return {line["step"]: line["loss"] for line in lines}, tested, statistics.median(line["seconds"] for line in lines)


def train(folder, steps):
    tokens, following = (torch.tensor(np.load(f"{folder}/{name}.npy")).long() for name in ("tokens", "next"))
    net = TinyGpt()
    begin = load_file(folder + "/begin.safetensors")
    with torch.no_grad():
        for name, value in net.parameters_here().items():
            value.copy_(begin[name])
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=0.01)
    losses, seconds = {}, []

    def loss_of(first, last):
        return functional.cross_entropy(net(tokens[first:last]).flatten(0, 1), following[first:last].flatten())

    for step in range(1, steps + 1):
        start = time.time()
        loss = loss_of((step - 1) * BATCH, step * BATCH)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses[step] = loss.item()
        seconds.append(time.time() - start)
    with torch.no_grad():
        tested = [loss_of(first, first + BATCH).item() for first in range(steps * BATCH, len(tokens) - BATCH + 1, BATCH)]
    return losses, sum(tested) / len(tested), statistics.median(seconds)


def compare(folder, steps):
    runs = [run_of(f"{folder}/ranks_{ranks}") for ranks in (1, 2)] + [train(folder, steps)]
    print("| | 1 rank | 2 ranks | PyTorch |")
    print("|---|---|---|---|")
    for step in [step for step in SHOWN if step <= steps]:
        print(f"| loss of step {step} | " + " | ".join("%.4f" % run[0][step] for run in runs) + " |")
    print("| loss of samples for validation | " + " | ".join("%.4f" % run[1] for run in runs) + " |")
    print("| step, ms | " + " | ".join("%.1f" % (1e3 * run[2]) for run in runs) + " |")


if sys.argv[1] == "prepare":
    prepare(sys.argv[2], sys.argv[3], int(sys.argv[4]))
else:
    compare(sys.argv[2], int(sys.argv[3]))
