"""Steps of PyTorch on the CPU, for pytorch.py, which measures them beside those of programs.

torch_step.py resnet|gpt|llama f32|bf16 eager|compiled THREADS

For each line with a number on its standard input it trains so many steps and prints the milliseconds of each, as a list. The models are those of
examples/resnet, examples/tiny_gpt and examples/llama with the sizes of SIZES, and the batches stay the same.
"""
import contextlib
import json
import sys
import time

import torch
from torch import nn
from torch.nn import functional

# What the settings of the programs say, too.
SIZES = json.loads(open(sys.path[0] + "/sizes.json").read())


class ConvNorm(nn.Sequential):
    def __init__(self, read, channels, kernel=3, stride=1):
        super().__init__(nn.Conv2d(read, channels, kernel, stride, (kernel - 1) // 2, bias=False), nn.BatchNorm2d(channels))


class Residual(nn.Module):
    def __init__(self, read, channels, stride):
        super().__init__()
        self.first, self.second = ConvNorm(read, channels, stride=stride), ConvNorm(channels, channels)
        self.shortcut = nn.Identity() if stride == 1 and read == channels else ConvNorm(read, channels, 1, stride)

    def forward(self, x):
        return functional.relu(self.second(functional.relu(self.first(x))) + self.shortcut(x))


class Resnet(nn.Sequential):
    def __init__(self, batch, width, stages, blocks):
        super().__init__(ConvNorm(1, width), nn.ReLU())
        for stage in range(stages):
            for i in range(blocks):
                first = stage > 0 and i == 0
                self.append(Residual(width << stage >> first, width << stage, 2 if first else 1))
        self.extend([nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width << (stages - 1), 10)])
        self.batch = (torch.rand(batch, 1, 28, 28), torch.randint(10, (batch,)))


class Gpt(nn.Module):
    class Block(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            batch, seq, width = x.shape
            query, key, value = (part.view(batch, seq, self.heads, -1).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, dim=-1))
            mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).reshape(batch, seq, width))
            return x + self.down(functional.gelu(self.up(self.norm2(x)), approximate="tanh"))

    def __init__(self, batch, seq, vocab, width, heads, depth):
        super().__init__()
        self.embedding, self.position = nn.Embedding(vocab, width), nn.Parameter(0.02 * torch.randn(seq, width))
        self.blocks = nn.Sequential(*(self.Block(width, heads) for _ in range(depth)))
        self.norm, self.logits = nn.LayerNorm(width), nn.Linear(width, vocab)
        self.batch = (torch.randint(vocab, (batch, seq)), torch.randint(vocab, (batch * seq,)))

    def forward(self, tokens):
        return self.logits(self.norm(self.blocks(self.embedding(tokens) + self.position))).flatten(0, 1)


class Llama(nn.Module):
    class Block(nn.Module):
        def __init__(self, width, heads, groups, hidden):
            super().__init__()
            self.heads, self.groups, head = heads, groups, width // heads
            self.norm1, self.norm2 = nn.RMSNorm(width, eps=1e-5), nn.RMSNorm(width, eps=1e-5)
            self.q, self.k, self.v, self.out = (nn.Linear(width, units * head, bias=False) for units in (heads, groups, groups, heads))
            self.gate, self.up, self.down = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False), nn.Linear(hidden, width, bias=False)

        def forward(self, inputs):
            x, (cosines, sines) = inputs
            batch, seq, width = x.shape
            norm = self.norm1(x)

            def turned(y):
                first, second = y.chunk(2, dim=-1)
                return torch.cat((first * cosines - second * sines, second * cosines + first * sines), -1).to(y.dtype)

            query, key, value = (part(norm).view(batch, seq, heads, -1).transpose(1, 2)
                                 for part, heads in ((self.q, self.heads), (self.k, self.groups), (self.v, self.groups)))
            mixed = functional.scaled_dot_product_attention(turned(query), turned(key), value, is_causal=True, enable_gqa=True)
            x = x + self.out(mixed.transpose(1, 2).reshape(batch, seq, width))
            norm = self.norm2(x)
            return x + self.down(functional.silu(self.gate(norm)) * self.up(norm)), (cosines, sines)

    def __init__(self, batch, seq, vocab, width, heads, groups, hidden, depth):
        super().__init__()
        self.embedding = nn.Embedding(vocab, width)
        self.blocks = nn.Sequential(*(self.Block(width, heads, groups, hidden) for _ in range(depth)))
        self.norm, self.logits = nn.RMSNorm(width, eps=1e-5), nn.Linear(width, vocab, bias=False)
        half = width // heads // 2
        angles = torch.outer(torch.arange(seq), 10000.0 ** (-torch.arange(half) / half))
        self.register_buffer("turns", torch.stack((angles.cos(), angles.sin())))
        self.batch = (torch.randint(vocab, (batch, seq)), torch.randint(vocab, (batch * seq,)))

    def forward(self, tokens):
        x, _ = self.blocks((self.embedding(tokens), (self.turns[0], self.turns[1])))
        return self.logits(self.norm(x)).flatten(0, 1)


def main():
    name, precision, mode, threads = sys.argv[1:5]
    torch.set_num_threads(int(threads))
    torch.manual_seed(1)
    model = {"resnet": Resnet, "gpt": Gpt, "llama": Llama}[name](**SIZES[name])
    if name == "resnet":
        model = model.to(memory_format=torch.channels_last)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4, foreach=True)
    else:
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01, fused=True)
    x, y = model.batch
    cast = torch.autocast("cpu", torch.bfloat16) if precision == "bf16" else contextlib.nullcontext()

    def loss_of():
        with cast:
            return functional.cross_entropy(model(x).float(), y)

    if mode == "compiled":
        loss_of = torch.compile(loss_of)

    def step():
        start = time.perf_counter()
        loss = loss_of()
        loss.backward()
        if name == "llama":
            nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()
        return 1e3 * (time.perf_counter() - start)

    for line in sys.stdin:
        print(json.dumps([step() for _ in range(int(line))]), flush=True)


main()
