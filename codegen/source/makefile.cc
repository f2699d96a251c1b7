#include "codegen/source/makefile.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace cleave::codegen {
namespace {

constexpr char kMakefile[] =
    R"make(@OPENING@
# Nothing is built from files of two compiles.
ifneq ($(wildcard .cleave_next),)
$(error a compile was stopped while it wrote this folder: compile the model again)
endif

# The files of a folder are compiled as one: most of the time goes into headers that they share. What does not run in
# every step is compiled quickly rather than for speed. No object depends on COMM: all builds share those that they link.
FOLDERS =@FOLDERS@
HOT = @HOT@
COLDFLAGS = -O1

STARTER_FOLDERS = runtime/starter runtime/rendezvous runtime/placement runtime/file runtime/lock runtime/trace runtime/error
ifeq ($(COMM),mpi)
CXX = mpicxx
PROGRAM = program
UNUSED = runtime/comm/gloo runtime/comm/local% runtime/placement runtime/rendezvous runtime/starter
INSTALL = MPI for C++ (Debian: libopenmpi-dev openmpi-bin), or do without: `make COMM=local` for ranks that are threads
else ifeq ($(COMM),gloo)
CXX = g++
PROGRAM = program_gloo
UNUSED = runtime/comm/local% runtime/comm/mpi runtime/starter
COMM_LIBS = -lgloo
INSTALL = a C++ compiler (Debian: g++)
else ifeq ($(COMM),local)
CXX = g++
PROGRAM = program_local
UNUSED = runtime/comm/gloo runtime/comm/mpi runtime/comm/nccl runtime/placement runtime/rendezvous runtime/starter
INSTALL = a C++ compiler (Debian: g++)
else
$(error COMM is `$(COMM)`, and must be mpi, gloo or local)
endif

BUILD = build
USED = $(filter-out $(UNUSED),$(FOLDERS))
FOLDER_OBJECTS = $(foreach folder,$(USED),$(if $(wildcard $(folder)/*.cc),$(BUILD)/$(folder).o))
STARTER_OBJECTS = $(STARTER_FOLDERS:%=$(BUILD)/%.o)

# Whether the compiler finds a header: $(call has,NAME)
HASH := \#
has = $(shell echo '$(HASH)include <$(1)>' | $(CXX) $(INCLUDES) -E -x c++ - >/dev/null 2>&1 && echo there)

ifneq ($(MAKECMDGOALS),clean)
ifeq ($(shell command -v $(firstword $(CXX)) 2>/dev/null),)
$(error the compiler `$(firstword $(CXX))` is not there: install $(INSTALL))
endif
@LIBRARIES@@ZLIB@ifeq ($(COMM),gloo)
ifeq ($(call has,gloo/config.h),)
$(error Gloo is not there: install it (Debian: libgloo-dev))
endif
endif
endif

# As many compilers at once as there are cores, unless told otherwise.
ifeq ($(filter -j%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(shell nproc)
endif

all: $(PROGRAM) starter

$(PROGRAM): $(MAIN_OBJECT) $(OTHER_OBJECTS) $(FOLDER_OBJECTS)
	$(CXX) $(CXXFLAGS) -o $@ $^ $(LDLIBS)

starter: $(STARTER_OBJECTS)
	$(CXX) $(CXXFLAGS) -o $@ $^ -lpthread

# -MMD writes what an object was made from, and -MP lets a file of those go; a file that has come to a folder is among
# its sources.
.SECONDEXPANSION:
@RULES@
$(sort $(FOLDER_OBJECTS) $(STARTER_OBJECTS)): $(BUILD)/%.o: $$(wildcard $$*/*.cc)
	@mkdir -p $(@D)
	printf '#include "%s"\n' $(wildcard $*/*.cc) >$(@:.o=.cc)
	$(CXX) $(CXXFLAGS) $(if $(filter $(HOT),$*),,$(COLDFLAGS)) -I. $(INCLUDES) -MMD -MP -MF $(@:.o=.d) -c -o $@ $(@:.o=.cc)

clean:
	rm -rf build program program_gloo program_local starter

.PHONY: all clean

-include $(MAIN_OBJECT:.o=.d) $(OTHER_OBJECTS:.o=.d) $(FOLDER_OBJECTS:.o=.d) $(STARTER_OBJECTS:.o=.d)
)make";

constexpr char kZlib[] =
    R"make(LDLIBS += -lz
ifeq ($(call has,zlib.h),)
$(error zlib, which reads compressed files, is not there: install it (Debian: zlib1g-dev))
endif
)make";

}  // namespace

std::string Makefile(const MakefileOfTarget& target, const ProgramSources& sources) {
  std::string list;
  for (const std::string& folder : sources.folders) absl::StrAppend(&list, " \\\n\t", folder);
  return absl::StrReplaceAll(kMakefile, {{"@OPENING@", target.opening},
                                         {"@FOLDERS@", list},
                                         {"@HOT@", target.hot},
                                         {"@LIBRARIES@", target.libraries},
                                         {"@ZLIB@", sources.read_compressed_files ? kZlib : ""},
                                         {"@RULES@", target.rules}});
}

}  // namespace cleave::codegen
