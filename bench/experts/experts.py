"""The data of experts.sh, and its table from the times of the programs and those that PyTorch takes.

    experts.py prepare FOLDER                   writes x.npy and y.npy
    experts.py compare FOLDER EXPERTS...
"""
import json
import statistics
import sys
import time

import numpy as np

BATCH, SEQ, WIDTH, CHOSEN, HIDDEN = 8, 256, 256, 2, 512


def prepare(folder):
    random = np.random.default_rng(1)
    for name in ("x", "y"):
        np.save(f"{folder}/{name}.npy", random.standard_normal((8 * BATCH, SEQ, WIDTH), dtype=np.float32))


def seconds_of(folder):
    """The median and the least time of a step; the first steps of a run prepare what the others use."""
    times = [json.loads(line) for line in open(folder + "/times.jsonl")]
    seconds = [line["seconds"] for line in times if line.get("step", 0) > 3]
    return statistics.median(seconds), min(seconds)


def pytorch(experts, steps=12):
    """A mixture as transformers has it: for each expert the tokens that chose it are taken, multiplied and added to the result."""
    try:
        import torch
        from torch.nn import functional
    except ImportError:
        return None
    torch.manual_seed(1)

    def matrices(count, rows, columns):
        return [torch.empty(rows, columns).normal_(std=0.02).requires_grad_() for _ in range(count)]

    (router,) = matrices(1, experts, WIDTH)
    gate, up, down = (matrices(experts, *shape) for shape in ((HIDDEN, WIDTH), (HIDDEN, WIDTH), (WIDTH, HIDDEN)))
    x, y = torch.randn(BATCH * SEQ, WIDTH), torch.randn(BATCH * SEQ, WIDTH)
    optimizer = torch.optim.SGD([router, *gate, *up, *down], lr=0.01)
    seconds = []
    for _ in range(steps):
        start = time.time()
        logits = x @ router.T
        probability = torch.softmax(logits, 1)
        weight, chosen = probability.topk(CHOSEN, dim=1)
        weight = weight / weight.sum(1, keepdim=True)
        out = torch.zeros_like(x)
        for e in range(experts):
            token, choice = torch.where(chosen == e)
            if len(token) == 0:
                continue
            rows = x[token]
            made = (functional.silu(rows @ gate[e].T) * (rows @ up[e].T)) @ down[e].T
            out = out.index_add(0, token, made * weight[token, choice, None])
        share = functional.one_hot(chosen, experts).float().mean((0, 1))
        balance = experts * (share * probability.mean(0)).sum()
        loss = functional.mse_loss(out, y) + 0.01 * balance + 0.001 * torch.logsumexp(logits, 1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
        seconds.append(time.time() - start)
    return statistics.median(seconds[2:])


def compare(folder, counts):
    plain, least = seconds_of(folder + "/plain")
    print(f"one gated layer: {1e3 * plain:.1f} ms a step, at least {1e3 * least:.1f}; others as multiples of the median")
    print("| experts | with room | all tokens | PyTorch |")
    print("|---|---|---|---|")
    for count in counts:
        room, all_tokens = (seconds_of(f"{folder}/{name}_{count}")[0] / plain for name in ("room", "all"))
        other = pytorch(int(count))
        print(f"| {count} | {room:.2f} | {all_tokens:.2f} | {'' if other is None else f'{other / plain:.2f}'} |")


if sys.argv[1] == "prepare":
    prepare(sys.argv[2])
else:
    compare(sys.argv[2], sys.argv[3:])
