#include "codegen/cpu/makefile.h"

namespace cleave::codegen {
namespace {

constexpr char kOpening[] =
    R"make(# `make` builds ./program, whose ranks mpirun starts. `make COMM=gloo` builds ./program_gloo, whose ranks are
# started one by one (./run.sh --launch rank-table or dynamic): no MPI is needed for that. `make COMM=local` builds
# ./program_local, whose ranks are threads of one process. All can lie here side by side, with ./starter for run.sh.
#
# Needs a C++17 compiler, oneDNN, and MPI or Gloo; `make CXX=... CXXFLAGS=...` overrides what stands here.
COMM = mpi
CXXFLAGS = -O3 -march=native -std=c++17 -fopenmp
LDLIBS = $(COMM_LIBS) -ldnnl -lpthread
MAIN = program.cc
MAIN_OBJECT = $(BUILD)/$(MAIN:.cc=.o)
)make";

constexpr char kHot[] =
    "runtime/comm/gloo runtime/comm/local runtime/einsum runtime/einsum/cpu runtime/kernels/cpu runtime/math/onednn "
    "runtime/random";

constexpr char kRules[] =
    R"make($(MAIN_OBJECT): $(MAIN)
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -I. -MMD -MP -c -o $@ $<
)make";

}  // namespace

std::string CpuMakefile(const ProgramSources& sources) {
  return Makefile({.opening = kOpening, .hot = kHot, .rules = kRules}, sources);
}

}  // namespace cleave::codegen
