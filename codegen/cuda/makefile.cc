#include "codegen/cuda/makefile.h"

#include "absl/strings/str_cat.h"

namespace cleave::codegen {
namespace {

constexpr char kOpening[] =
    R"make(# `make` builds ./program, whose ranks mpirun starts, each with a GPU of its own. `make COMM=gloo` builds
# ./program_gloo, whose ranks are started one by one (./run.sh --launch rank-table or dynamic).
# `make COMM=local` builds ./program_local, whose ranks are threads of one process that share one GPU. All can lie here
# side by side, with ./starter for run.sh.
#
# Needs the CUDA toolkit and a C++17 compiler, and for more than one process NCCL, and MPI or Gloo. cuDNN is used where
# it is there.
#
#   make ARCHS="80 90"      for these architectures; else for the GPUs of this machine, without one for 80, 90 and 100
#   make CUDA_HOME=/path    where the toolkit is; NCCL_HOME, CUDNN_HOME: where those are, if not with it
COMM = mpi
CXXFLAGS = -O2 -std=c++17 -fopenmp
NVCCFLAGS = -O3 -std=c++17 -lineinfo -Xcompiler -fopenmp
LDLIBS = $(COMM_LIBS) $(CUDA_LIBS) -lpthread
MAIN = program.cu
MAIN_OBJECT = $(CUDA_BUILD)/$(MAIN:.cu=.o)
)make";

constexpr char kHot[] = "runtime/comm/gloo runtime/comm/local runtime/random";

// With the tests' stand-in for the toolkit, a C++ compiler builds the same sources for the CPU.
constexpr char kStandIn[] =
    R"make(ifdef STAND_IN
BUILD = build/stand_in
CUDA_BUILD = $(BUILD)/cuda
INCLUDES = -I$(STAND_IN)/include
COMPILE_CUDA = $(CXX) $(CXXFLAGS) -x c++
STAND_IN_SOURCES = $(filter-out %_test.cc,$(wildcard $(STAND_IN)/*.cc))
STAND_IN_OBJECTS = $(STAND_IN_SOURCES:$(STAND_IN)/%.cc=$(CUDA_BUILD)/stand_in/%.o)
else
)make";

constexpr char kToolkit[] =
    R"make(CUDA_BUILD = $(BUILD)/cuda
ifndef NVCC
NVCC := $(firstword $(wildcard $(CUDA_HOME)/bin/nvcc) $(shell command -v nvcc) \
	$(wildcard $(or $(CUDA_HOME),/usr/local/cuda)/bin/nvcc))
endif
ifeq ($(shell command -v '$(NVCC)' 2>/dev/null),)
$(error nvcc is not there: install the CUDA toolkit (Debian: nvidia-cuda-toolkit), \
	or say where it is: make CUDA_HOME=/path)
endif
ifndef CUDA_HOME
CUDA_HOME := $(patsubst %/bin/nvcc,%,$(realpath $(shell command -v '$(NVCC)')))
endif

ifeq ($(origin ARCHS),undefined)
ARCHS := $(if $(shell nvidia-smi -L 2>/dev/null),native,80 90 100)
endif
ifeq ($(ARCHS),native)
CODE = -arch=native
else
UNKNOWN := $(filter-out $(patsubst compute_%,%,$(shell $(NVCC) --list-gpu-arch)),$(patsubst %a,%,$(ARCHS)))
ifneq ($(UNKNOWN),)
$(error $(NVCC) does not know the architectures $(UNKNOWN): name others, as in `make ARCHS="80 90"`, \
	or install a newer toolkit)
endif
# The last also as PTX, from which a driver makes code for later GPUs.
LAST := $(lastword $(ARCHS))
CODE = $(foreach arch,$(ARCHS),-gencode arch=compute_$(arch),code=sm_$(arch)) \
	-gencode arch=compute_$(LAST),code=compute_$(LAST)
endif
COMPILE_CUDA = $(NVCC) $(NVCCFLAGS) $(CODE) --threads $(words $(ARCHS))
)make";

constexpr char kLibraries[] =
    R"make(
INCLUDES = $(foreach home,$(CUDA_HOME) $(NCCL_HOME) $(CUDNN_HOME),-I$(home)/include)
# Where pip has put a library whose header the compiler does not find: $(call home,HEADER,PACKAGE)
PIP = $(shell python3 -c 'import nvidia; print(*nvidia.__path__)' 2>/dev/null)
home = $(if $(call has,$(1)),,$(wildcard $(addsuffix /$(2),$(PIP))))
ifndef CUDNN_HOME
CUDNN_HOME := $(call home,cudnn.h,cudnn)
endif
ifneq ($(COMM),local)
ifndef NCCL_HOME
NCCL_HOME := $(call home,nccl.h,nccl)
endif
endif

LIBRARY_FOLDERS := $(sort $(realpath $(foreach home,$(CUDA_HOME) $(NCCL_HOME) $(CUDNN_HOME),\
	$(home)/lib64 $(home)/lib $(wildcard $(home)/targets/*/lib))))
# $(call library,NAME): pip leaves it without the name that -l looks for.
files = $(wildcard $(LIBRARY_FOLDERS:%=%/lib$(1)))
library = $(or $(if $(call files,$(1).so),,$(patsubst %,-l:%,$(notdir $(firstword $(call files,$(1).so.*))))),-l$(1))
CUDA_LIBS = $(foreach folder,$(LIBRARY_FOLDERS),-L$(folder) -Wl,-rpath,$(folder)) -lcublas -lcublasLt -lcudart
ifneq ($(call has,cudnn.h),)
CUDA_LIBS += $(call library,cudnn)
endif
ifneq ($(COMM),local)
ifeq ($(call has,nccl.h),)
$(error NCCL is not there: install it (libnccl-dev of NVIDIA's packages, or nvidia-nccl by pip), or say where it is: \
	make NCCL_HOME=/path; or do without: `make COMM=local` for ranks that share one GPU)
endif
CUDA_LIBS += $(call library,nccl)
endif
endif

CUDA_OBJECTS = $(foreach folder,$(USED),$(if $(wildcard $(folder)/*.cu),$(CUDA_BUILD)/$(folder).o))
OTHER_OBJECTS = $(CUDA_OBJECTS) $(STAND_IN_OBJECTS)
)make";

constexpr char kRules[] =
    R"make($(MAIN_OBJECT): $(MAIN) $(CUDA_BUILD)/archs
	@mkdir -p $(@D)
	$(COMPILE_CUDA) -I. $(INCLUDES) -MMD -MP -MF $(@:.o=.d) -MT $@ -c -o $@ $<

$(CUDA_OBJECTS): $(CUDA_BUILD)/%.o: $(CUDA_BUILD)/archs $$(wildcard $$*/*.cu)
	@mkdir -p $(@D)
	printf '#include "%s"\n' $(wildcard $*/*.cu) >$(@:.o=.cu)
	$(COMPILE_CUDA) -I. $(INCLUDES) -MMD -MP -MF $(@:.o=.d) -MT $@ -c -o $@ $(@:.o=.cu)

# Written anew when other architectures are asked for: then all is compiled again.
$(CUDA_BUILD)/archs: always
	@mkdir -p $(@D)
	@echo '$(ARCHS)' | cmp -s - $@ || echo '$(ARCHS)' >$@

$(STAND_IN_OBJECTS): $(CUDA_BUILD)/stand_in/%.o: $(STAND_IN)/%.cc
	@mkdir -p $(@D)
	$(CXX) -O2 -std=c++17 -fopenmp -I$(STAND_IN) $(INCLUDES) -MMD -MP -MF $(@:.o=.d) -MT $@ -c -o $@ $<

.PHONY: always
)make";

}  // namespace

std::string CudaMakefile(const ProgramSources& sources) {
  return Makefile(
      {.opening = kOpening, .hot = kHot, .libraries = absl::StrCat(kStandIn, kToolkit, kLibraries), .rules = kRules},
      sources);
}

}  // namespace cleave::codegen
