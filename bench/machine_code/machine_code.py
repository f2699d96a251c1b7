"""What ptxas has made of kernels: whether they keep what their source claims.

    python3 machine_code.py PROGRAM...             # Programs or objects that nvcc has built.

Reads cuobjdump's account of every kernel (registers, local memory) and its disassembly, prints a table by kinds of kernels, and a line for each
kernel that breaks a rule:

1. A block's registers fit into the 65,536 of a multiprocessor.
2. Nothing is kept in local memory: neither registers that were spilled nor arrays. LOCAL lists what may be.
3. Kernels that claim to move vectors do: they have loads or stores of 16 bytes, and no stores of 2, which a vector of 16-bit elements falls into when
   the compiler takes it apart. Those of `movement` store elements behind the last vector one by one, and must store 16 bytes too.
4. Attention in 16 bits multiplies on tensor cores, and loads 16 bytes at once.

Exits with 1 if a rule is broken.
"""
import collections
import re
import subprocess
import sys

REGISTERS = 65536

# Kernels that may use local memory, and why.
LOCAL = {
    r"DrawElements<.*NormalDraw": "the cosine of large arguments, which are never drawn, is computed with an array",
    r"^Rotate$": "so are cosine and sine in double, of angles beyond 10^5",
}

# What a kernel is, by its name, and what it claims. `threads`: the largest block that it is launched with.
Kind = collections.namedtuple("Kind", "name pattern threads claim", defaults=[""])
KINDS = [
    Kind("attention in 16 bits", r"attention::(Forward|Gradient\w+)<(BFloat16|Float16)", 128, "tensor cores"),
    Kind("attention in f32", r"attention::", 128),
    Kind("rows in vectors, 512 threads", r"RowForm<512, 4,", 512, "vectors"),
    Kind("rows in vectors", r"RowForm<\d+, 4,", 256, "vectors"),
    Kind("rows", r"RowForm<", 256),
    Kind("loops of programs in vectors", r"^\w+<[48](, |>)", 256, "vectors"),
    Kind("movement in vectors", r"(FillElements|MaskVectors)<\w+, [48]>|Copy\w+<(uint4|Vector<unsigned int, 4>)", 256, "vectors and a rest"),
    Kind("draws", r"DrawElements<", 256, "vectors and a rest"),
    Kind("others", r"", 256),
]


def tool(*words):
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        sys.exit(f"machine_code.py: {words[0]} is not there: pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm")


class Kernel:
    def __init__(self, symbol):
        self.symbol, self.name = symbol, symbol
        self.registers = 0
        self.instructions = collections.Counter()

    def count(self, pattern):
        return sum(number for name, number in self.instructions.items() if re.match(pattern, name))

    @property
    def local(self):
        return self.count(r"(LDL|STL)\b")

    @property
    def wide(self):
        return self.count(r"(LDG|STG)\..*128")

    @property
    def halves(self):
        return self.count(r"STG\..*[US]16")

    @property
    def products(self):
        return self.count("HG?MMA")

    @property
    def kind(self):
        return next(kind for kind in KINDS if re.search(kind.pattern, self.name))

    def broken(self):
        kind = self.kind
        per_thread = (self.registers + 7) // 8 * 8  # As they are given out.
        if per_thread * kind.threads > REGISTERS:
            yield f"{self.registers} registers of {kind.threads} threads do not fit"
        if self.local and not any(re.search(pattern, self.name) for pattern in LOCAL):
            yield f"{self.count('LDL')} loads and {self.count('STL')} stores of local memory"
        if kind.claim == "vectors" and not self.wide:
            yield "moves no 16 bytes at once"
        if kind.claim == "vectors" and self.halves:
            yield f"stores 2 bytes in {self.halves} places"
        if kind.claim == "vectors and a rest" and not self.count(r"STG\..*128"):
            yield "stores no 16 bytes at once"
        if kind.claim == "tensor cores" and not self.products:
            yield "does not multiply on tensor cores"
        if kind.claim == "tensor cores" and not self.count(r"LDG\..*128"):
            yield "loads no 16 bytes at once"


def kernels_of(path):
    kernels = {}
    for symbol, registers in re.findall(r"Function (\S+):\s+REG:(\d+)", tool("cuobjdump", "--dump-resource-usage", path)):
        kernels.setdefault(symbol, Kernel(symbol)).registers = int(registers)
    current = None
    for line in tool("cuobjdump", "--dump-sass", path).splitlines():
        if found := re.match(r"\s+Function : (\S+)", line):
            current = kernels.setdefault(found[1], Kernel(found[1]))
        elif current and (found := re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)", line)):
            current.instructions[found[1]] += 1
    return kernels


def name_kernels(kernels):
    plain = subprocess.run(["c++filt"], input="\n".join(kernels), capture_output=True, text=True, check=True).stdout.splitlines()
    for kernel, name in zip(kernels.values(), plain):
        name = name.replace("(anonymous namespace)::", "").replace("cleave::runtime::", "").removeprefix("void ")
        kernel.name = name.split("(")[0]


def main():
    kernels = {}
    for path in sys.argv[1:]:
        kernels.update(kernels_of(path))
    name_kernels(kernels)
    print("| kernels | number | most registers | threads | local memory | 16 bytes at once | stores of 2 | tensor cores |")
    print("|---|---|---|---|---|---|---|---|")
    for kind in KINDS:
        mine = [kernel for kernel in kernels.values() if kernel.kind is kind]
        if mine:
            numbers = [
                len(mine), max(kernel.registers for kernel in mine), kind.threads,
                sum(kernel.local > 0 for kernel in mine),
                sum(kernel.wide > 0 for kernel in mine),
                sum(kernel.halves > 0 for kernel in mine),
                sum(kernel.products > 0 for kernel in mine),
            ]
            print(f"| {kind.name} | " + " | ".join(map(str, numbers)) + " |")
    broken = [(kernel.name, rule) for kernel in kernels.values() for rule in kernel.broken()]
    for name, rule in sorted(broken):
        print(f"broken: {name}: {rule}")
    print(f"{len(kernels)} kernels, {len(broken)} rules broken")
    return 1 if broken or not kernels else 0


if __name__ == "__main__":
    sys.exit(main())
