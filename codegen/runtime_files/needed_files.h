// Which of the runtime's files a program needs. The includes alone decide it:
//
// - A program needs the headers that it includes, and a file the headers that it includes itself. Of runtime/runtime.h,
//   which includes everything, only those lines remain whose header declares a name that the program uses.
// - A source defines what its own header declares, and is needed where that header is. Its own header has the source's
//   name, or is marked as `IWYU pragma: associated`, or else is the first that the source includes.
//
// So a new kernel needs no change here: its functions are in a header that runtime/runtime.h includes.
#ifndef CLEAVE_CODEGEN_RUNTIME_FILES_NEEDED_FILES_H_
#define CLEAVE_CODEGEN_RUNTIME_FILES_NEEDED_FILES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "codegen/runtime_files/runtime_files.h"

namespace cleave::codegen {

struct NeededFile {
  std::string path;
  std::string text;
};

// Those of `files`, which are the runtime for the target, that the program with this text needs, ordered by path as
// `files` are. The starter and the scheduler, separate programs, are included, and what the Makefile calls. So is
// runtime/custom/view.h where the model defines ops: the bodies are in headers that do not belong to the runtime.
std::vector<NeededFile> NeededFiles(absl::string_view program, absl::Span<const RuntimeFile> files);

// The names that a header declares outside of any type, in order.
std::vector<absl::string_view> DeclaredNames(absl::string_view header);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_RUNTIME_FILES_NEEDED_FILES_H_
