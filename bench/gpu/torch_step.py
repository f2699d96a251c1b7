"""Step time of PyTorch for the models that run.sh measures.

    python3 torch_step.py mlp|gpt2 BATCH f32|tf32|bf16 eager|compile|graphs

Forward, loss, backward and the optimizer's update, batches copied from pinned memory, the loss not read: the median over blocks of
steps. `compile` is torch.compile as it is, `graphs` its mode "reduce-overhead", which records CUDA graphs. Prints milliseconds.
"""
import contextlib
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, seq, width = x.shape
        query, key, value = (
            part.view(batch, seq, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(x).chunk(3, dim=-1)
        )
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, seq, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(functional.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    """gpt2.model: the table of the tokens is also the last layer."""

    def __init__(self, vocab=50304, seq=1024, width=768, heads=12, depth=12):
        super().__init__()
        self.table = nn.Embedding(vocab, width)
        self.position = nn.Parameter(torch.randn(seq, width) * 0.02)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        nn.init.normal_(self.table.weight, std=0.02)

    def forward(self, tokens):
        x = self.blocks(self.table(tokens) + self.position)
        return functional.linear(self.norm(x), self.table.weight).flatten(0, 1)


def mlp():
    return nn.Sequential(
        nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
    )


def batches(model, batch):
    """Four batches in pinned memory."""
    if model == "mlp":
        made = [(torch.rand(batch, 1, 28, 28), torch.randint(10, (batch,))) for _ in range(4)]
    else:
        made = [(torch.randint(256, (batch, 1024)), torch.randint(256, (batch * 1024,))) for _ in range(4)]
    return [(x.pin_memory(), y.pin_memory()) for x, y in made]


def main():
    name, batch, precision, mode = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
    torch.manual_seed(1)
    torch.set_float32_matmul_precision("highest" if precision == "f32" else "high")
    torch.backends.cudnn.allow_tf32 = precision != "f32"
    model = (mlp() if name == "mlp" else Gpt2()).cuda()
    if name == "mlp":
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, fused=True)
    else:
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.1, fused=True)
    autocast = torch.autocast("cuda", torch.bfloat16) if precision == "bf16" else contextlib.nullcontext()

    def loss_of(x, y):
        with autocast:
            return functional.cross_entropy(model(x), y)

    if mode != "eager":
        loss_of = torch.compile(loss_of, mode="default" if mode == "compile" else "reduce-overhead")
    data = batches(name, batch)

    def step(i):
        x, y = (part.cuda(non_blocking=True) for part in data[i % len(data)])
        loss = loss_of(x, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    for i in range(12):
        step(i)
    steps, times = (100 if name == "mlp" else 10), []
    for _ in range(5):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for i in range(steps):
            step(i)
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) / steps * 1e3)
    print(f"{statistics.median(times):.4f}")


if __name__ == "__main__":
    main()
