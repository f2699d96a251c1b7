"""Reads the curves of a run with TensorBoard's own reader, and compares them with metrics.jsonl.

By hand: pip install tensorboard, then
  python3 runtime/event_file/read_back.py RUN/metrics.jsonl RUN/curves
"""

import json
import math
import struct
import sys

from tensorboard.backend.event_processing import event_accumulator


def as_float(number):
    """What 32 bits keep of it."""
    return struct.unpack("f", struct.pack("f", number))[0]


def expected(metrics):
    """The points of each curve: by name {step: value}."""
    curves = {}
    with open(metrics) as lines:
        for line in map(json.loads, lines):
            step = line["step"]
            for part in ("validation", "test"):
                for name, value in line.get(part, {}).items():
                    if isinstance(value, (int, float)):
                        curves.setdefault(f"{part}/{name}", {})[step] = value
            if "loss" not in line:
                continue
            for name in line.keys() - {"step", "epoch", "seconds", "samples", "watch", "tokens_per_second", "mfu"}:
                curves.setdefault(f"train/{name}", {})[step] = line[name]
            for name in ("tokens_per_second", "mfu"):
                if name in line:
                    curves.setdefault(f"speed/{name}", {})[step] = line[name]
            for name, figures in line.get("watch", {}).items():
                curves.setdefault(f"watch/{name}/norm", {})[step] = figures["norm"]
    return curves


def main():
    metrics, folder = sys.argv[1:]
    reader = event_accumulator.EventAccumulator(folder, size_guidance={event_accumulator.SCALARS: 0})
    reader.Reload()
    tags = set(reader.Tags()["scalars"])
    points = 0
    for name, curve in sorted(expected(metrics).items()):
        read = {event.step: event.value for event in reader.Scalars(name)}
        # The test of what training ended with is no line of metrics.jsonl.
        others = read.keys() - curve.keys()
        assert curve.keys() <= read.keys() and (not others or name.startswith("test/")), f"{name}: steps {others}"
        for step, value in curve.items():
            same = math.isnan(read[step]) if value is None else math.isclose(read[step], as_float(value), rel_tol=1e-6)
            assert same, f"{name} at step {step}: {read[step]} instead of {value}"
        points += len(curve)
    print(f"{len(tags)} curves; {points} points are those of {metrics}")


if __name__ == "__main__":
    main()
