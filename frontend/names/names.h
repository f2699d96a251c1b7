// Which definition each name in the text of a file means.
//
//   const TextNames names = NamesIn(file, sources.file(file.file).text(), functions);
//   names.definitions[*names.uses[0].definition].name.text
//
// A walk of the syntax: nothing is expanded, so functions that nothing calls have their names resolved, too, and so do
// branches that are not taken. Not known are the records of fields, which a value has (frontend/sightings).
#ifndef CLEAVE_FRONTEND_NAMES_NAMES_H_
#define CLEAVE_FRONTEND_NAMES_NAMES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/source/source.h"
#include "dsl/syntax/syntax.h"
#include "frontend/functions/functions.h"

namespace cleave::frontend {

enum class NameKind {
  kModel,
  kFunction,
  kRecord,
  kOp,
  kArgument,  // Of a model, function or op.
  kField,
  kSymbol,  // `k` and `..n` in the types of a signature.
  kInput,
  kParameter,  // `param`
  kState,
  kLet,
  kLoopVariable,
};

struct TextDefinition {
  dsl::syntax::Identifier name;
  NameKind kind = NameKind::kLet;
  Span visible;             // Where it can be used: its block, or all of the text.
  std::string detail = {};  // "x: f32[..n, k]", "fn dense(x: f32[..n, k], units: int) -> f32[..n, units]".
};

struct TextUse {
  Span span;
  std::string text;
  std::optional<size_t> definition = {};  // In `definitions`; nullopt for what another text defines.
  Callee callee = {};                     // Of the name of a function, record or op, of whatever text.
  std::optional<Span> elsewhere = {};     // Where another text defines it: a function, or an argument of one.
  bool is_argument_name = false;          // `units` in `dense(x, units = 3)`.
};

// `.width`, or a name in `with (width = 3)`.
struct TextField {
  dsl::syntax::Identifier name;
};

struct TextNames {
  std::vector<TextDefinition> definitions;  // In the order of the walk.
  std::vector<TextUse> uses;                // Only of names that mean something.
  std::vector<TextField> fields;
};

// `text`: that of the file. `functions`: those that the file sees, as its model or in its own functions.
TextNames NamesIn(const dsl::syntax::File& file, absl::string_view text, const FunctionTable& functions);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_NAMES_NAMES_H_
