"""The largest relative difference between the losses of two metrics.jsonl files over the steps that both have.

    python3 losses.py MINE THEIRS LIMIT

Prints it, and exits with 1 where it is over LIMIT or where MINE has no steps.
"""
import json
import sys


def losses(path):
    with open(path) as lines:
        return [json.loads(line)["loss"] for line in lines]


def main():
    mine, theirs, limit = losses(sys.argv[1]), losses(sys.argv[2]), float(sys.argv[3])
    if not mine:
        print("no steps")
        return 1
    largest = max(abs(a - b) / max(abs(b), 1e-6) for a, b in zip(mine, theirs))
    print(f"{largest:.1e} over {min(len(mine), len(theirs))} steps")
    return 0 if largest <= limit else 1


sys.exit(main())
