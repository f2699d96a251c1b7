"""How tests build generated programs with the commands of users."""

# For `env` of a test: `make`, whoever starts it, optimizes nothing but kernels, because GCC takes ten seconds and more to
# optimize the runtime of a program that runs for a few steps. Such tests share objects.
QUICK_MAKE = {
    "MAKEFLAGS": " ".join([
        "CXXFLAGS=-O0\\ -std=c++17\\ -fopenmp",
        "COLDFLAGS=-O0",
        "IDLEFLAGS=-O0",
        "FLAGS_runtime/kernels/cpu=-O1\\ -march=native",
    ]),
}
