"""Are hand-made mixtures of parallelism faster than what the search picks by itself, and how far are both from published runs?

    python3 shapes.py CLEAVE shapes [WORDS OF A SHAPE]   ten shapes on 8 and 64 H100, beside mixtures of dp, tp, cp, ep and stages
    python3 shapes.py CLEAVE experts                     Mixtral 8x7B on 64 H100 and DeepSeek-V3 on 2,048, beside published runs

CLEAVE is the compiler. All numbers are predictions of `cleave plan`; nothing needs a GPU.
"""
import concurrent.futures
import itertools
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "..", "..", "examples")
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
LIMIT = 600  # Seconds for one plan.

# For each model its text, where its batch lies, and what tensor, context and expert parallelism cut, by layer. Rows are ("dp", "ep").
DECODER = {
    "file": os.path.join(HERE, "decoder.model"),
    "inputs": ("tokens", "next"),
    "input": 'layout({rows}, {cp})',
    "dense": ("query.{i}.matmul", "ffn.{i}.dense.gate.matmul", "ffn.{i}.dense.up.matmul"),
    "cut": 'layout({rows}, {cp}, {tp})',
    "experts": ("ffn.{i}.mixed__balance__z.ffn.gated.einsum", ),
    "cut_experts": 'layout({dp}, {ep}, _, {tp})',
}
VIT = {
    "file": os.path.join(EXAMPLES, "vit", "vit.model"),
    "inputs": (),
    "dense": ("x.{i}.attn.qkv.matmul", "x.{i}.ffn.up.matmul"),
    "cut": 'layout({rows}, _, {tp})',
}
DLRM = {
    "file": os.path.join(EXAMPLES, "dlrm", "dlrm.model"),
    "inputs": ("number", "clicked"),
    "input": 'layout({rows}, _)',
    "dense": ("table.weight", ),
    "cut": 'layout({tp}, _)',
}


DEEPSEEK = {
    "file": os.path.join(HERE, "deepseek_v3.model"),
    "inputs": ("tokens", "next"),
    "input": 'layout({rows}, _)',
    "experts": ("moe.{i}.ffn.gated.einsum", ),
    "cut_experts": 'layout({dp}, {ep}, _, _)',
}


def decoder(**sets):
    return {"key_heads": sets["heads"], "experts": 1, **sets}


LLAMA70 = decoder(width=8192, heads=64, hidden=28672, depth=80, seq=4096, vocab=32000)
SHAPES = [
    ("small dense", DECODER, decoder(width=768, heads=12, hidden=2048, depth=8, seq=1024, vocab=50304, batch=256)),
    ("large dense", DECODER, {8: decoder(width=4096, heads=32, hidden=11008, depth=32, seq=4096, vocab=32000, batch=64),
                              64: {**LLAMA70, "key_heads": 8, "batch": 256}}),
    ("sequences of 32k and 131k", DECODER, {
        8: decoder(width=2048, heads=16, hidden=5632, depth=8, seq=32768, vocab=32000, batch=4),
        64: decoder(width=4096, heads=32, hidden=11008, depth=8, seq=131072, vocab=32000, batch=16)}),
    ("large vocabulary", DECODER, decoder(width=1024, heads=16, hidden=2816, depth=8, seq=2048, vocab=524288, batch=128)),
    ("few heads", DECODER, decoder(width=512, heads=4, hidden=16384, depth=8, seq=2048, vocab=32000, batch=256)),
    ("many experts", DECODER, decoder(width=2048, heads=16, experts=64, chosen=8, hidden=1024, depth=8, seq=4096, vocab=50304,
                                      room=100, batch=128)),
    ("few experts", DECODER, {8: decoder(width=2048, heads=16, experts=8, hidden=5632, depth=8, seq=4096, vocab=32000, room=100,
                                         batch=64),
                              64: dict(room=100)}),
    ("a ViT of 224 x 224", VIT, dict(size=224, patch=16, width=1280, heads=16, depth=8, classes=1000, batch=1024)),
    ("tables of DLRM", DLRM, dict(categories=26, rows=1000000, width=128, hidden=1024, batch=65536)),
    ("small batch", DECODER, decoder(width=4096, heads=32, hidden=11008, depth=8, seq=2048, vocab=32000, batch=8)),
]


# Published runs: billions of operations of a token's step (all products, attention as if it were not causal), seconds of a step, and the
# plans to price. Mixtral: 468e12 operations a second and GPU of Megatron Core MoE 0.9, by Megatron-LM's formula. DeepSeek-V3: 180,000 hours
# of a GPU for 1e12 tokens, of its Technical Report; `stage` is one of its 16 stages by itself.
TOKENS = {"Mixtral 8x7B": 256 * 4096, "DeepSeek-V3": 15360 * 4096}
STAGE = {"depth": 4, "dense_layers": 0, "vocab": 1024}
PUBLISHED = [
    ("Mixtral 8x7B", "the search's", DECODER, 64, 82.9, 2.90, {}, {"stages": "auto"}),
    ("Mixtral 8x7B", "the search's, room 100", DECODER, 64, 82.9, 2.90, {}, {"room": 100, "stages": "auto"}),
    ("Mixtral 8x7B", "as published: ep 8, p 4, room 100", DECODER, 64, 82.9, 2.90, {"dp": 2, "ep": 8},
     {"room": 100, "stages": 4, "micro_batches": 16, "pipeline_schedule": "interleaved(8)", "zero": 1}),
    ("DeepSeek-V3", "the search's", DEEPSEEK, 2048, 281.0, 19.9, {}, {}),
    ("DeepSeek-V3", "as published, a stage: ep 64, p 16", DEEPSEEK, 128, 281.0 / 16, 19.9, {"dp": 2, "ep": 64},
     {**STAGE, "micro_batches": 60, "zero": 1}),
    ("DeepSeek-V3", "a stage of 16, the search's", DEEPSEEK, 128, 281.0 / 16, 19.9, {}, {**STAGE, "micro_batches": 60, "zero": 1}),
]
PEAK = 989e12  # Operations a second of an H100 in bf16.


def axis(*names):
    """What cuts a dimension, in a layout."""
    if not names:
        return "_"
    quoted = [f'"{name}"' for name in names]
    return quoted[0] if len(quoted) == 1 else f"({', '.join(quoted)})"


def model_text(model, sizes, depth):
    """The model, cut as `sizes` of axes say; without any the search cuts it."""
    with open(model["file"]) as file:
        text = file.read()
    text = re.sub(r'import "\.\./', f'import "{EXAMPLES}/', text)
    text = re.sub(r"data = \w+\(.*?\);", "data = synthetic(train = 131072);", text)
    settings = "    zero = auto;\n    micro_batches = auto;\n"
    if sizes:
        has = lambda *names: axis(*(name for name in names if sizes.get(name, 1) > 1))
        words = {"rows": has("dp", "ep"), "dp": has("dp"), "tp": has("tp"), "cp": has("cp"), "ep": has("ep")}
        settings += f"    mesh = ({', '.join(f'{name} = {size}' for name, size in sizes.items() if size > 1)});\n"
        if model["inputs"]:
            inputs = ", ".join(f'"{name}": {model["input"].format(**words)}' for name in model["inputs"])
            settings += f"    dataset = {{{inputs}}};\n"
        for names, cut, is_cut in (("dense", "cut", sizes.get("tp", 1) > 1 or sizes.get("cp", 1) > 1),
                                   ("experts", "cut_experts", sizes.get("ep", 1) > 1)):
            found = model.get(names, ()) if is_cut else ()
            pins = dict.fromkeys(name.format(i=i) for i in range(depth) for name in found)
            if sizes.get("experts") and names == "dense":
                pins = [name for name in pins if "ffn" not in name]
            settings += "".join(f'    pin "{name}" = {model[cut].format(**words)};\n' for name in pins)
    return re.sub(r"parallel \{.*?\n\}", lambda _: f"parallel {{\n{settings}}}", text, flags=re.S)


def plan(cleave, text, devices, sets):
    """Seconds of a step, memory in GiB and its first line; or why there is none."""
    hosts = devices // 8
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.model")
        with open(path, "w") as file:
            file.write(text)
        command = [cleave, "plan", path, "--target", "cuda", "--cluster", f"h100x8*{hosts}" if hosts > 1 else "h100x8",
                   "--devices", str(devices)]
        for name, value in sets.items():
            command += ["--set", f"{name}={value}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, errors="replace")
        except subprocess.TimeoutExpired:
            return None, f"no plan within {LIMIT} s"
    step = re.search(r"^  time +([\d.]+) (us|ms|s) per step", done.stdout, re.M)
    memory = re.search(r"^  memory +([\d.]+) (MiB|GiB)", done.stdout, re.M)
    if done.returncode != 0 or not step:
        error = re.search(r"^error.*", done.stdout + done.stderr, re.M)
        return None, error.group(0) if error else f"exit {done.returncode}"
    search = re.search(r"ranks of \S+, (\w+)", done.stdout)
    stages = re.search(r"^  stages +(\d+)", done.stdout, re.M)
    parts = re.search(r"the batch in (\d+) micro-batches", done.stdout)
    words = [search.group(1) if search else ""]
    if stages:
        words.append(f"p {stages.group(1)}")
    if parts:
        words.append(f"K {parts.group(1)}")
    gib = float(memory.group(1)) / (1024 if memory.group(2) == "MiB" else 1)
    return (float(step.group(1)) * UNITS[step.group(2)], gib), ", ".join(words)


def by_hand(devices, sets, model):
    """Sizes of axes, by stages, that people would try."""
    choices = []
    for stages, tp, cp, ep in itertools.product((1, 2, 4), (1, 2, 8), (1, 2, 8), (1, 2, 8)):
        left = devices // stages
        if sum(size > 1 for size in (stages, tp, cp, ep)) > (2 if ep > 2 or cp > 2 else 1) or tp * cp * ep > 8 or left % (tp * cp * ep) != 0:
            continue
        if cp > 1 and (model is not DECODER or sets["seq"] < 32768 or stages > 1):
            continue
        if ep > 1 and sets.get("experts", 8) == 1 or ep > 1 and model is not DECODER:
            continue
        if stages > 1 and (model is DLRM or tp > 2 or stages == 4 and devices == 8 or stages == 2 and devices == 64):
            continue
        dp = left // (tp * cp * ep)
        if dp * ep > sets["batch"]:
            continue
        choices.append((stages, {"dp": dp, "tp": tp, "cp": cp, "ep": ep}))
    return choices


def label(stages, sizes):
    words = [f"{name} {size}" for name, size in sizes.items() if size > 1]
    return ", ".join(words + ([f"p {stages}"] if stages > 1 else []))


def print_shapes(cleave, wanted):
    print("| shape | GPUs | the search's | step, s | tried | best by hand | step, s | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, model, of_devices in SHAPES:
            if wanted and wanted not in name:
                continue
            for devices in (8, 64):
                sets = of_devices.get(devices, of_devices) if devices in of_devices else of_devices
                full = {**({"batch": 256, "seq": 4096, "experts": 8, "depth": 32} if model is DECODER else {}), **sets}
                depth = full.get("depth", 1)
                has_experts = model is DECODER and full["experts"] > 1
                tries = {"found": pool.submit(plan, cleave, model_text(model, {}, depth), devices, sets),
                         "data_parallel": pool.submit(plan, cleave, model_text(model, {}, depth), devices,
                                                      {**sets, "search": "data_parallel"})}
                for stages, sizes in by_hand(devices, full, model):
                    text = model_text(model, {**sizes, **({"experts": True} if has_experts else {})}, depth)
                    tries[label(stages, sizes)] = pool.submit(plan, cleave, text, devices, {**sets, "stages": stages})
                done = {key: future.result() for key, future in tries.items()}
                found, what = done.pop("found")
                for key, (result, why) in done.items():
                    print(f"  {name}, {devices}: {key}: {f'{result[0]:.4g} s, {result[1]:.1f} GiB, {why}' if result else why}",
                          file=sys.stderr, flush=True)
                fits = {key: result for key, (result, _) in done.items() if result}
                best = min(fits, key=lambda key: fits[key][0]) if fits else None
                if best and ", p " in best and found and fits[best][0] < found[0]:
                    found, what = plan(cleave, model_text(model, {}, depth), devices, {**sets, "stages": "auto"})
                    what = f"{what}, `stages = auto`"
                print(f"| {name} | {devices} | {what} | {f'{found[0]:.4g}' if found else '-'} | {len(fits)} | {best or '-'} | "
                      f"{f'{fits[best][0]:.4g}' if best else '-'} | "
                      f"{f'{found[0] / fits[best][0]:.3f}' if found and best else '-'} |", flush=True)


def print_experts(cleave, wanted):
    print("| model | plan | found | published, s | predicted, s | ratio | published, % | predicted, % | memory, GiB |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, what, model, devices, giga, seconds, sizes, sets in PUBLISHED:
        if wanted not in f"{name}, {what}":
            continue
        depth = sets.get("depth", 32)
        result, words = plan(cleave, model_text(model, {**sizes, "experts": True} if sizes else {}, depth), devices, sets)
        percent = lambda step: f"{100 * giga * 1e9 * TOKENS[name] / (devices * step * PEAK):.1f}"
        own = f"{result[0]:.4g} | {result[0] / seconds:.2f} | {percent(seconds)} | {percent(result[0])} | {result[1]:.1f}" if result else "-"
        print(f"| {name} | {what} | {words} | {seconds:.4g} | {own} |", flush=True)


def main():
    cleave, table = sys.argv[1:3]
    if table == "experts":
        return print_experts(cleave, sys.argv[3] if len(sys.argv) > 3 else "")
    print_shapes(cleave, sys.argv[3] if len(sys.argv) > 3 else "")


if __name__ == "__main__":
    main()
