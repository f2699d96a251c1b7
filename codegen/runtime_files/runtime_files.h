// The sources of the runtime as text inside of the compiler, which therefore needs no files to write a program that
// builds.
#ifndef CLEAVE_CODEGEN_RUNTIME_FILES_RUNTIME_FILES_H_
#define CLEAVE_CODEGEN_RUNTIME_FILES_RUNTIME_FILES_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace cleave::codegen {

struct RuntimeFile {
  absl::string_view path;  // "runtime/comm/comm.h"
  absl::string_view text;
};

// Every header and source that a generated program needs, ordered by path.
absl::Span<const RuntimeFile> RuntimeFiles();

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_RUNTIME_FILES_RUNTIME_FILES_H_
