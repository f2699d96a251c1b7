#include "codegen/cpu/build_files.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace cleave {
namespace {

constexpr char kMakefile[] =
    R"make(# Builds ./program. Needs a C++17 compiler, MPI and oneDNN; `make CXX=... CXXFLAGS=...` overrides what stands here.
CXX = mpicxx
CXXFLAGS = -O3 -march=native -std=c++17 -fopenmp
LDLIBS = -ldnnl -lpthread
MAIN = program.cc

# The files of a folder are compiled as one: most of the time goes into headers that they share. What does not run in every step is
# compiled quickly rather than for speed.
FOLDERS =@FOLDERS@
HOT = runtime/einsum runtime/kernels runtime/math/onednn runtime/random
COLDFLAGS = -O1

MAIN_OBJECT = build/$(MAIN:.cc=.o)
FOLDER_OBJECTS = $(FOLDERS:%=build/%.o)

ifeq ($(shell command -v $(firstword $(CXX)) 2>/dev/null),)
$(error the compiler `$(firstword $(CXX))` is not there: install MPI for C++ (Debian: libopenmpi-dev openmpi-bin))
endif

# As many compilers at once as there are cores, unless told otherwise.
ifeq ($(filter -j%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(shell nproc)
endif

program: $(MAIN_OBJECT) $(FOLDER_OBJECTS)
	$(CXX) $(CXXFLAGS) -o $@ $^ $(LDLIBS)

# -MMD writes what an object was made from.
$(MAIN_OBJECT): $(MAIN)
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -I. -MMD -MP -c -o $@ $<

$(FOLDER_OBJECTS): build/%.o:
	@mkdir -p $(@D)
	printf '#include "%s"\n' $(wildcard $*/*.cc) | $(CXX) $(CXXFLAGS) $(if $(filter $(HOT),$*),,$(COLDFLAGS)) -I. \
	  -MMD -MP -MF $(@:.o=.d) -MT $@ -x c++ -c -o $@ -

clean:
	rm -rf build program

.PHONY: clean

-include $(MAIN_OBJECT:.o=.d) $(FOLDER_OBJECTS:.o=.d)
)make";

constexpr char kRunScript[] = R"sh(#!/bin/sh
# Starts the program on @RANKS@ of this machine, in this folder; arguments go to the program: ./run.sh --steps 100
case $0 in */*) cd "${0%/*}" || exit 5 ;; esac
ranks=@COUNT@

fail() {
  echo "run.sh: $1" >&2
  exit 5
}
command -v mpirun >/dev/null 2>&1 || fail "mpirun is not there: install MPI (Debian: openmpi-bin)"
if [ ! -x program ]; then
  command -v make >/dev/null 2>&1 || fail "the program is not built, and make is not there"
  make || fail "the program could not be built"
fi

# Ranks share the cores. They are not bound: a bound rank would keep its threads on one core.
cores=$(nproc 2>/dev/null || echo 1)
threads=$((cores / ranks))
[ "$threads" -ge 1 ] || threads=1
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-$threads}"
flags="--bind-to none"
[ "$ranks" -le "$cores" ] || flags="$flags --oversubscribe"
# Root may start it, as containers do.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Under mpirun a program cannot see that a terminal is behind it.
[ ! -t 1 ] || export CLEAVE_PROGRESS=1

# Every rank's output: log_output/1/rank.N/stdout and stderr.
exec mpirun -n "$ranks" $flags --output-filename log_output ./program "$@"
)sh";

}  // namespace

std::string CpuMakefile(const std::vector<std::string>& folders) {
  std::string list;
  for (const std::string& folder : folders) absl::StrAppend(&list, " \\\n\t", folder);
  return absl::StrReplaceAll(kMakefile, {{"@FOLDERS@", list}});
}

std::string CpuRunScript(int ranks) {
  return absl::StrReplaceAll(kRunScript, {{"@RANKS@", ranks == 1 ? "one rank" : absl::StrCat(ranks, " ranks")},
                                          {"@COUNT@", absl::StrCat(ranks)}});
}

}  // namespace cleave
