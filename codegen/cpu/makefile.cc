#include "codegen/cpu/makefile.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace cleave {
namespace {

constexpr char kMakefile[] =
    R"make(# `make` builds ./program, whose ranks mpirun starts. `make COMM=gloo` builds ./program_gloo, whose ranks are started one by one
# (./run.sh --launch rank-table or dynamic), and ./starter: no MPI is needed for that. Both can lie here side by side.
# Needs a C++17 compiler, oneDNN, and MPI or Gloo; `make CXX=... CXXFLAGS=...` overrides what stands here.
COMM = mpi
CXXFLAGS = -O3 -march=native -std=c++17 -fopenmp
LDLIBS = $(COMM_LIBS) -ldnnl -lpthread
MAIN = program.cc

# The files of a folder are compiled as one: most of the time goes into headers that they share. What does not run in every step is
# compiled quickly rather than for speed.
FOLDERS =@FOLDERS@
HOT = runtime/comm/gloo runtime/einsum runtime/kernels/cpu runtime/math/onednn runtime/random
COLDFLAGS = -O1

STARTER_FOLDERS = runtime/starter runtime/rendezvous runtime/placement runtime/trace runtime/error
ifeq ($(COMM),mpi)
CXX = mpicxx
PROGRAM = program
UNUSED = runtime/comm/gloo runtime/placement runtime/rendezvous runtime/starter
INSTALL = MPI for C++ (Debian: libopenmpi-dev openmpi-bin)
else ifeq ($(COMM),gloo)
CXX = g++
PROGRAM = program_gloo
STARTER = starter
UNUSED = runtime/comm/mpi runtime/starter
COMM_LIBS = -lgloo
INSTALL = a C++ compiler (Debian: g++)
else
$(error COMM is `$(COMM)`, and must be mpi or gloo)
endif

BUILD = build/$(COMM)
MAIN_OBJECT = $(BUILD)/$(MAIN:.cc=.o)
FOLDER_OBJECTS = $(patsubst %,$(BUILD)/%.o,$(filter-out $(UNUSED),$(FOLDERS)))
STARTER_OBJECTS = $(STARTER_FOLDERS:%=$(BUILD)/%.o)

ifneq ($(MAKECMDGOALS),clean)
ifeq ($(shell command -v $(firstword $(CXX)) 2>/dev/null),)
$(error the compiler `$(firstword $(CXX))` is not there: install $(INSTALL))
endif
ifeq ($(COMM),gloo)
ifeq ($(shell echo '\#include <gloo/config.h>' | $(CXX) -E -x c++ - >/dev/null 2>&1 && echo there),)
$(error Gloo is not there: install it (Debian: libgloo-dev))
endif
endif
endif

# As many compilers at once as there are cores, unless told otherwise.
ifeq ($(filter -j%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(shell nproc)
endif

all: $(PROGRAM) $(STARTER)

$(PROGRAM): $(MAIN_OBJECT) $(FOLDER_OBJECTS)
	$(CXX) $(CXXFLAGS) -o $@ $^ $(LDLIBS)

starter: $(STARTER_OBJECTS)
	$(CXX) $(CXXFLAGS) -o $@ $^ -lpthread

# -MMD writes what an object was made from.
$(MAIN_OBJECT): $(MAIN)
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -I. -MMD -MP -c -o $@ $<

$(sort $(FOLDER_OBJECTS) $(STARTER_OBJECTS)): $(BUILD)/%.o:
	@mkdir -p $(@D)
	printf '#include "%s"\n' $(wildcard $*/*.cc) | $(CXX) $(CXXFLAGS) $(if $(filter $(HOT),$*),,$(COLDFLAGS)) -I. \
	  -MMD -MP -MF $(@:.o=.d) -MT $@ -x c++ -c -o $@ -

clean:
	rm -rf build program program_gloo starter

.PHONY: all clean

-include $(MAIN_OBJECT:.o=.d) $(FOLDER_OBJECTS:.o=.d) $(STARTER_OBJECTS:.o=.d)
)make";

}  // namespace

std::string CpuMakefile(const std::vector<std::string>& folders) {
  std::string list;
  for (const std::string& folder : folders) absl::StrAppend(&list, " \\\n\t", folder);
  return absl::StrReplaceAll(kMakefile, {{"@FOLDERS@", list}});
}

}  // namespace cleave
