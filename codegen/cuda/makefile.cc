#include "codegen/cuda/makefile.h"

#include "absl/strings/str_cat.h"
#include "codegen/cuda/cuda.h"

namespace cleave::codegen {
namespace {

constexpr char kOpening[] =
    R"make(# `make` builds ./program, whose ranks mpirun starts, each with a GPU of its own. `make COMM=nccl` builds
# ./program_nccl, whose ranks are started one by one (./run.sh --launch rank-table or dynamic).
# `make COMM=local` builds ./program_local, whose ranks are threads of one process that share one GPU. All can lie here
# side by side, with ./starter for run.sh.
#
# Needs the CUDA toolkit and a C++17 compiler, and for more than one process NCCL; mpirun also needs MPI. cuDNN is used where
# it is there, for attention with cudnn-frontend (pip install nvidia-cudnn-cu13 nvidia-cudnn-frontend).
#
#   make ARCHS="80 90"      for these architectures; else for the GPUs of this machine, without one for 80, 90 and 100
#   make CUDA_HOME=/path    where the toolkit is; NCCL_HOME, CUDNN_HOME, CUDNN_FRONTEND_HOME: where those are, if not
#                           with it
COMM = mpi
CXXFLAGS = -O2 -std=c++17 -fopenmp
NVCCFLAGS = -O3 -std=c++17 -lineinfo -Xcompiler -fopenmp
LDLIBS = $(COMM_LIBS) $(CUDA_LIBS) -lpthread
MAIN = program.cu
)make";

constexpr char kHot[] = "runtime/comm/local runtime/image runtime/random";

// With the tests' stand-in for the toolkit, a C++ compiler builds the same sources for the CPU.
constexpr char kStandIn[] =
    R"make(ifdef STAND_IN
CUDA_INCLUDES = -I$(STAND_IN)/include
COMPILE_CUDA = $(CXX) $(CXXFLAGS) -x c++
OTHER_FOLDERS = $(STAND_IN)
FLAGS_$(STAND_IN) = -O2
else
)make";

constexpr char kToolkit[] =
    R"make(ifndef NVCC
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
CUDA_INCLUDES = $(foreach home,$(CUDA_HOME) $(CUDNN_HOME),-I$(home)/include)
FLAGS_runtime/comm/nccl = $(NCCL_HOME:%=-I%/include)
FLAGS_runtime/math/cudnn = $(CUDNN_FRONTEND_HOME:%=-I%/include)
# Where pip has put a library whose header the compiler does not find: $(call home,HEADER,FOLDER)
PIP = $(shell python3 -c 'import sys; print(*sys.path[1:])' 2>/dev/null)
home = $(if $(call has,$(1)),,$(patsubst %/include/$(1),%,$(firstword $(wildcard $(PIP:%=%/$(2)/include/$(1))))))
ifndef CUDNN_HOME
CUDNN_HOME := $(call home,cudnn.h,nvidia/cudnn)
endif
ifneq ($(COMM),local)
ifndef NCCL_HOME
NCCL_HOME := $(call home,nccl.h,nvidia/nccl)
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
# Attention and convolutions by cuDNN need cudnn-frontend, which compiles with exceptions only, and names functions of NVRTC. Its large
# headers need not be read to know that they are there.
ifneq ($(wildcard runtime/math/cudnn/sdpa.cc),)
ifndef CUDNN_FRONTEND_HOME
CUDNN_FRONTEND_HOME := $(call home,cudnn_frontend_version.h,.)
endif
ifneq ($(and $(call has,cudnn.h),$(call has,cudnn_frontend_version.h,$(FLAGS_runtime/math/cudnn))),)
CUDA_THROWING = runtime/math/cudnn.cc
CUDA_LIBS += $(call library,nvrtc)
else
$(info cuDNN or cudnn-frontend is not there: convolutions, and attention in bf16 and f16, will be computed by kernels \
	of this program, which take longer. Install them (pip install nvidia-cudnn-cu13 nvidia-cudnn-frontend), or say where they are: \
	make CUDNN_HOME=/path CUDNN_FRONTEND_HOME=/path)
endif
endif
ifneq ($(COMM),local)
ifeq ($(call has,nccl.h,$(FLAGS_runtime/comm/nccl)),)
$(error NCCL is not there: install it (libnccl-dev of NVIDIA's packages, or nvidia-nccl by pip), or say where it is: \
	make NCCL_HOME=/path; or do without: `make COMM=local` for ranks that share one GPU)
endif
CUDA_LIBS += $(call library,nccl)
endif
endif
)make";

}  // namespace

std::string CudaMakefile(const ProgramSources& sources) {
  return Makefile({.opening = kOpening,
                   .hot = kHot,
                   .libraries = absl::StrCat(kStandIn, kToolkit, kLibraries),
                   .meeting_comm = std::string(CudaTarget().meeting_comm)},
                  sources);
}

}  // namespace cleave::codegen
