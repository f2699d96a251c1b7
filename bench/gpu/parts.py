"""The parts of run.py, in the order in which they run: what tells most comes first."""
import json
import os
import shutil
import statistics

import libraries
import measures
import programs
from gpu_state import GpuState

EXAMPLES = ["mnist_mlp", "mnist_cnn", "tiny_gpt"]

# Relative differences of losses over 20 steps. In f32 both targets add up the same numbers in other orders. In bf16 they also round them to 8 bits
# at the same places; README.md says what that gives.
F32_LIMIT = 1e-4
BF16_LIMIT = 1e-3
ATTENTION_LIMIT = 2e-2  # As in runtime/kernels/attention_test.cc: weights and results have 8 bits.

CUBLAS_WORKSPACE = 64 << 20  # Bytes, which docs/memory.md leaves out of the prediction.


class Bench:
    def __init__(self, commands, report, stand_in, cudnn):
        self.commands, self.report, self.stand_in, self.has_cudnn = commands, report, stand_in, cudnn
        self.programs = programs.Programs(commands, report, stand_in)
        self.steps = 3 if stand_in else 20
        self.gpu = ""
        self.ceilings = {}
        self.torch = None
        self.torch_cases = {}
        with open("speed.tsv", encoding="utf-8") as lines:
            cases = [measures.Case(line) for line in lines]
        self.cases = [case for case in cases if case.program.startswith("stand_in_" if stand_in else "gpu_")]

    # --- What several parts do ---------------------------------------------------------------------------------------

    def have(self, names, seconds=120):
        """Those of the programs that are there; says which are not."""
        missing = self.programs.missing(names, seconds)
        for name, why in missing.items():
            self.report.row(name, "FAILED", f"not there: {why}")
        return [name for name in names if name not in missing]

    def train(self, name, flags, seconds, wrapper=(), environment=None, folder=None):
        folder = folder or f"runs/{name}"
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        data = ["--data", "fables.txt"] if name.startswith("tiny_gpt") else []
        return self.commands.run(
            [*wrapper, self.programs.path(name), "--out", folder, *data, *flags], seconds, environment
        )

    def compare(self, name, title, reference, limit, seconds=60, environment=None):
        """Trains a program and compares its losses with those in the file `reference`."""
        if not self.have([name]):
            return
        outcome = self.train(name, ["--steps", str(self.steps), "--quiet"], seconds, environment=environment)
        if not outcome.ok:
            return self.report.row(title, outcome.verdict, outcome.why())
        if not os.path.exists(reference):
            return self.report.row(title, "FAILED", f"there is no {reference} to compare with")
        difference, steps = measures.compare(measures.losses(f"runs/{name}/metrics.jsonl"), measures.losses(reference))
        text = f"{difference:.1e} apart over {steps} steps, at most {limit:.0e}"
        self.report.row(title, "ok" if difference <= limit else "FAILED", text, difference=difference, limit=limit)

    # --- The parts ---------------------------------------------------------------------------------------------------

    def start(self):
        query = "name,driver_version,memory.total,clocks.max.sm,power.limit"
        smi = self.commands.run(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"], 20)
        self.gpu = smi.text.splitlines()[0].strip() if smi.ok and smi.text.strip() else ""
        self.report.describe(GPU=self.gpu or ("the stand-in" if self.stand_in else f"none: {smi.why()}"))
        known = self.commands.run(["python3", "libraries.py"], 60)
        if known.ok:
            self.report.describe(**json.loads(known.text))
        self.programs.check_carried()
        for name in self.have(["mnist_mlp_1"], 240):
            outcome = self.train(name, ["--steps", "3"], 60)
            if not outcome.ok:
                self.report.row("three steps of mnist_mlp", outcome.verdict, outcome.why())
                continue
            losses = measures.losses(f"runs/{name}/metrics.jsonl")
            self.report.row("three steps of mnist_mlp", "ok", "losses " + ", ".join(f"{loss:.6f}" for loss in losses))
        self._measure_ceilings()

    def _measure_ceilings(self):
        for name in self.have(["ceilings"]):
            outcome = self.commands.run([self.programs.path(name)] + (["1e6", "32"] if self.stand_in else ["4e9", "8192"]), 40)
            if not outcome.ok:
                self.report.row("ceilings", outcome.verdict, outcome.why())
                continue
            self.ceilings = json.loads(outcome.text.splitlines()[-1])
            rates = {key: value for key, value in self.ceilings.items() if key != "identity"}
            self.report.row(
                "ceilings", "measured",
                f"copy {rates['copy_bytes_per_second'] / 1e12:.2f} TB/s, products in bf16 {rates['bf16_flops'] / 1e12:.0f} "
                f"and in f32 {rates['f32_flops'] / 1e12:.1f} TFLOP/s", **rates,
            )

    def kernels(self):
        tests = [name for name in programs.tests() if self.has_cudnn or "sdpa" not in name]
        # Attention, which a step needs most and which is most code, comes first.
        sizes = ["1x2x40x16"] if self.stand_in else ["8x12x1024x64", "1x16x4096x128"]
        for name in self.have(["attention"]):
            outcome = self.commands.run([self.programs.path(name), *sizes], 60)
            rows = []
            for line in outcome.text.splitlines():
                if not line.startswith("{"):
                    continue
                found = json.loads(line.replace(": inf", ": Infinity"))
                worst = max(found[key] for key in ("out", "dq", "dk", "dv"))
                title = f"attention {found['size']}, {found['way']}"
                self.report.row(title, "ok" if worst <= ATTENTION_LIMIT else "FAILED", f"largest error {worst:.1e}", **found)
                rows.append(
                    [found["size"], found["way"]]
                    + [found[f"{part}_flops"] / found[f"{part}_seconds"] / 1e12 for part in ("forward", "backward")]
                    + [found[key] for key in ("out", "dq", "dk", "dv")]
                )
            if not outcome.ok:
                self.report.row("attention", outcome.verdict, outcome.why())
            self.report.table(
                "Attention in bf16: TFLOP/s, and errors as shares of the largest number",
                ["samples x heads x rows x head", "way", "forward", "backward", "out", "dq", "dk", "dv"], rows,
            )
        for name in self.have(tests, 400):
            outcome = self.commands.run([self.programs.path(name), "--gtest_brief=1"], 30)
            passed = [line for line in outcome.text.splitlines() if "PASSED" in line]
            if outcome.ok:
                self.report.row(name, "ok", passed[-1].replace("[  PASSED  ]", "").strip() if passed else "")
            else:
                failed = [line.split("]")[1].strip() for line in outcome.text.splitlines() if "[  FAILED  ]" in line]
                self.report.row(name, outcome.verdict, "; ".join(dict.fromkeys(failed))[:300] or outcome.why())

    def losses(self):
        for name in EXAMPLES:
            self.compare(f"{name}_1", f"losses of {name}", f"expected/{name}.jsonl", F32_LIMIT)
        self.compare("small_gpt2_1", "losses of small_gpt2 in bf16", "expected/small_gpt2.jsonl", BF16_LIMIT)

    def prepare_torch(self):
        """Starts PyTorch, which compiles its steps beside the parts before `speed`."""
        ways = ["compile"] if self.stand_in else ["compile", "graphs"]
        self.torch_cases = [case.torch(way) for way in ways for case in self.cases]
        device = "cpu" if self.stand_in else "cuda"
        self.torch = self.commands.talk(["python3", "torch_step.py", device, *self.torch_cases], "PyTorch")

    def _torch_ready(self, seconds):
        """The cases that PyTorch has prepared, when it has prepared all, or those that it has when the time is over."""
        ready, end, is_told = [], self.commands.clock.elapsed() + seconds, False
        while (line := self.torch.hear(end - self.commands.clock.elapsed())) != "prepared":
            if line is None and self.torch.has_ended():
                self.report.row("PyTorch", "left out", "it has ended; log.txt has what it said")
                self.torch.close()
                return []
            if line is None and is_told:
                # What it prepares now would run beside what is measured.
                self.report.row("PyTorch", "left out", "it did not end what it prepared")
                self.torch.close()
                return []
            if line is None:
                self.torch.say("enough")
                end, is_told = self.commands.clock.elapsed() + 60, True
            elif line.startswith("ready "):
                ready.append(line.removeprefix("ready "))
            else:
                self.report.row("PyTorch", "left out", line)
        if len(ready) < len(self.torch_cases):
            self.report.row("PyTorch", "measured", f"{len(ready)} of {len(self.torch_cases)} cases were prepared in time")
        return ready

    def speed(self):
        """Rounds in which all are measured one after another, so that what changes in between changes for all."""
        rounds, steps = (1, 3) if self.stand_in else (3, 40)
        ready = self._torch_ready(40) if self.torch is not None else []
        names = [case.program for case in self.cases]
        own = [] if self.stand_in or not self.has_cudnn else [n + "_own" for n in names if "_gpt2_" in n]
        there = self.have(names + own)
        times, states = {}, {}
        for _ in range(rounds):
            for case in self.cases:
                flags = ["--steps", str(300 if case.model == "mlp" and not self.stand_in else steps), "--quiet"]
                for program in (case.program, case.program + "_own"):
                    if program not in there or self.commands.clock.left() < 5:
                        continue
                    with GpuState() as state:
                        outcome = self.train(program, flags, 40)
                    if outcome.ok:
                        times.setdefault((case, program), []).append(measures.seconds_of_step(f"runs/{program}") * 1e3)
                        states[program] = state
                    else:
                        self.report.row(f"steps of {program}", outcome.verdict, outcome.why())
                        there.remove(program)
                for way in ("compile", "graphs"):
                    text = case.torch(way)
                    if text not in ready or self.commands.clock.left() < 5:
                        continue
                    self.torch.say(text)
                    line = self.torch.hear(30)
                    if line is None:  # What it answers later would be taken for the answer to something else.
                        self.report.row(f"PyTorch {text}", "FAILED", "too slow")
                        ready.clear()
                        continue
                    answer = json.loads(line)
                    if "error" in answer:
                        self.report.row(f"PyTorch {text}", "FAILED", answer["error"])
                        ready.remove(text)
                    else:
                        times.setdefault((case, f"PyTorch, {way}"), []).append(answer["milliseconds"])
        if self.torch is not None:
            self.torch.close()
        self._report_speed(times, states)
        self._report_memory(states)

    def _report_speed(self, times, states):
        rows = []
        medians = {key: statistics.median(values) for key, values in times.items()}
        for (case, who), milliseconds in medians.items():
            seconds = milliseconds / 1e3
            items, unit = case.items()
            rate = case.operations() / seconds
            peak, reached = measures.peak_of(self.gpu, case.precision), self.ceilings.get(f"{case.precision}_flops")
            peers = [value for (other, name), value in medians.items() if other is case and name.startswith("PyTorch")]
            state = states.get(who)
            rows.append([
                case.title, who, milliseconds, f"{min(times[case, who]):.3f} to {max(times[case, who]):.3f}",
                f"{items / seconds:,.0f} {unit}", rate / 1e12, None if peak is None else f"{rate / peak:.1%}",
                None if reached is None else f"{rate / reached:.1%}",
                None if not peers or who.startswith("PyTorch") else f"{min(peers) / milliseconds:.2f}",
                None if state is None else state.clock(), None if state is None else state.watts(),
            ])
            self.report.row(f"{case.title}: {who}", "measured", f"{milliseconds:.3f} ms, {items / seconds:,.0f} {unit}/s",
                            milliseconds=times[case, who], flops=rate)
        self.report.table(
            "Steps. The ratio says how many times as fast as the fastest PyTorch; a program reads its loss in each step, PyTorch does not. "
            "Programs that end in _own compute attention by the runtime's kernels instead of cuDNN",
            ["case", "program", "ms", "of rounds", "a second", "TFLOP/s", "of the stated peak", "of the measured", "ratio", "MHz", "W"],
            rows,
        )

    def _report_memory(self, states):
        rows = []
        for case in self.cases:
            path = f"runs/{case.program}/run.json"
            if not os.path.exists(path):
                continue
            predicted = measures.read_json(f"predicted/{case.program}.json")["memory_per_rank"]["peak"]
            counted = max(measures.read_json(path)["peak_memory_bytes"].values())
            used = states[case.program].used() if case.program in states else None
            rows.append([case.title, predicted / 2**20, counted / 2**20, f"{counted / predicted - 1:+.1%}", None if used is None else used / 2**20])
            at_most = predicted * 1.02 + CUBLAS_WORKSPACE
            self.report.row(f"memory of {case.program}", "ok" if counted <= at_most else "FAILED",
                            f"{counted / 2**20:.0f} MiB of {predicted / 2**20:.0f} predicted", predicted=predicted, counted=counted, used=used)
        self.report.table(
            "Memory in MiB. What the program counts leaves out what CUDA and its libraries take for themselves, the GPU's does not",
            ["case", "predicted", "counted by the program", "apart", "by the GPU's driver"], rows,
        )

    def profile(self):
        case = self.cases[0]
        if not self.have([case.program]):
            return
        outcome = self.train(case.program, ["--steps", "3" if self.stand_in else "12", "--quiet", "--profile"], 40,
                             folder="runs/profile")
        if not outcome.ok:
            self.report.row("profile", outcome.verdict, outcome.why())
        else:
            self._report_profile(case)
        self._report_launches(case)

    def _report_profile(self, case):
        profile = measures.read_json("runs/profile/run.json")["profile"]
        cluster = "h100x8" if "H100" in self.gpu else "h200x8"
        found, rest = measures.kernels(f"predicted/{case.program}.{cluster}.jsonl", profile)
        copy, product = self.ceilings.get("copy_bytes_per_second"), self.ceilings.get("bf16_flops")
        rows = []
        for kernel in found:
            seconds = kernel["measured"]
            floor = max(kernel["bytes"] / copy, kernel["flops"] / product if kernel["kind"] in ("products", "attention") else 0) \
                if copy and product else None
            rows.append([
                ", ".join(kernel["ops"][:2]) + (" …" if len(kernel["ops"]) > 2 else ""), kernel["kind"], kernel["runs"],
                seconds * 1e6, kernel["predicted"] * 1e6, seconds / kernel["predicted"] if kernel["predicted"] else None,
                kernel["flops"] / seconds / 1e12 if seconds else None, kernel["bytes"] / seconds / 1e9 if seconds else None,
                f"{floor / seconds:.0%}" if floor is not None and seconds else None,
            ])
        known = sum(kernel["measured"] for kernel in found)
        self.report.row(
            "profile", "measured",
            f"{profile['step_seconds'] * 1e3:.2f} ms a step when each op is awaited; kernels {known * 1e3:.2f}, predicted "
            f"{sum(kernel['predicted'] for kernel in found) * 1e3:.2f} for {cluster}; other ops " +
            ", ".join(f"{name} {seconds * 1e3:.2f}" for name, seconds in sorted(rest.items(), key=lambda e: -e[1])[:4]),
        )
        self.report.table(
            f"Kernels of {case.title}, us a step: each is awaited, so a launch and a wait (some 10 us) stand in every run. The share is "
            "that of the ceiling, copy or product, which binds it",
            ["ops", "kind", "runs", "measured", "predicted", "ratio", "TFLOP/s", "GB/s", "share"], rows,
        )

    def _report_launches(self, case):
        """By the hardware's counters: one step, in which nothing is awaited between kernels."""
        if shutil.which("ncu") is None:
            return self.report.row("launches", "left out", "ncu is not there")
        metrics = "gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum"
        wrapper = ["ncu", "--csv", "--print-units", "base", "--clock-control", "none", "--cache-control", "none", "--metrics", metrics,
                   "--log-file", "runs/launches.csv"]
        outcome = self.train(case.program, ["--steps", "1", "--quiet"], 60, wrapper, folder="runs/launches")
        if not outcome.ok or not os.path.exists("runs/launches.csv"):
            return self.report.row("launches", outcome.verdict, outcome.why())
        with open("runs/launches.csv", encoding="utf-8", errors="replace") as file:
            found = measures.launches(file.read())
        if not found:
            return self.report.row("launches", "FAILED", "ncu wrote no counters")
        copy = self.ceilings.get("copy_bytes_per_second")
        total = sum(kernel["seconds"] for kernel in found)
        self.report.row("launches", "measured", f"{sum(kernel['launches'] for kernel in found)} launches of {len(found)} kernels, {total * 1e3:.2f} ms")
        self.report.table(
            f"Launches of the first step of {case.title} and of what comes before it, by the hardware's counters",
            ["kernel", "launches", "us", "share", "GB/s", "of the copy"],
            [[kernel["name"], kernel["launches"], kernel["seconds"] * 1e6, f"{kernel['seconds'] / total:.1%}",
              kernel["bytes"] / kernel["seconds"] / 1e9, f"{kernel['bytes'] / kernel['seconds'] / copy:.0%}" if copy else None]
             for kernel in found],
        )

    def ranks(self):
        self._ranks_by_nccl()
        for count in (2, 8):
            for name in EXAMPLES:
                self.compare(f"{name}_{count}", f"{name} on {count} ranks that share the GPU", f"expected/{name}.jsonl", F32_LIMIT)
        self.compare("small_gpt2_2", "small_gpt2 in bf16 on 2 ranks", "expected/small_gpt2.jsonl", BF16_LIMIT)

    def _ranks_by_nccl(self):
        """Two processes on the one GPU, which NCCL connects from version 2.30 on."""
        title, name = "tiny_gpt on 2 ranks by NCCL", "tiny_gpt_2_nccl"
        if self.stand_in:
            return self.report.row(title, "left out", "the stand-in's NCCL connects ranks of one process only")
        version = self.report.data["machine"].get("NCCL") or ""
        numbers = [int(number) for number in version.split(".")] if version.replace(".", "").isdigit() else []
        if numbers < [2, 30]:
            return self.report.row(title, "left out", f"NCCL is {version or 'not there'}, and lets ranks share a GPU from 2.30 on")
        if not self.have([name]):
            return
        environment = {
            "NCCL_MULTI_RANK_GPU_ENABLE": "1", "NCCL_NVLS_ENABLE": "0", "NCCL_MAX_CTAS": "4", "WORLD_SIZE": "2",
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29653", "CLEAVE_TIMEOUT": "30",
        }
        both = ["sh", "-c", 'RANK=1 LOCAL_RANK=1 "$@" & RANK=0 LOCAL_RANK=0 "$@" && wait $!', "both"]
        outcome = self.train(name, ["--steps", str(self.steps), "--quiet"], 60, both, environment)
        if not outcome.ok:
            return self.report.row(title, outcome.verdict, outcome.why())
        difference, steps = measures.compare(measures.losses(f"runs/{name}/metrics.jsonl"), measures.losses("expected/tiny_gpt.jsonl"))
        self.report.row(title, "ok" if difference <= F32_LIMIT else "FAILED", f"{difference:.1e} apart over {steps} steps, NCCL {version}")

    def sanitizer(self):
        if shutil.which("compute-sanitizer") is None:
            return self.report.row("compute-sanitizer", "left out", "it is not there")
        for name in self.have(["sanitize_gpt", "sanitize_cnn"]):
            for tool in ("memcheck", "racecheck", "synccheck"):
                outcome = self.train(name, ["--steps", "2", "--quiet"], 40,
                                     ["compute-sanitizer", "--tool", tool, "--error-exitcode", "1"], folder="runs/sanitizer")
                summary = [line for line in outcome.text.splitlines() if "SUMMARY" in line]
                said = summary[-1].replace("=", "").strip() if summary else outcome.why()
                self.report.row(f"{tool} of {name}", "ok" if outcome.ok else outcome.verdict, said)
