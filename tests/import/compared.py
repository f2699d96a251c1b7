"""Compares imported models of each family with transformers, and prints a table.

    python compared.py CLEAVE [--seed N] [--work FOLDER] [FAMILY ...]

makes a random model of each family of pytorch.py, imports and exports it, and trains, continues and predicts with programs of Cleave. What is
exported is equal to the bit, in several files too, and bf16 and f16 to those of torch's `.to`; transformers loads it. An error of a program is
the cell's text. A family takes some minutes. Ran with torch 2.15.0 and transformers 5.24.0.
"""

import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import tempfile

import numpy as np
import torch
import transformers as t
from safetensors.torch import load_file

import pytorch as p

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
# What the programs of a family read: names of files, and of what pytorch.py has.
DATA = {name: dict(tokens="tokens", next="next") for name in p.LANGUAGE} | {
    name: dict(tokens="masked", lengths="length", labels="labels") for name in p.MASKED} | dict(
        vit=dict(images="image", labels="label"), resnet=dict(images="image", labels="label"), clip=dict(images="image", tokens="tokens"),
        whisper=dict(sounds="sound", targets="target"), t5=dict(tokens="tokens", lengths="length", labels="answer"))
PROGRAMS = {
    "1 rank": ["devices=1"],
    "2 ranks": ["devices=2"],
    "4 ranks": ["devices=4"],
    "2 stages, 2 micro-batches": ["devices=2", "stages=2", "micro_batches=2"],
    "zero = 3": ["devices=2", "zero=3"],
    "bf16": ["devices=1", "precision=bf16"],
}
SIZES = dict(batch=p.BATCH, seq=p.SEQ, target=5, size=p.SIZE)


class Failed(Exception):
    pass


def run(*words, cwd):
    result = subprocess.run(words, cwd=cwd, capture_output=True, text=True)
    if result.returncode != 0:
        code = re.search(r"error\[(E\d+)\]", result.stderr)
        raise Failed(code[1] if code else result.stderr.strip().splitlines()[-1])
    return result.stdout


def outputs(name, model, of):
    """Of a model of transformers: what its programs predict, by name."""
    with torch.no_grad():
        if name == "clip":
            both = model(input_ids=of["tokens"], pixel_values=of["image"])
            return dict(image_vector=both.image_embeds, text_vector=both.text_embeds)
        if name == "whisper":
            return dict(encoded=model.model.encoder(of["sound"]).last_hidden_state)
        mask = torch.arange(p.SEQ) < of["length"][:, None]
        if name == "t5":
            return dict(logits=model(of["tokens"], attention_mask=mask, labels=of["answer"]).logits)
        if name in ("vit", "resnet"):
            return dict(logits=model(of["image"]).logits)
        return dict(logits=model(of["masked"], attention_mask=mask).logits if name in p.MASKED else model(of["tokens"], use_cache=False).logits)


def tensors_in(folder):
    return {key: value for file in glob.glob(folder + "/*.safetensors") for key, value in load_file(file).items()}


class Case:
    def __init__(self, name, cleave, work, seed):
        self.name, self.cleave, self.work = name, cleave, work
        self.of = p.samples()
        self.folder, self.out = work + "/first", work + "/net"
        p.make(name, self.folder, seed)
        run(cleave, "import", self.folder, "--out", self.out, "--name", "net", cwd=work)
        for file, key in DATA[name].items():
            np.save(f"{self.out}/{file}.npy", self.of[key])
        text = open(self.out + "/net.model").read()
        self.settings = [f"--set={size}={value}" for size, value in SIZES.items() if f"{size}: int =" in text]
        self.settings += ["--set=optimizer=sgd(lr = 0.1)", "--set=clip=1e9"]
        if name in p.LANGUAGE:
            self.settings.append('--set=data=npy(tokens = "tokens.npy", next = "next.npy")')

    def compile(self, folder, words):
        plain = [] if "generate" in words or any("zero=" in word or "stages=" in word for word in words) else ["--set=zero=0", "--set=micro_batches=1"]
        if not any("precision" in word for word in words):
            plain.append("--set=precision=f32")
        run(self.cleave, "compile", "net.model", *self.settings, *plain, *words, "--out", folder, cwd=self.out)

    def losses(self, folder, settings):
        self.compile(folder, [f"--set={each}" for each in settings])
        run("./run.sh", "--launch", "local", "--steps", str(p.STEPS), "--quiet", cwd=f"{self.out}/{folder}")
        return [json.loads(line)["loss"] for line in open(f"{self.out}/{folder}/metrics.jsonl") if "loss" in json.loads(line)]

    def exports(self):
        """How many tensors come back, of how many."""
        first = tensors_in(self.folder)
        for word, kind in TYPES.items():
            folder = f"{self.work}/{word}"
            run(self.cleave, "export", "weights.safetensors", folder, "--dtype", word, "--shard-size", "8KB", cwd=self.out)
            tensors = tensors_in(folder)
            for key, value in tensors.items():
                if not torch.equal(value, first[key].to(kind)):
                    return f"`{key}` in {word}"
            if self.name != "whisper":
                kind_of = type(p.MODELS[self.name]())
                model, info = kind_of.from_pretrained(folder, output_loading_info=True, dtype="auto")
                missing = [key for key in info["missing_keys"] if not key.endswith("num_batches_tracked")]
                if missing or info["unexpected_keys"] or model.dtype != kind:
                    return f"{missing} {info['unexpected_keys']} {model.dtype}"
        left = sorted({re.sub(r"\d+", "i", key) for key in first.keys() - tensors.keys()})
        return "yes" if not left else f"but {len(first.keys() - tensors.keys())} of {len(first)}"

    def predict(self, model, params):
        """The largest difference, beside the largest value."""
        theirs = outputs(self.name, model, p.tensors(self.of))
        if not os.path.exists(self.out + "/predict"):
            self.compile("predict", ["--mode", "predict", "--devices", "1"] + [word for key in theirs for word in ("--output", key)])
        run("./run.sh", "--launch", "local", "--params", params, "--quiet", "--out", "answers", cwd=self.out + "/predict")
        worst = 0
        for key, value in theirs.items():
            ours = np.load(f"{self.out}/predict/answers/{key}.npy").reshape(value.shape)
            worst = max(worst, float(np.abs(ours - value.numpy()).max() / np.abs(value.numpy()).max()))
        return worst

    def after_training(self):
        """The same for a checkpoint, which transformers reads from its export."""
        tuned = self.work + "/tuned"
        run(self.cleave, "export", "1_rank/checkpoints", tuned, "--dtype", "f32", cwd=self.out)
        if self.name == "whisper":
            model = p.load(self.name, self.folder)
            model.load_state_dict(tensors_in(tuned), strict=False)
        else:
            model = p.load(self.name, tuned)
        return self.predict(model, "../1_rank/checkpoints")

    def generates(self, model):
        if self.name not in p.LANGUAGE:
            return "-"
        self.compile("generate", ["--mode", "generate", "--devices", "1", "--set=batch=1"])
        said = run("./run.sh", "--launch", "local", "--params", "../weights.safetensors", "--quiet", "--prompt", "3 7", "--length",
                   str(p.SEQ - 2), "--temperature", "0", cwd=self.out + "/generate").splitlines()[-1]
        return "yes" if said.split() == [str(token) for token in p.continued(model)] else said

    def row(self):
        model = p.load(self.name, self.folder)
        cells = {}

        def fill(column, compute):
            try:
                value = compute()
                cells[column] = value if isinstance(value, str) else f"{value:.0e}"
            except Failed as failed:
                cells[column] = str(failed)

        fill("export", self.exports)
        fill("logits", lambda: self.predict(model, "../weights.safetensors"))
        fill("greedy", lambda: self.generates(model))
        right = p.train(self.name, p.load(self.name, self.folder), p.tensors(self.of))
        for column, settings in PROGRAMS.items():
            folder = re.sub(r"\W+", "_", column)
            fill(column, lambda: max(abs(ours - theirs) / theirs for ours, theirs in zip(self.losses(folder, settings), right, strict=True)))
        fill("logits after training", self.after_training)
        return cells


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cleave", type=os.path.abspath)
    parser.add_argument("families", nargs="*")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--work", help="keep what is made in this folder")
    words = parser.parse_intermixed_args()
    t.logging.set_verbosity_error()
    t.utils.logging.disable_progress_bar()
    is_first = True
    for name in words.families or p.MODELS:
        with tempfile.TemporaryDirectory() as work:
            folder = work if words.work is None else os.path.abspath(f"{words.work}/{name}")
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
            cells = Case(name, words.cleave, folder, words.seed).row()
        if is_first:
            print("| | " + " | ".join(cells) + " |\n|" + "---|" * (len(cells) + 1))
        is_first = False
        print(f"| `{name}` | " + " | ".join(cells.values()) + " |", flush=True)


if __name__ == "__main__":
    main()
