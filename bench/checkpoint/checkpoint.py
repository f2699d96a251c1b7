# Measures checkpoints; prints the tables of checkpoint.sh.
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import time

compiler, folder, repetitions, megabytes, python, mlp, gpt = sys.argv[1:]
repetitions = int(repetitions)
saved = folder + "/saved"
FULL = saved + "/step_1"
FILE = folder + "/file"
READ = """
import glob, sys, time
from safetensors.numpy import load_file
start = time.time()
tensors = [load_file(path) for path in glob.glob(sys.argv[1] + "/*.safetensors")]
print(time.time() - start)
"""


def timed(command):
    start = time.time()
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return time.time() - start


def measured(command):
    """What a command prints, and the most memory that it had, in bytes."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    said = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise subprocess.CalledProcessError(child.returncode, command)
    return said, usage.ru_maxrss * 1024


def state(what, ranks):
    said, memory = measured([folder + "/state", what, saved, str(ranks), megabytes])
    return dict(json.loads(said), memory=memory)


def copied(target, *flags):
    """Seconds of dd for all files of the checkpoint, one after another."""
    shards = [FULL + "/" + name for name in os.listdir(FULL)]
    seconds = sum(timed(["dd", "if=" + shard, "of=" + target, "bs=4M", *flags]) for shard in shards)
    if target == FILE:
        os.remove(FILE)
    return seconds


def files(ranks, has_safetensors):
    """One row: seconds for 10^9 bytes."""
    columns = {name: [] for name in ("save", "disk", "load", "dd", "safetensors", "memory", "their memory")}
    for _ in range(repetitions):
        subprocess.run(["rm", "-rf", saved], check=True)
        os.sync()
        written = state("save", ranks)
        size = written["bytes"] * 1e-9
        os.sync()
        columns["save"].append(written["seconds"] / size)
        columns["disk"].append(copied(FILE, "conv=fsync") / size)
        loaded = state("load", ranks)
        columns["load"].append(loaded["seconds"] / size)
        columns["memory"].append(loaded["memory"] / loaded["bytes"] / ranks)
        columns["dd"].append(copied("/dev/null") / size)
        if has_safetensors:
            said, memory = measured([python, "-c", READ, FULL])
            columns["safetensors"].append(float(said) / size)
            columns["their memory"].append(memory / written["bytes"])
    median = {name: statistics.median(values) if values else None for name, values in columns.items()}
    ratio = statistics.median(a / b for a, b in zip(columns["save"], columns["disk"]))
    texts = ["%.2f" % median[name] if median[name] else "" for name in columns]
    print("| %d | %.2f | %s | %s | %.2f | %s | %s | %s | %s | %s |" % (ranks, size, *texts[:2], ratio, *texts[2:]))


class Program:
    def __init__(self, model, ranks, settings):
        self.out = folder + "/program"
        command = [compiler, model, "--devices", str(ranks), "--out", self.out, "--quiet", "--set", "log_every=1000"]
        for setting in settings:
            command += ["--set", setting]
        subprocess.run(command, check=True)
        subprocess.run(["make", "-s", "-C", self.out, "COMM=local"], check=True, stdout=subprocess.DEVNULL)

    def run(self, steps, every):
        """Seconds of each step, of processor time in all, and of writing by step."""
        subprocess.run(["rm", "-rf", self.out + "/checkpoints"], check=True)
        os.sync()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = ["./run.sh", "--launch", "local", "--steps", str(steps), "--checkpoint-every", str(every)]
        ran = subprocess.run(command, cwd=self.out, check=True, capture_output=True, text=True,
                             env=dict(os.environ, OMP_NUM_THREADS="1"))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        written = re.findall(r"step (\d+) \| saved ([0-9.]+) MB in ([0-9.]+) s", ran.stdout)
        seconds = [json.loads(line)["seconds"] for line in open(self.out + "/metrics.jsonl")]
        processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return seconds, processor, {int(step): (float(size), float(took)) for step, size, took in written}


def steps_beside(name, model, ranks, settings, steps, every):
    """One row: steps while a checkpoint is written against the others of the same run."""
    program = Program(model, ranks, settings)
    ratios, usual, work, took = [], [], [], []
    for _ in range(repetitions):
        seconds, processor, written = program.run(steps, every)
        _, processor_alone, _ = program.run(steps, steps)
        beside, alone = [], []
        end = 0  # Of what is being written, in seconds of training after its step.
        for step, second in enumerate(seconds):  # After `step` steps.
            if step in written:
                end = written[step][1]
            (beside if end > 0 else alone).append(second)
            end -= second
        ratios.append(statistics.median(beside) / statistics.median(alone))
        usual.append(statistics.median(alone))
        work.append((processor - processor_alone) / (len(written) - 1))
        took.append(statistics.median(value for _, value in written.values()))
        size = written[steps][0]
    print("| %s | %d | %.1f | %.2f | %.2f | %.1f | %.3f | %.3f to %.3f |" % (
        name, ranks, size, 1e3 * statistics.median(usual), statistics.median(took), 1e3 * statistics.median(work),
        statistics.median(ratios), min(ratios), max(ratios)))


has_safetensors = subprocess.run([python, "-c", "import safetensors.numpy"], stderr=subprocess.DEVNULL).returncode == 0
if not has_safetensors:
    print("checkpoint: %s has no safetensors, so its times are left out" % python, file=sys.stderr)
print("| ranks | GB | save, s/GB | disk (dd), s/GB | save / disk | load, s/GB | dd, s/GB | safetensors, s/GB | memory | safetensors, memory |")
print("|---|---|---|---|---|---|---|---|---|---|")
for ranks in (1, 2):
    files(ranks, has_safetensors)
print()
print("| model | ranks | MB | step, ms | written in, s | processor time, ms | step while written / else | least to most |")
print("|---|---|---|---|---|---|---|---|")
wide = ["width=512", "depth=6", "heads=8", "batch=8"]
for ranks in (1, 2):
    steps_beside("`mnist_mlp`", mlp, ranks, [], 1000, 50)
    steps_beside("`tiny_gpt`, 6 x 512", gpt, ranks, wide, 24, 8)
