"""How tests build generated programs with the commands of users."""

def quick_make(compiler = "clang++"):
    """For `env` of a test: `make`, whoever starts it, optimizes nothing but kernels.

    To optimize the runtime of a program takes ten seconds and more, and the program runs for a few steps. Tests with the
    same compiler share objects.

    Args:
      compiler: g++, which most users have, takes half as long again.
    """
    return {
        "MAKEFLAGS": " ".join([
            "CXX=" + compiler,
            "CXXFLAGS=-O0\\ -std=c++17\\ -fopenmp",
            "COLDFLAGS=-O0",
            "IDLEFLAGS=-O0",
            "FLAGS_runtime/kernels/cpu=-O1\\ -march=native",
        ]),
        "OMPI_CXX": compiler,
    }
