"""Numbers from files of programs and of the compiler: losses, step times, work, kernels predicted and measured."""
import csv
import io
import json
import re
import statistics

# Operations per second without sparsity, as NVIDIA states them: f32 outside of matrix units, tf32 and bf16 on them.
PEAKS = {
    "H100 PCIe": {"f32": 51e12, "tf32": 378e12, "bf16": 756e12},
    "H100": {"f32": 67e12, "tf32": 494.5e12, "bf16": 989e12},
    "H200": {"f32": 67e12, "tf32": 494.5e12, "bf16": 989e12},
    "A100": {"f32": 19.5e12, "tf32": 156e12, "bf16": 312e12},
    "B200": {"f32": 75e12, "tf32": 1125e12, "bf16": 2250e12},
}


def peak_of(gpu, precision):
    return next((rates[precision] for name, rates in PEAKS.items() if name in gpu), None)


class Case:
    """A line of speed.tsv: a program, and the case as torch_step.py reads it, with the way left open."""

    def __init__(self, line):
        self.program, self.text = line.rstrip("\n").split("\t")
        self.model, batch, self.precision, _, *sizes = self.text.split(":")
        self.batch = int(batch)
        self.sizes = [int(size) for size in sizes if size]
        self.title = f"{self.model}, batch {self.batch}, {self.precision}"

    def torch(self, way):
        return ":".join([self.model, str(self.batch), self.precision, way, *map(str, self.sizes)])

    def items(self):
        """What a step takes, and its unit."""
        return (self.batch * self.sizes[0], "tokens") if self.sizes else (self.batch, "images")

    def operations(self):
        """Of one step: products forward, and backward by weights and by inputs, of which the data need none. Of scores and mixtures those
        of all positions, as is usual, not only of earlier ones."""
        if not self.sizes:
            first, all_weights = 784 * 512, 784 * 512 + 512 * 512 + 512 * 10
            return self.batch * (6 * all_weights - 2 * first)
        seq, vocab, width, _, depth = self.sizes
        return self.batch * seq * (6 * (12 * depth * width * width + vocab * width) + 12 * depth * width * seq)


def _steps(path):
    """The lines of steps in a metrics.jsonl, without those of evaluations."""
    with open(path, encoding="utf-8") as lines:
        return [step for step in map(json.loads, lines) if "loss" in step]


def losses(path):
    return [float("nan") if step["loss"] is None else step["loss"] for step in _steps(path)]


def compare(mine, reference):
    """The largest relative difference over the steps that both have, and their number."""
    steps = min(len(mine), len(reference))
    differences = [abs(a - b) / max(abs(b), 1e-6) for a, b in zip(mine, reference)]
    return (max(differences) if all(d == d for d in differences) else float("inf")) if steps else float("inf"), steps


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def seconds_of_step(folder):
    """The median over the steps behind the first five, in which graphs are recorded and clocks rise."""
    seconds = [step["seconds"] for step in _steps(f"{folder}/metrics.jsonl")]
    return statistics.median(seconds[5:] or seconds)


def _in_any_layer(op):
    return re.sub(r"\.\d+(?=\.|$)", ".#", op)


def kernels(predicted_path, profile):
    """A line for each predicted kernel: what it is, how often it runs in a step, seconds measured and predicted, operations and bytes; those
    that take longest first. Then the ops of the profile that no kernel has."""
    with open(predicted_path, encoding="utf-8") as lines:
        predicted = [json.loads(line) for line in lines]
    measured = {}
    for op in profile["ops"]:
        entry = measured.setdefault(_in_any_layer(op["op"]), {"seconds": 0, "flops": 0})
        entry["seconds"] += op["seconds"]
        entry["flops"] += op.get("flops", 0)
    together = {}
    for kernel in predicted:
        names = tuple(dict.fromkeys(_in_any_layer(op) for op in kernel["ops"]))
        entry = together.setdefault(
            names, {"kind": kernel["kind"], "phase": kernel["phase"], "runs": 0, "predicted": 0, "bytes": 0, "flops": 0}
        )
        for key, value in (("runs", 1), ("predicted", kernel["seconds"]), ("bytes", kernel["bytes"]), ("flops", kernel["flops"])):
            entry[key] += kernel["runs"] * value
    rows, taken = [], set()
    for names, entry in together.items():
        mine = [name for name in names if name in measured and name not in taken]
        taken.update(mine)
        counted = sum(measured[name]["flops"] for name in mine)
        seconds = sum(measured[name]["seconds"] for name in mine)
        rows.append({**entry, "ops": list(names), "measured": seconds, "flops": counted or entry["flops"]})
    rows.sort(key=lambda row: -row["measured"])
    rest = {name or "outside of all ops": entry["seconds"] for name, entry in measured.items() if name not in taken}
    return rows, rest


def launches(text):
    """Of the lines that ncu has written as CSV, by kernel: launches, seconds and bytes; those that take longest first."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return []
    sums = {}
    for row in csv.DictReader(io.StringIO("\n".join(lines[start:]))):
        try:
            value = float(row["Metric Value"].replace(",", ""))
        except (AttributeError, ValueError):
            continue  # A line of the program's own.
        name = re.sub(r"^void |cleave::runtime::|\(.*", "", row["Kernel Name"])
        entry = sums.setdefault(name, {"name": name, "launches": set(), "seconds": 0, "bytes": 0})
        entry["launches"].add(row["ID"])
        if row["Metric Name"] == "gpu__time_duration.sum":
            entry["seconds"] += value * {"ns": 1e-9, "us": 1e-6, "usecond": 1e-6, "nsecond": 1e-9}.get(row["Metric Unit"], 1e-9)
        else:
            entry["bytes"] += value
    return sorted(({**entry, "launches": len(entry["launches"])} for entry in sums.values()), key=lambda e: -e["seconds"])
