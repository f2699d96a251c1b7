"""The programs in bin/: carried ready to run, or built where they run if what was carried does not start.

    python3 programs.py 90                         # Builds all for an architecture, and packs them as what is carried.
"""
import glob
import lzma
import os
import subprocess
import sys
import tarfile

CARRIED = "binaries.tar.xz"
_OWN = "_own"  # Ends the name of a program whose attention is computed by the runtime's own kernels, whatever is there.
_NCCL = "_nccl"  # And of one whose ranks are processes that NCCL connects.


def source_of(name):
    """A program's own file. Tests that name nothing of CUDA are C++, which is compiled in less time."""
    base = name.removesuffix(_OWN).removesuffix(_NCCL)
    return base + (".cc" if os.path.exists(base + ".cc") else ".cu")


def tests():
    """The tests of code for the device, by name."""
    return sorted(os.path.splitext(path)[0] for path in glob.glob("tests/*.c[cu]"))


def log_of(name):
    return f"logs/{name.replace('/', '_')}.build"


def _make(name, variables):
    words = ["make", "-k", f"MAIN={source_of(name)}", f"PROGRAM=bin/{name}", *variables]
    words.append("COMM=nccl" if name.endswith(_NCCL) else "COMM=local")
    if name.endswith(_OWN):
        words += ["CUDNN_FRONTEND_HOME=/nowhere", "BUILD=build_own"]  # A folder keeps one object of a source.
    elif os.path.isdir("cudnn_frontend"):
        words.append(f"CUDNN_FRONTEND_HOME={os.getcwd()}/cudnn_frontend")
    if name.startswith("tests/"):
        words = ["env", "CPATH=googletest/include", *words, "COMM_LIBS=bin/googletest.o", f"FLAGS_{name}=-O1"]
    return " ".join(f"'{word}'" for word in words) + f" >{log_of(name)} 2>&1"


def script_of(names, variables):
    """A script that builds the programs: the first with all cores, because it compiles the runtime that all share, then several at once."""
    lines = ["mkdir -p logs " + " ".join(sorted({os.path.dirname(f"bin/{name}") for name in names}))]
    if any(name.startswith("tests/") for name in names):
        lines += [
            "[ -e bin/googletest.o ] || printf '#include \"%s\"\\n' googletest/src/gtest-all.cc googletest/src/gtest_main.cc |",
            "  g++ -O1 -std=c++17 -I. -Igoogletest -Igoogletest/include -x c++ -c -o bin/googletest.o - || exit 1",
        ]
    lines += [_make(names[0], variables), "jobs=$(($(nproc) / 2 + 1))"]
    for name in names[1:]:
        lines += ['while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done', _make(name, variables) + " &"]
    return "\n".join(lines + ["wait"])


def why_not(name):
    """The line of a program's log that says why it was not built, and the log."""
    if not os.path.exists(log_of(name)):
        return "it was not carried, and is not built", ""
    with open(log_of(name), encoding="utf-8", errors="replace") as file:
        text = file.read()
    lines = text.splitlines()
    telling = [line for line in lines if "error" in line.lower() or "***" in line]
    return (telling or lines[-1:] or ["it was not built in time"])[0][:200], text


class Programs:
    """`stand_in`: everything is built for the CPU (tests/stand_in)."""

    def __init__(self, commands, report, stand_in):
        self._commands, self._report = commands, report
        self._variables = ["STAND_IN=stand_in", "CXXFLAGS=-O1 -std=c++17 -fopenmp"] if stand_in else []
        self._builds = stand_in or not os.path.exists(CARRIED)
        self._asked_for = set()
        os.makedirs("runs", exist_ok=True)
        if not self._builds:
            with tarfile.open(CARRIED) as archive:
                archive.extractall(".", filter="data")

    def check_carried(self):
        if self._builds:
            return self._report.row("carried programs", "left out", "everything is built on this machine")
        outcome = self._commands.run(["bin/mnist_mlp_1", "--help"], 40)
        if outcome.ok:
            outcome = self._commands.run(["bin/mnist_mlp_1", "--steps", "1", "--quiet", "--out", "runs"], 40)
            # Other failures are not cured by building: what runs next says them.
            if "was not built for GPU" not in outcome.text:
                return self._report.row("carried programs", "ok", "they start")
        self._builds = True
        for path in glob.glob("bin/**/*", recursive=True):
            if os.path.isfile(path):
                os.remove(path)
        self._report.row("carried programs", "FAILED", f"they do not start, so all are built here: {outcome.why()}")

    def path(self, name):
        return f"bin/{name}"

    def missing(self, names, seconds):
        """Those that are not there, with the reason. Where programs are built, builds them first, within `seconds`."""
        wanted = [name for name in names if name not in self._asked_for]
        if self._builds and wanted:
            title = f"building {len(wanted)} programs from {wanted[0]} on"
            outcome = self._commands.run(["bash", "-c", script_of(wanted, self._variables)], seconds, title=title)
            if outcome.state == "ended":  # Else what is missing is tried again, where the next part needs it.
                self._asked_for.update(wanted)
        reasons = {}
        for name in names:
            if not os.access(self.path(name), os.X_OK):
                reasons[name], log = why_not(name)
                self._commands.log(f"building {name}", log)
        return reasons


def _pack(architecture):
    names = [os.path.splitext(path)[0] for path in sorted(glob.glob("*.cu")) if not path.startswith("stand_in")]
    names += [name + _OWN for name in names if name.startswith("gpu_gpt2")]
    names += [name + _NCCL for name in names if name == "tiny_gpt_2"] + tests()
    subprocess.run(["bash", "-c", script_of(names, [f"ARCHS={architecture}"])], check=True)
    broken = {name: why_not(name)[0] for name in names if not os.access(f"bin/{name}", os.X_OK)}
    for name, why in broken.items():
        print(f"programs.py: {name} was not built: {why}", file=sys.stderr)
    # Programs have most of their bytes in common, so what is remembered must be longer than one of them.
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 1, "dict_size": 32 << 20}]
    with lzma.open(CARRIED, "w", filters=filters) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        for name in names:
            if name not in broken:
                subprocess.run(["strip", f"bin/{name}"], check=True)
                archive.add(f"bin/{name}")
    print(f"{CARRIED}: {len(names) - len(broken)} programs, {os.path.getsize(CARRIED) / 2**20:.1f} MiB")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(_pack(sys.argv[1]))
