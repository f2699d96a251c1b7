# Makes the model and measures both; prints the table of generation.sh.
import json
import os
import statistics
import subprocess
import sys
import time

cleave, folder, repetitions, threads = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
os.environ["OMP_NUM_THREADS"] = str(threads)
import torch
import transformers

PROMPT, NEW, PLACES, SYMBOLS = 128, 64, 256, 8192
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
torch.set_num_threads(threads)
transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


def run(*words, cwd=folder):
    result = subprocess.run(words, cwd=cwd, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(words)}: {result.stderr}")
    return result.stdout


def make():
    torch.manual_seed(1)
    config = transformers.LlamaConfig(vocab_size=SYMBOLS, hidden_size=768, intermediate_size=2048, num_hidden_layers=8, num_attention_heads=12,
                                      num_key_value_heads=4, max_position_embeddings=PLACES, tie_word_embeddings=True)
    transformers.LlamaForCausalLM(config).save_pretrained(folder + "/model")
    run(cleave, "import", "model", "--out", "net", "--name", "net")


def program(kind, batch, chunk):
    name = f"{kind}_{batch}_{chunk}"
    run(cleave, "compile", "net/net.model", "--mode", "generate", "--devices", "1", "--launch", "local", "--quiet", "--out", name, "--chunk", str(chunk),
        "--set", f"batch={batch}", "--set", f"seq={PLACES}", "--set", f"precision={kind}")
    run("make", "-s", "COMM=local", cwd=f"{folder}/{name}")
    return name


def by_program(name, prompts):
    """Tokens a second of the prompts and behind them, and what the program writes."""
    words = [word for prompt in prompts for word in ("--prompt", " ".join(map(str, prompt)))]
    said = run("./run.sh", "--launch", "local", "--threads", str(threads), "--params", "../net/weights.safetensors", "--quiet", "--temperature", "0",
               "--length", str(NEW), "--out", "out", *words, cwd=f"{folder}/{name}")
    made = json.load(open(f"{folder}/{name}/out/run.json"))["generation"]
    tokens = [list(map(int, line.split())) for line in said.splitlines() if not line.startswith("---")]
    return made["computed_prompt_tokens"] / made["prompt_seconds"], made["tokens"] / made["seconds"], tokens


def by_transformers(model, prompts):
    def seconds(new):
        start = time.perf_counter()
        with torch.no_grad():
            result = model.generate(torch.tensor(prompts), attention_mask=torch.ones(len(prompts), PROMPT), do_sample=False, max_new_tokens=new,
                                    min_new_tokens=new, pad_token_id=0)
        return time.perf_counter() - start, result

    prefill, _ = seconds(1)
    whole, result = seconds(NEW)
    return len(prompts) * PROMPT / prefill, len(prompts) * (NEW - 1) / (whole - prefill), result.tolist()


make()
print("| type | prompts at once | places of a step | prompts, tokens/s | transformers | ratio | then, tokens/s | transformers | ratio | same texts |")
print("|---|---|---|---|---|---|---|---|---|---|")
for kind, dtype in TYPES.items():
    model = transformers.LlamaForCausalLM.from_pretrained(folder + "/model", dtype=dtype).eval()
    for batch in (1, 8):
        prompts = torch.randint(0, SYMBOLS, (batch, PROMPT), generator=torch.Generator().manual_seed(batch)).tolist()
        by_transformers(model, prompts)
        for chunk in (1, 8):
            name = program(kind, batch, chunk)
            ours, theirs = [], []
            for _ in range(repetitions):
                ours.append(by_program(name, prompts))
                theirs.append(by_transformers(model, prompts))
            cells = []
            for part in (0, 1):
                ratios = [a[part] / b[part] for a, b in zip(ours, theirs)]
                cells += [f"{statistics.median(x[part] for x in side):.0f}" for side in (ours, theirs)] + [f"{statistics.median(ratios):.2f}"]
            same = sum(a == b for a, b in zip(ours[0][2], theirs[0][2]))
            print(f"| {kind} | {batch} | {chunk} | {' | '.join(cells)} | {same} of {batch} |", flush=True)
