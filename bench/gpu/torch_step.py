"""Step times of PyTorch for the models that run.py measures, asked for one by one, so that others can be measured in between.

    python3 torch_step.py cuda|cpu CASE...         # A case is mlp:BATCH:PRECISION:WAY, or
                                                   # gpt2:BATCH:PRECISION:WAY:SEQ:VOCAB:WIDTH:HEADS:DEPTH

Prepares the cases in their order and prints "ready CASE" for each, or "failed CASE: WHY", and "prepared" behind the last. The line "enough" ends this
with the case at hand. Then each line "CASE" is answered by a line of JSON: milliseconds of a step, the median over blocks of steps, and
the most memory that tensors took.

A step is forward, loss, backward and the optimizer's update, with batches copied from pinned memory and the loss not read. The way `eager` is PyTorch as it
is, `compile` is torch.compile, `graphs` its mode "reduce-overhead", which records CUDA graphs.
"""
import contextlib
import json
import select
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

    def __init__(self, seq, vocab, width, heads, depth):
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


class Case:
    """A model with its optimizer and batches, whose steps can be timed."""

    def __init__(self, text, device):
        model, batch, self._precision, way, *sizes = text.split(":")
        batch, self._device = int(batch), device
        sizes = [int(size) for size in sizes]
        self._set_precision()
        torch.manual_seed(1)
        self._is_small = model == "mlp"
        if self._is_small:
            self._model = mlp().to(device)
            self._optimizer = torch.optim.SGD(self._model.parameters(), lr=0.05, momentum=0.9, fused=True)
            made = [(torch.rand(batch, 1, 28, 28), torch.randint(10, (batch,))) for _ in range(4)]
        else:
            self._model = Gpt2(*sizes).to(device)
            self._optimizer = torch.optim.AdamW(self._model.parameters(), lr=3e-4, weight_decay=0.1, fused=True)
            seq, known = sizes[0], min(256, sizes[1])
            made = [(torch.randint(known, (batch, seq)), torch.randint(known, (batch * seq,))) for _ in range(4)]
        self._batches = [tuple(part.pin_memory() if device == "cuda" else part for part in pair) for pair in made]
        self._loss = self._loss_of
        if way != "eager":
            self._loss = torch.compile(
                self._loss_of, mode="default" if way == "compile" else "reduce-overhead", dynamic=False
            )
        for i in range(8):
            self._step(i)
        self._wait()

    def _loss_of(self, x, y):
        bf16 = self._precision == "bf16"
        with torch.autocast(self._device, torch.bfloat16) if bf16 else contextlib.nullcontext():
            return functional.cross_entropy(self._model(x), y)

    def _step(self, i):
        x, y = (part.to(self._device, non_blocking=True) for part in self._batches[i % len(self._batches)])
        self._loss(x, y).backward()
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)

    def _wait(self):
        if self._device == "cuda":
            torch.cuda.synchronize()

    def _set_precision(self):
        torch.set_float32_matmul_precision("highest" if self._precision == "f32" else "high")
        torch.backends.cudnn.allow_tf32 = self._precision != "f32"

    def measure(self):
        self._set_precision()
        memory = None
        if self._device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        for i in range(4):
            self._step(i)
        steps, times = (100 if self._is_small else 10), []
        for _ in range(3):
            self._wait()
            start = time.perf_counter()
            for i in range(steps):
                self._step(i)
            self._wait()
            times.append((time.perf_counter() - start) / steps * 1e3)
        if self._device == "cuda":
            memory = torch.cuda.max_memory_allocated()
            torch.cuda.empty_cache()  # Others are measured next, and need memory too.
        return {"milliseconds": statistics.median(times), "peak_bytes": memory}


def main():
    device, *texts = sys.argv[1:]
    torch._dynamo.config.recompile_limit = 64  # Each case compiles the same function.
    cases = {}
    for text in texts:
        if select.select([sys.stdin], [], [], 0)[0]:
            sys.stdin.readline()
            break
        try:
            cases[text] = Case(text, device)
            print(f"ready {text}", flush=True)
        except Exception as error:  # noqa: BLE001: what fails must not take the others along.
            print(f"failed {text}: {' '.join(str(error).split())[:300]}", flush=True)
        if device == "cuda":
            torch.cuda.empty_cache()
    print("prepared", flush=True)
    for line in sys.stdin:
        if line.strip() == "enough":  # It came when all was prepared.
            continue
        try:
            print(json.dumps(cases[line.strip()].measure()), flush=True)
        except Exception as error:  # noqa: BLE001
            print(json.dumps({"error": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}), flush=True)


if __name__ == "__main__":
    main()
