#include "codegen/cpu/makefile.h"

#include "codegen/cpu/cpu.h"

namespace cleave::codegen {
namespace {

constexpr char kOpening[] =
    R"make(# `make` builds ./program, whose ranks mpirun starts. `make COMM=gloo` builds ./program_gloo, whose ranks are
# started one by one (./run.sh --launch rank-table or dynamic): no MPI is needed for that. `make COMM=local` builds
# ./program_local, whose ranks are threads of one process. All can lie here side by side, with ./starter for run.sh.
#
# Needs a C++17 compiler, oneDNN 2 or 3, and MPI or Gloo; `make CXX=... MPICXX=... CXXFLAGS=...` overrides what stands here.
# Nothing reads errno after a square root, and loops that need not set it are done in vectors.
COMM = mpi
CXXFLAGS = -O3 -march=native -fno-math-errno -std=c++17 -fopenmp
LDLIBS = $(COMM_LIBS) -ldnnl -lpthread
MAIN = program.cc
)make";

constexpr char kHot[] =
    "runtime/comm/gloo runtime/comm/local runtime/einsum/cpu runtime/kernels/cpu runtime/image runtime/measure/cpu "
    "runtime/random";

constexpr char kLibraries[] =
    R"make(ifeq ($(COMM),gloo)
ifeq ($(call has,gloo/config.h),)
$(error Gloo is not there: install it (Debian: libgloo-dev))
endif
endif
)make";

}  // namespace

std::string CpuMakefile(const ProgramSources& sources) {
  return Makefile({.opening = kOpening,
                   .hot = kHot,
                   .libraries = kLibraries,
                   .meeting_comm = std::string(CpuTarget().meeting_comm),
                   .meeting_libraries = "COMM_LIBS = -lgloo\n"},
                  sources);
}

}  // namespace cleave::codegen
