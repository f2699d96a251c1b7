"""Compares `cross_entropy` and all its options with torch.nn.functional.cross_entropy: to run by hand.

    python cross_entropy.py COMPILE [--seed N] [--ranks 1,2,3,4]

One random model has a loss, with a weight of its own, for each combination of options. Its programs train for some steps of gradient descent
on some ranks, and one evaluates metrics, with a last batch that is filled up. Prints the largest difference of a loss, as a share of it.
Ran with torch 2.15.0.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
import torch.nn.functional as F

STEPS, RATE = 4, 0.3


def combinations():
    """(soft, ignored, kept, weighted, smoothing, z_loss, reduction)"""
    for soft, ignored, kept, weighted, smooth, z, reduction in itertools.product(
        (False, True), (False, True), (False, True), (False, True), (0.0, 0.2), (0.0, 0.01), ("mean", "sum", "none")):
        if soft and ignored:
            continue
        yield soft, ignored, kept, weighted, smooth, z, reduction


def call(options, logits):
    soft, ignored, kept, weighted, smooth, z, reduction = options
    words = [logits, "probabilities = probability" if soft else "label" if ignored else "class"]
    if ignored:
        words.append("ignore = -100")
    if kept:
        words.append("keep = kept")
    if weighted:
        words.append("weight = importance")
    if smooth:
        words.append(f"label_smoothing = {smooth}")
    if z:
        words.append(f"z_loss = {z}")
    if reduction != "mean":
        words.append(f'reduction = "{reduction}"')
    text = f"cross_entropy({', '.join(words)})"
    return f"reduce_mean(square({text}))" if reduction == "none" else text


def value(options, logits, of):
    soft, ignored, kept, weighted, smooth, z, reduction = options
    classes = logits.shape[-1]
    rows = logits.reshape(-1, classes)
    keep = of["kept"].reshape(-1) != 0 if kept else torch.ones(rows.shape[0], dtype=torch.bool)
    weight = of["importance"] if weighted else None
    if soft:
        target = of["probability"].reshape(-1, classes)
        each = F.cross_entropy(rows, target, weight=weight, label_smoothing=smooth, reduction="none")
        share = torch.ones_like(each)
    else:
        target = (of["label"] if ignored else of["class"]).reshape(-1).long()
        each = F.cross_entropy(rows, target, weight=weight, label_smoothing=smooth, reduction="none", ignore_index=-100)
        keep = keep & (target != -100)
        share = torch.where(target >= 0, weight[target.clamp(min=0)] if weighted else 1.0, 0.0).to(each.dtype)
        if not kept:  # What PyTorch makes of it by itself.
            whole = F.cross_entropy(rows, target, weight=weight, label_smoothing=smooth, ignore_index=-100)
            assert torch.allclose(whole, each.sum() / share.sum())
    each = each + z * share * torch.logsumexp(rows, -1) ** 2
    each, share = each * keep, share * keep
    if reduction == "none":
        return (each**2).mean()
    return each.sum() if reduction == "sum" else each.sum() / share.sum()


def run(*words, cwd):
    result = subprocess.run(words, cwd=cwd, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(words)}\n{result.stdout}{result.stderr}")
    return result.stdout + result.stderr


def lines_of(folder):
    return [json.loads(line) for line in open(folder + "/metrics.jsonl")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("compile", type=os.path.abspath)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--ranks", default="1,2,3,4")
    parser.add_argument("--count", type=int, default=48, help="how many combinations, drawn by the seed")
    parser.add_argument("--settings", default="", help="of `parallel`")
    words = parser.parse_args()
    random = np.random.default_rng(words.seed)
    batch, seq, classes, width = (int(random.integers(*pair)) for pair in ((4, 10), (2, 6), (5, 12), (3, 9)))
    all_of_them = list(combinations())
    chosen = [all_of_them[i] for i in random.choice(len(all_of_them), min(words.count, len(all_of_them)), replace=False)]
    samples = 2 * batch - 1  # Of the evaluation: the last batch is filled up.
    arrays = dict(
        x=random.normal(size=(samples, seq, width)),
        label=np.where(random.random((samples, seq)) < 0.3, -100, random.integers(0, classes, (samples, seq))).astype(np.int32),
        kept=(random.random((samples, seq)) < 0.7) * random.random((samples, seq)),
        probability=random.dirichlet(np.ones(classes), (samples, seq)),
    )
    arrays["class"] = random.integers(0, classes, (samples, seq)).astype(np.int32)
    arrays["label"][0, 0], arrays["kept"][0, 0] = 1, 1.0
    parameters = {f"w{k}": random.normal(size=(classes, width)) for k in range(len(chosen))} | dict(importance=random.random(classes) + 0.1)
    types = {name: f"{'i32' if array.dtype == np.int32 else 'f32'}[batch, {', '.join(map(str, array.shape[1:]))}]" for name, array in arrays.items()}
    text = f"model Losses(batch: int = {batch}) {{\n"
    text += "".join(f"    input {name}: {kind};\n" for name, kind in types.items())
    text += f'    state importance: f32[{classes}] = npy("importance.npy");\n'
    for k, options in enumerate(chosen):
        text += f'    param w{k}: f32[{classes}, {width}] = npy("w{k}.npy");\n'
        text += f'    #[term(name = "l{k}")]\n    loss {call(options, f"matmul(x, w{k}, transpose_b = true)")};\n'
    for k, options in enumerate(chosen):
        if options[-1] != "none":
            text += f"    metric {call(options, f'matmul(x, w{k}, transpose_b = true)')};\n"
    first = ", ".join(f'{name} = "{name}.npy"' for name in arrays)
    text += f"}}\n\ntrain Losses {{\n    data = npy({first});\n    optimizer = sgd(lr = {RATE});\n    epochs = {STEPS};\n    log_every = 1;\n"
    text += "    shuffle = false;\n}\n"
    of = {name: torch.tensor(array.astype(np.float32).astype(np.float64)) for name, array in (arrays | parameters).items()}
    right = []
    for k, options in enumerate(chosen):
        weight = of[f"w{k}"].clone().requires_grad_()
        losses = []
        for _ in range(STEPS):
            now = {name: of[name][:batch] if name in arrays else of[name] for name in of}
            loss = value(options, now["x"] @ weight.T, now)
            losses.append(loss.item())
            (gradient,) = torch.autograd.grad(loss, weight)
            weight = (weight - RATE * gradient).detach().requires_grad_()
        right.append(losses)
    print(f"batch {batch}, seq {seq}, classes {classes}, width {width}; {len(chosen)} of {len(all_of_them)} combinations")
    with tempfile.TemporaryDirectory() as work:
        for name, array in (arrays | parameters).items():
            train = array[:batch] if name in arrays else array
            np.save(f"{work}/{name}.npy", train if train.dtype == np.int32 else train.astype(np.float32))
        open(work + "/losses.model", "w").write(text)
        for ranks in filter(None, words.ranks.split(",")):
            settings = [f"--set={each}" for each in words.settings.split()]
            run(words.compile, "losses.model", "--devices", ranks, *settings, "--out", f"r{ranks}", cwd=work)
            run("./run.sh", "--launch", "local", cwd=f"{work}/r{ranks}")
            got = [line for line in lines_of(f"{work}/r{ranks}") if "loss.l0" in line]
            worst = max((abs(got[s][f"loss.l{k}"] - right[k][s]) / (abs(right[k][s]) + 1e-6), k, s) for k in range(len(chosen)) for s in range(STEPS))
            print(f"{ranks} ranks: {worst[0]:.1e} at step {worst[2]} of {call(chosen[worst[1]], 'x')}", flush=True)
        for name, array in arrays.items():
            np.save(f"{work}/{name}.npy", array if array.dtype == np.int32 else array.astype(np.float32))
        run(words.compile, "losses.model", "--devices", "2", "--mode", "evaluate", "--out", "evaluate", cwd=work)
        run("./run.sh", "--launch", "local", cwd=work + "/evaluate")
        record = json.load(open(work + "/evaluate/run.json"))["test"]
        values = [number for name, number in record.items() if name.startswith("cross_entropy")]
        wanted = [value(options, of["x"] @ of[f"w{k}"].T, of).item() for k, options in enumerate(chosen) if options[-1] != "none"]
        if len(values) != len(wanted):
            sys.exit(f"{len(values)} metrics of {len(wanted)}: {record}")
        print(f"evaluation: {max(abs(a - b) / (abs(b) + 1e-6) for a, b in zip(values, wanted)):.1e}")


if __name__ == "__main__":
    main()
