"""The table of step times that run.sh has collected.

    python3 table.py TIMES GPU

TIMES has a line for each program: model, batch, precision, who, milliseconds ("-": failed), with tabs between. Prints them with the work
done per second, its share of the peak of the GPU, and how many times as fast as the fastest PyTorch of the same model.
"""
import sys

# Operations per second without sparsity, as NVIDIA states them: f32 outside of matrix units, tf32 and bf16 on them.
PEAKS = {
    "H100 PCIe": {"f32": 51e12, "tf32": 378e12, "bf16": 756e12},
    "H100": {"f32": 67e12, "tf32": 494.5e12, "bf16": 989e12},
    "H200": {"f32": 67e12, "tf32": 494.5e12, "bf16": 989e12},
    "A100": {"f32": 19.5e12, "tf32": 156e12, "bf16": 312e12},
    "B200": {"f32": 75e12, "tf32": 1125e12, "bf16": 2250e12},
}


def operations(model, batch):
    """Of one step: products forward, and backward by weights and by inputs, of which the data need none."""
    if model == "mlp":
        weights, first = 784 * 512 + 512 * 512 + 512 * 10, 784 * 512
        return batch * (6 * weights - 2 * first)
    # Products of the blocks and of the last layer; scores and mixtures of all positions, as is usual, not only of
    # earlier ones.
    width, depth, seq, vocab = 768, 12, 1024, 50304
    return batch * seq * (6 * (12 * depth * width * width + vocab * width) + 12 * depth * width * seq)


def main():
    with open(sys.argv[1]) as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    peak = next((rates for name, rates in PEAKS.items() if name in sys.argv[2]), {})
    print(f"{'model':<6}{'batch':>6}  {'precision':<10}{'program':<16}{'ms/step':>10}{'/s':>16}{'of peak':>9}{'ratio':>7}")
    for model, batch, precision, who, milliseconds in rows:
        start = f"{model:<6}{batch:>6}  {precision:<10}{who:<16}"
        if milliseconds == "-":
            print(f"{start}{'failed':>10}")
            continue
        seconds = float(milliseconds) / 1e3
        items = int(batch) * (1024 if model == "gpt2" else 1)
        rate = f"{items / seconds:,.0f} {'tok' if model == 'gpt2' else 'img'}"
        share = f"{operations(model, int(batch)) / seconds / peak[precision]:.1%}" if precision in peak else "-"
        peers = [
            float(row[4]) / 1e3
            for row in rows
            if row[:3] == [model, batch, precision] and row[3].startswith("torch") and row[4] != "-"
        ]
        ratio = f"{min(peers) / seconds:.2f}" if peers else "-"
        print(f"{start}{seconds * 1e3:>10.3f}{rate:>16}{share:>9}{ratio:>7}")


main()
