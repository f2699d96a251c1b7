"""PyTorch's scaled_dot_product_attention on the CPU, forward and backward.

  python3 torch_attention.py REPETITIONS SECONDS LENGTH...     Prints lines of JSON like bench/attention/attention.cc.
"""

import json
import statistics
import sys
import time

import torch
from torch.nn import functional

HEAD = 64
TOKENS = 16384  # Queries of all matrices.


def mask_of(name, length):
    """What is_causal does not say; None where it says all."""
    part = max(1, length // 8)
    place = torch.arange(length)
    before = place[:, None] - place
    if name == "window":
        return (before >= 0) & (before < part)
    if name == "documents":
        return (before >= 0) & (place[:, None] // part == place // part)
    return None


def step(query, key, value, gradient, is_causal, mask, rate):
    out = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=rate, is_causal=is_causal)
    return torch.autograd.grad(out, (query, key, value), gradient)


def seconds_of(times, work):
    start = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - start) / times


def main():
    repetitions, seconds = int(sys.argv[1]), float(sys.argv[2])
    torch.manual_seed(1)
    for length in map(int, sys.argv[3:]):
        for name_of_mask in ("none", "causal", "window", "documents", "dropout"):
            mask = mask_of(name_of_mask, length)
            for name, dtype in (("f32", torch.float32), ("bf16", torch.bfloat16)):
                shape = (max(4, TOKENS // length), 1, length, HEAD)
                query, key, value = (torch.rand(shape).to(dtype).requires_grad_() for _ in range(3))
                gradient = torch.rand(shape).to(dtype)
                work = lambda: step(query, key, value, gradient, name_of_mask in ("causal", "dropout"), mask,
                                    0.1 if name_of_mask == "dropout" else 0.0)
                work()
                times = max(1, int(seconds / seconds_of(1, work)))
                measured = [seconds_of(times, work) for _ in range(repetitions)]
                print(json.dumps({"type": name, "length": length, "mask": name_of_mask,
                                  "torch": statistics.median(measured)}), flush=True)


main()
