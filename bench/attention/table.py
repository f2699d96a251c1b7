"""Prints what attention.cc and torch_attention.py have measured as a table: table.py FILE..."""

import json
import sys


def main():
    rows = {}
    for path in sys.argv[1:]:
        for line in open(path):
            measured = json.loads(line)
            rows.setdefault((measured["length"], measured["type"], measured["mask"]), {}).update(measured)
    print("| length | type | mask | fused, ms | separate, ms | fused / separate | PyTorch, ms | fused / PyTorch |")
    print("|---|---|---|---|---|---|---|---|")
    masks = ["none", "causal", "window", "documents", "dropout"]
    order = lambda item: (item[0][0], item[0][1] != "f32", masks.index(item[0][2]))
    for (length, dtype, mask), row in sorted(rows.items(), key=order):
        torch = row.get("torch")
        cells = [length, dtype, mask, f"{row['fused'] * 1e3:.1f}", f"{row['separate'] * 1e3:.1f}",
                 f"{row['fused'] / row['separate']:.2f}"]
        cells += [f"{torch * 1e3:.1f}", f"{row['fused'] / torch:.2f}"] if torch else ["", ""]
        print("| " + " | ".join(map(str, cells)) + " |")


main()
