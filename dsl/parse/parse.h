// From the text of a `.model` file to its syntax tree.
//
//   std::optional<FileId> file = LoadSource("mnist.model", sources, diagnostics);
//   if (!file) return ExitCode::kModelWrong;
//   std::optional<syntax::File> tree = Parse(*file, sources, diagnostics);
//
// What is checked here: that the text is UTF-8 of a sane size, that it follows the grammar (dsl/grammar), that numbers
// fit, and that nothing nests so deeply that a later recursive walk could overflow the stack. An empty file parses to a
// File without items: that no model is defined is for the frontend to say.
//
// All mistakes are reported at once, in the order of the text. Thread-safe for different SourceSets and Diagnostics.
#ifndef CLEAVE_DSL_PARSE_PARSE_H_
#define CLEAVE_DSL_PARSE_PARSE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"
#include "dsl/syntax/syntax.h"

namespace cleave::dsl {

inline constexpr int64_t kMaxSourceBytes = int64_t{16} << 20;

// Reads the file at `path` into `sources`. A path that is no readable, regular UTF-8 text file gives a diagnostic that
// says what was found there (a directory, a pipe, a compiled program, …) and nullopt.
std::optional<FileId> LoadSource(absl::string_view path, SourceSet& sources, Diagnostics& diagnostics);

// LoadSource is ReadSource, which gives the bytes of the file, and AddSource, which checks and adds a text, such as
// that of a pipe. `path` is what is shown for it.
std::optional<std::string> ReadSource(const std::string& path, Diagnostics& diagnostics);
std::optional<FileId> AddSource(const std::string& path, std::string text, SourceSet& sources,
                                Diagnostics& diagnostics);

// Parses one file. Returns nullopt exactly when it has added at least one error to `diagnostics`.
std::optional<syntax::File> Parse(FileId file, const SourceSet& sources, Diagnostics& diagnostics);

// The same for editors: a file with mistakes gives a tree without the items, statements, settings and fields in which
// they are. A body whose closing brace is missing ends where its text does.
syntax::File ParseWhatFits(FileId file, const SourceSet& sources, Diagnostics& diagnostics);

}  // namespace cleave::dsl

#endif  // CLEAVE_DSL_PARSE_PARSE_H_
