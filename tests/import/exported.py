"""Whether transformers reads what `cleave export` writes, for each family in folders/.

    python exported.py CLEAVE [FAMILY ...]

imports each folder, exports the weights as they are in each type and in several files, trains three steps with a program of Cleave and exports
the checkpoint. transformers loads every folder. Weights that were not trained are equal to the bit, bf16 and f16 to those of torch's `.to`; the
logits of those that were trained are those of a program of Cleave that predicts, within 1e-5 of the largest. Takes minutes: each family has two
programs. Ran with torch 2.15.0 and transformers 5.24.0.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
import transformers as t

BATCH, SEQ, VOCAB, SAMPLES = 4, 12, 23, 8
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
cleave = os.path.abspath(sys.argv[1])
folders = os.path.join(os.path.dirname(os.path.abspath(__file__)), "folders")
t.logging.set_verbosity_error()
t.utils.logging.disable_progress_bar()


def run(*words, cwd):
    result = subprocess.run(words, cwd=cwd, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(words)}: {result.stdout}{result.stderr}")


def load(folder, **options):
    kind = t.AutoModelForMaskedLM if t.AutoConfig.from_pretrained(folder).architectures[0].endswith("MaskedLM") else t.AutoModelForCausalLM
    model, info = kind.from_pretrained(folder, output_loading_info=True, attn_implementation="eager", **options)
    for what, names in info.items():
        assert not names, (folder, what, names)
    return model.eval()


def logits(model, tokens):
    with torch.no_grad():
        return model(tokens, use_cache=False).logits if model.config.model_type not in ("bert", "roberta", "distilbert") else model(tokens).logits


def check(name, work):
    out = os.path.join(work, "net")
    run(cleave, "import", os.path.join(folders, name), "--out", out, "--name", "net", cwd=work)
    first = load(os.path.join(folders, name), dtype=torch.float32)
    tokens = np.random.default_rng(5).integers(2, VOCAB, (SAMPLES, SEQ))
    for word, kind in TYPES.items():
        folder = os.path.join(work, word)
        run(cleave, "export", "weights.safetensors", folder, "--dtype", word, "--shard-size", "8KB", cwd=out)
        model = load(folder, dtype="auto")
        assert model.dtype == kind, (name, model.dtype)
        for (key, ours), (_, theirs) in zip(model.state_dict().items(), first.state_dict().items(), strict=True):
            assert torch.equal(ours, theirs.to(kind)), (name, word, key)
        if os.path.exists(os.path.join(folder, "tokenizer.json")):
            assert t.AutoTokenizer.from_pretrained(folder)("abc").input_ids == [0, 1, 2]
        if word == "f32":
            assert torch.equal(logits(model, torch.tensor(tokens)), logits(first, torch.tensor(tokens))), name

    np.concatenate([tokens.reshape(-1), [2]]).astype(np.uint16).tofile(os.path.join(out, "train.bin"))
    np.save(os.path.join(out, "tokens.npy"), tokens.astype(np.int32))
    np.save(os.path.join(out, "labels.npy"), np.where(tokens % 3 == 0, tokens, -100).astype(np.int32))
    settings = [f"--set={each}" for each in (f"batch={BATCH}", f"seq={SEQ}", "precision=f32", "optimizer=sgd(lr = 0.05)", "devices=1")]
    run(cleave, "compile", "net.model", *settings, "--out", "train", cwd=out)
    run("./run.sh", "--launch", "local", "--steps", "3", "--checkpoint-every", "3", "--quiet", cwd=os.path.join(out, "train"))
    run(cleave, "export", "train/checkpoints", os.path.join(work, "tuned"), "--dtype", "f32", cwd=out)
    run(cleave, "compile", "net.model", *settings, "--mode", "predict", "--output", "logits", "--out", "predict", cwd=out)
    run("./run.sh", "--launch", "local", "--params", "../train/checkpoints", "--quiet", cwd=os.path.join(out, "predict"))
    ours = np.load(os.path.join(out, "predict", "logits.npy")).reshape(-1, SEQ, VOCAB)
    model = load(os.path.join(work, "tuned"))
    theirs = logits(model, torch.tensor(tokens[: len(ours)])).numpy()
    error, largest = np.abs(ours - theirs).max(), np.abs(theirs).max()
    moved = np.abs(theirs - logits(first, torch.tensor(tokens[: len(ours)])).numpy()).max()
    print(f"{name}: {len(ours)} samples, logits differ by {error:.2g} of {largest:.3g}, training moved them by {moved:.2g}", flush=True)
    assert len(ours) > 0 and error <= 1e-5 * largest and moved > 1e-3, name


for name in sys.argv[2:] or sorted(os.listdir(folders)):
    with tempfile.TemporaryDirectory() as work:
        check(name, work)
