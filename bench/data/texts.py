"""How many bytes of text become tokens in a second, beside Hugging Face's tokenizers?

    python texts.py CLEAVE TEXT [MEGABYTES] [REPETITIONS]

Trains a byte-level BPE tokenizer of 8,000 tokens on TEXT, repeats TEXT to so many megabytes (20), each document of 4,000 bytes, and has `cleave data
tokenize` and `Tokenizer.encode_batch` make tokens of it in turns (3). Both use all cores and end with the numbers on disk; the tokens are compared. The
table has the medians of wall time, and of the ratios.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

cleave, path = os.path.abspath(sys.argv[1]), sys.argv[2]
megabytes = float(sys.argv[3]) if len(sys.argv) > 3 else 20
repetitions = int(sys.argv[4]) if len(sys.argv) > 4 else 3
text = open(path, encoding="utf-8").read()
documents = [text[at : at + 4000] for at in range(0, len(text), 4000)]
documents = (documents * (int(megabytes * 1e6 / len(text)) + 1))[: max(1, int(megabytes * 250))]
size = sum(len(document.encode()) for document in documents) * 1e-6
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
tokenizer.train_from_iterator(documents[:500], trainers.BpeTrainer(vocab_size=8000, special_tokens=["<|end|>"], show_progress=False,
                                                                   initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
with tempfile.TemporaryDirectory() as folder:
    tokenizer.save(folder + "/tokenizer.json")
    json.dump({"eos_token": "<|end|>"}, open(folder + "/tokenizer_config.json", "w"))
    with open(folder + "/a.jsonl", "w") as file:
        file.writelines(json.dumps({"text": document}) + "\n" for document in documents)
    seconds = []
    for _ in range(repetitions):
        start = time.time()
        subprocess.run([cleave, "data", "tokenize", folder + "/a.jsonl", "--tokenizer", folder, "--out", folder + "/ours", "--force"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        middle = time.time()
        lines = [json.loads(line)["text"] for line in open(folder + "/a.jsonl")]
        ids = [encoding.ids + [0] for encoding in tokenizer.encode_batch(lines)]
        numpy.concatenate([numpy.array(each, numpy.uint16) for each in ids]).tofile(folder + "/theirs.bin")
        seconds.append((middle - start, time.time() - middle))
    ours = numpy.concatenate([numpy.fromfile(f"{folder}/{name}", numpy.uint16)
                              for name in sorted(os.listdir(folder)) if name.startswith("ours_")])
    same = numpy.array_equal(ours, numpy.fromfile(folder + "/theirs.bin", numpy.uint16))
mine, theirs = (statistics.median(side) for side in zip(*seconds))
ratio = statistics.median(their / my for my, their in seconds)
print(f"{size:.1f} MB, {len(ours)} tokens, the same: {same}")
print(f"cleave data tokenize {size / mine:8.1f} MB/s\ntokenizers           {size / theirs:8.1f} MB/s\nratio                {ratio:8.2f}")
