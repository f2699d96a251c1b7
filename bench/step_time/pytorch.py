"""Question: how long does a step take beside PyTorch's, as it is and compiled, on a CPU?

pytorch.py COMPILE PYTHON EXAMPLES [REPETITIONS [STEPS [THREADS [MODEL...]]]]

The models have the sizes of sizes.json here and in torch_step.py. All run in turn, as often as REPETITIONS says, with all THREADS: the program on one
rank, the program on two ranks that share the threads, PyTorch, and PyTorch compiled; none computes while another is measured. A measurement is the
median over STEPS steps. Prints the least and the median of all, in milliseconds, and the least and the median of the ratios of neighbours.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = json.load(open(HERE + "/sizes.json"))
FIELDS = {"llama": {"width", "heads", "groups", "hidden", "depth"}}  # Of the record `sizes`.
MODELS = {  # The example, and its data of made up samples.
    "resnet": ("resnet/resnet.model", "digits(train = 256, test = 16)"),
    "gpt": ("tiny_gpt/tiny_gpt.model", "synthetic(train = 64, test = 8)"),
    "llama": ("llama/llama.model", "synthetic(train = 64, test = 8)"),
}
CASES = [("resnet", "f32"), ("gpt", "f32"), ("gpt", "bf16"), ("llama", "f32"), ("llama", "bf16")]
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


class Program:
    """A generated program, built in a folder."""

    def __init__(self, compiler, examples, name, precision, ranks, threads, folder):
        model, data = MODELS[name]
        self.folder, self.ranks, self.threads = folder, ranks, threads
        command = [compiler, f"{examples}/{model}", "--devices", str(ranks), "--launch", "local", "--out", folder, "--quiet"]
        for setting in [f"{'sizes.' if key in FIELDS.get(name, ()) else ''}{key}={value}" for key, value in SIZES[name].items()] + [f"data={data}", f"precision={precision}", "steps=100000"]:
            command += ["--set", setting]
        subprocess.run(command, check=True)
        subprocess.run(["make", "-s", "-C", folder, "COMM=local"], check=True, stdout=subprocess.DEVNULL)

    def measure(self, steps):
        # The first step prepares what the libraries need.
        flags = ["--steps", str(steps + 1), "--log-every", "0", "--eval-every", "1000000", "--quiet", "--threads", str(self.threads // self.ranks)]
        subprocess.run(["./run.sh", "--launch", "local"] + flags, cwd=self.folder, check=True, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
        return 1e3 * json.load(open(self.folder + "/run.json"))["median_step_seconds"]


class Torch:
    """A process that trains when it is asked to."""

    def __init__(self, python, name, precision, mode, threads):
        self.process = subprocess.Popen([python, HERE + "/torch_step.py", name, precision, mode, str(threads)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.measure(2)  # Compiles.

    def measure(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        return statistics.median(json.loads(self.process.stdout.readline()))

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def text(values):
    return f"{min(values):.1f} / {statistics.median(values):.1f}"


def compare(compiler, python, examples, name, precision, repetitions, steps, threads):
    with tempfile.TemporaryDirectory() as folder:
        programs = [Program(compiler, examples, name, precision, ranks, threads, f"{folder}/{ranks}") for ranks in (1, 2)]
        torches = [Torch(python, name, precision, mode, threads) for mode in ("eager", "compiled")]
        measured = [[each.measure(steps) for each in programs + torches] for _ in range(repetitions)]
        for torch in torches:
            torch.end()
    columns = list(zip(*measured))
    ratios = [[one / torch for one, torch in zip(columns[0], columns[i])] for i in (2, 3)]
    cells = [text(column) for column in columns] + [f"{min(ratio):.2f} / {statistics.median(ratio):.2f}" for ratio in ratios]
    print(f"| `{name}` | {precision} | " + " | ".join(cells) + " |", flush=True)


def main():
    compiler, python, examples = (os.path.abspath(path) for path in sys.argv[1:4])
    given = [int(argument) for argument in sys.argv[4:7]]
    repetitions, steps, threads = given + [5, 5, 2][len(given):]
    wanted = sys.argv[7:] or list(MODELS)
    print("| model | type | 1 rank, ms | 2 ranks, ms | PyTorch, ms | compiled, ms | 1 rank / PyTorch | 1 rank / compiled |")
    print("|---|---|---|---|---|---|---|---|")
    for name, precision in CASES:
        if name in wanted:
            compare(compiler, python, examples, name, precision, repetitions, steps, threads)


main()
