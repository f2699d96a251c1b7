// What a failed build says of the C++ bodies of the ops that a model defines.
#ifndef CLEAVE_TOOLS_DRIVER_BODY_ERROR_H_
#define CLEAVE_TOOLS_DRIVER_BODY_ERROR_H_

#include <map>
#include <optional>
#include <string>

#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"
#include "frontend/frontend.h"

namespace cleave::tools {

struct FailedBuild {
  std::string log;                                     // What `make` has printed, in the C locale.
  std::string program;                                 // The text of program.cc, or program.cu.
  std::map<std::string, frontend::CustomFile> bodies;  // Module::custom_files.
};

// E0522 at the line of a body that the build's first error is about, in the file that the user has written, which is
// added to `sources`; nullopt if it is about none: then the generated program itself is wrong. It is about a body if
// the compiler names a line of one, beside the error or in its notes, if it stands in a call of a body's function, or
// if the linker does not find a function that a body names.
std::optional<Diagnostic> BodyError(const FailedBuild& build, SourceSet& sources);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_BODY_ERROR_H_
