#include "codegen/source/makefile.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace cleave::codegen {
namespace {

constexpr char kMakefile[] =
    R"make(@OPENING@
# Nothing is built from files of two compiles.
ifneq ($(wildcard .cleave_next),)
$(error a compile was stopped while it wrote this folder: compile the model again)
endif

# The files of a folder are compiled as one unit, FOLDER.cc or FOLDER.cu, with those of other folders that are needed
# whenever it is (WITH_FOLDER): most of the time goes into headers that they share. What computes little in a step
# (COLD), or next to nothing (IDLE), is compiled quickly rather than for speed. No unit depends on COMM: all builds share
# those that they link.
FOLDERS =@FOLDERS@
WITH_runtime/chat = runtime/chat_template
WITH_runtime/comm = runtime/comm/host runtime/device/cpu
WITH_runtime/data = runtime/digest runtime/kernels runtime/npy runtime/progress runtime/tokenizer
WITH_runtime/device/cuda = runtime/comm/cuda
WITH_runtime/einsum/cpu = runtime/einsum
WITH_runtime/image = runtime/image/jpeg runtime/image/png
WITH_runtime/generate = runtime/sampling
WITH_runtime/random = runtime/math runtime/math/onednn
WITH_runtime/rendezvous = runtime/placement
WITH_runtime/tokenizer/bpe = runtime/tokenizer/pcre2
WITH_runtime/trace = runtime/error runtime/file runtime/json runtime/lock runtime/mesh runtime/utf8
WITH_runtime/train = runtime/checkpoint runtime/event_file runtime/launch runtime/safetensors
HOT = @HOT@
IDLE = runtime/chat runtime/comm/mpi runtime/rendezvous runtime/scheduler runtime/starter runtime/trace runtime/train
COLDFLAGS = -O1
IDLEFLAGS = -Og

STARTER_FOLDERS = runtime/starter runtime/trace
SCHEDULER_FOLDERS = runtime/rendezvous runtime/scheduler runtime/trace
@ALSO@CXX = g++
MPICXX = mpicxx
LINK = $(CXX)
PROGRAMS = $(TRAINERS) starter
ifeq ($(COMM),mpi)
LINK = $(MPICXX)
PROGRAM = program
UNUSED = runtime/comm/gloo runtime/comm/local% runtime/comm/meeting% runtime/placement runtime/rendezvous \
	runtime/scheduler runtime/starter
else ifeq ($(COMM),@MEET@)
PROGRAM = program_@MEET@
PROGRAMS += scheduler
UNUSED = runtime/comm/local% runtime/comm/mpi runtime/scheduler runtime/starter
@MEET_LIBS@else ifeq ($(COMM),local)
PROGRAM = program_local
UNUSED = runtime/comm/gloo runtime/comm/meeting% runtime/comm/mpi runtime/comm/nccl runtime/placement \
	runtime/rendezvous runtime/scheduler runtime/starter
else
$(error COMM is `$(COMM)`, and must be mpi, @MEET@ or local)
endif

MAINS = $(MAIN) $(ALSO:%=ranks_%/$(MAIN))
TRAINERS = $(PROGRAM) $(ALSO:%=ranks_%/$(PROGRAM))
BUILD = build
USED = $(filter-out $(UNUSED),$(FOLDERS))

# Whether the compiler finds a header: $(call has,NAME,FLAGS)
HASH := \#
has = $(shell echo '$(HASH)include <$(1)>' | $(CXX) $(2) $(INCLUDES) $(CUDA_INCLUDES) -E -x c++ - >/dev/null 2>&1 && echo there)

ifneq ($(MAKECMDGOALS),clean)
ifeq ($(shell command -v $(firstword $(CXX)) 2>/dev/null),)
$(error the compiler `$(firstword $(CXX))` is not there: install a C++ compiler (Debian: g++))
endif
ifeq ($(shell command -v $(firstword $(LINK)) 2>/dev/null),)
$(error the compiler `$(firstword $(LINK))` is not there: install MPI for C++ (Debian: libopenmpi-dev openmpi-bin), \
	or do without: `make COMM=local` for ranks that are threads)
endif
@LIBRARIES@@ZLIB@@PCRE2@@IMAGES@endif

# As many compilers at once as there are cores, unless told otherwise.
ifeq ($(filter -j%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(shell nproc)
endif

# Of a unit: its sources, how it is compiled, and how its compiler reads headers. Only Gloo throws exceptions; the
# bodies of a model's own ops may, and libraries of CUDA.
THROWING = runtime/comm/gloo.cc $(CUDA_THROWING) $(if $(wildcard custom),$(MAINS))
folders = $(basename $(1)) $(WITH_$(basename $(1)))
sources = $(if $(filter $(MAINS),$(1)),$(1),$(filter-out %_test.cc,$(wildcard $(addsuffix /*$(suffix $(1)),$(folders)))))
FLAGS_runtime/comm/mpi = -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX
level = $(if $(filter $(MAINS) $(HOT:%=%.cc) %.cu,$(1)),,$(if $(filter $(IDLE:%=%.cc),$(1)),$(IDLEFLAGS),$(COLDFLAGS)))
flags = $(level) $(FLAGS_$(basename $(1)))
compiler = $(if $(filter runtime/comm/mpi.cc,$(1)),$(MPICXX),$(CXX))
host = $(compiler) $(CXXFLAGS) $(if $(filter $(THROWING),$(1)),,-fno-exceptions)
includes = -I. $(INCLUDES) $(if $(filter %.cu runtime/math/cudnn.cc $(OTHER_FOLDERS:%=%.cc),$(1)),$(CUDA_INCLUDES))
compile = $(strip $(if $(filter %.cu,$(1)),$(COMPILE_CUDA),$(host)) $(flags) $(includes))
preprocess = $(strip $(host) $(flags) $(includes) -E -dD -x c++ -)
quoted = '$(subst ','\'',$(1))'
described = $(call quoted,$(1)) $(call quoted,$(compile)) $(call quoted,$(preprocess)) $(call quoted,$(sources))

joined = $(foreach folder,$(1),$(WITH_$(folder)))
units = $(foreach folder,$(filter-out $(joined),$(1)),\
	$(addprefix $(folder),$(sort $(suffix $(wildcard $(folder)/*.cc $(folder)/*.cu)))))
SHARED_UNITS := $(call units,$(USED) $(OTHER_FOLDERS))
$(PROGRAM)_UNITS := $(MAIN) $(SHARED_UNITS)
$(foreach ranks,$(ALSO),$(eval ranks_$(ranks)/$(PROGRAM)_UNITS := ranks_$(ranks)/$(MAIN) $(SHARED_UNITS)))
starter_UNITS := $(call units,$(STARTER_FOLDERS))
scheduler_UNITS := $(call units,$(SCHEDULER_FOLDERS))
UNITS := $(MAINS) $(SHARED_UNITS)
UNITS += $(filter-out $(UNITS),$(sort $(foreach program,$(PROGRAMS),$($(program)_UNITS))))

# An object is named UNIT.KEY.o after all that it is made from, so one that is there is right. Those of the runtime are
# kept for all folders of this user; where they cannot be, or CLEAVE_CACHE is `off`, each folder has its own.
objects.sh = sh runtime/objects/objects.sh
ifneq ($(MAKECMDGOALS),clean)
NAMES := $(shell $(objects.sh) names $(foreach unit,$(UNITS),$(call described,$(unit))))
SOURCES := $(shell $(objects.sh) sources)
CACHE := $(shell $(objects.sh) cache)
ifdef CACHE
KEPT := $(patsubst $(CACHE)/%.o,%,$(wildcard $(NAMES:%=$(CACHE)/%.o)))
IGNORED := $(shell $(objects.sh) used $(CACHE) $(KEPT:%=$(CACHE)/%.o))
endif
ifneq ($(words $(NAMES)),$(words $(UNITS)))
$(error the objects have no names: runtime/objects/objects.sh has failed)
endif
endif
names = $(filter $($(1)_UNITS:%=%.%),$(NAMES))
objects = $(names:%=$(BUILD)/%.o)

# What a program is made from is in $(BUILD)/PROGRAM.made_from. It is linked again unless that is the same.
link = $(if $(filter $(TRAINERS),$(1)),$(LINK),$(CXX)) $(CXXFLAGS)
libraries = $(if $(filter $(TRAINERS),$(1)),$(LDLIBS),-lpthread)
made_from = $(SOURCES) $(names) $(link) $(libraries)
is_made = $(if $(subst |$(strip $(made_from))|,,|$(strip $(file <$(BUILD)/$(1).made_from))|),,$(1))
all: $(PROGRAMS)

$(foreach program,$(TRAINERS) starter scheduler,$(eval $(program): | $(call objects,$(program))))

# What is being written has another name until it is complete.
PART := $(shell mktemp -u XXXXXXXX).part

$(PROGRAMS):
	@mkdir -p $(dir $@ $(BUILD)/$@) && rm -f $(BUILD)/$@.made_from
	$(call link,$@) -o $@.$(PART) $(call objects,$@) $(call libraries,$@)
	@mv $@.$(PART) $@ && printf '%s\n' $(call quoted,$(strip $(call made_from,$@))) >$(BUILD)/$@.$(PART) && mv $(BUILD)/$@.$(PART) $(BUILD)/$@.made_from

unit = $(basename $*)
source = $(if $(filter $(MAINS),$(unit)),$(unit),$(BUILD)/$(unit))
define compiled
	$(if $(filter $(MAINS),$(unit)),,@printf '#include "%s"\n' $(call sources,$(unit)) >$(source).$(PART) && mv $(source).$(PART) $(source))
	$(call compile,$(unit)) -c -o $@.$(PART) $(source)
	@[ "$$($(objects.sh) names $(call described,$(unit)))" = '$*' ] || { echo '$(unit) has changed while it was compiled: start make again' >&2; rm -f $@.$(PART); exit 1; }
	@mv $@.$(PART) $@
	$(if $(CACHE),$(if $(filter $(MAINS),$(unit)),,@$(objects.sh) keep $@ $*.o $(CACHE)))
endef

# A kept object gets a second name here, under which it stays when the first is removed. Where it is gone already it is
# made again.
again = $(MAKE) --no-print-directory KEPT=
$(BUILD)/%.o:
	@mkdir -p $(@D)
	$(if $(filter $*,$(KEPT)),@$(objects.sh) take $(CACHE)/$*.o $@ || $(again) $@,$(compiled))
	@for other in $(BUILD)/$(unit).*.o; do [ $$other = $@ ] || rm -f $$other; done

clean:
	rm -rf build starter scheduler $(foreach folder,./ $(ALSO:%=ranks_%/),$(addprefix $(folder),program program_@MEET@ program_local))

.PHONY: all clean $(filter-out $(foreach program,$(PROGRAMS),$(call is_made,$(program))),$(PROGRAMS))
)make";

constexpr char kZlib[] =
    R"make(LDLIBS += -lz
ifeq ($(call has,zlib.h),)
$(error zlib, which reads compressed files, is not there: install it (Debian: zlib1g-dev))
endif
)make";

constexpr char kPcre2[] =
    R"make(LDLIBS += -lpcre2-8
ifeq ($(call has,pcre2.h,-DPCRE2_CODE_UNIT_WIDTH=8),)
$(error PCRE2, which cuts texts into words for a tokenizer, is not there: install it (Debian: libpcre2-dev))
endif
)make";

constexpr char kImages[] =
    R"make(LDLIBS += -ljpeg -lpng
ifeq ($(call has,png.h),)
$(error libpng, which reads images, is not there: install it (Debian: libpng-dev))
endif
ifeq ($(call has,jpeglib.h),)
$(error libjpeg, which reads images, is not there: install it (Debian: libjpeg-dev))
endif
)make";

}  // namespace

std::string Makefile(const MakefileOfTarget& target, const ProgramSources& sources) {
  std::string list, also;
  for (const std::string& folder : sources.folders) absl::StrAppend(&list, " \\\n\t", folder);
  if (!sources.also.empty()) {
    also = absl::StrCat("# The same model for fewer ranks: ranks_N/$(MAIN), which are built with it.\nALSO = ",
                        absl::StrJoin(sources.also, " "), "\n");
  }
  return absl::StrReplaceAll(kMakefile, {{"@OPENING@", target.opening},
                                         {"@FOLDERS@", list},
                                         {"@ALSO@", also},
                                         {"@HOT@", target.hot},
                                         {"@LIBRARIES@", target.libraries},
                                         {"@MEET@", target.meeting_comm},
                                         {"@MEET_LIBS@", target.meeting_libraries},
                                         {"@ZLIB@", sources.read_compressed_files ? kZlib : ""},
                                         {"@PCRE2@", sources.read_tokenizers ? kPcre2 : ""},
                                         {"@IMAGES@", sources.read_images ? kImages : ""}});
}

}  // namespace cleave::codegen
