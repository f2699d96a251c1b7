// The programs of a pipeline's stages. Those that are the same but for numbers and strings are written once, with a
// struct of what differs:
//
//   // Stages 1 to 6 of 8.
//   namespace stages_1_to_6 {
//   struct OfStage {
//     const int64_t n;
//     const int64_t norm1_layer_norm = 524288 - n * 4096;
//     …
//   };
//   struct XLayer { …  float* const norm1_layer_norm = arena.At<float>(of_stage.norm1_layer_norm + i * 64);  … };
#ifndef CLEAVE_CODEGEN_PROGRAM_STAGE_TEXTS_H_
#define CLEAVE_CODEGEN_PROGRAM_STAGE_TEXTS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "codegen/cpp/cpp.h"
#include "codegen/source/emission.h"
#include "ir/program/program.h"

namespace cleave::codegen {

// What stands in the namespace of a part.
using WritePart = std::function<absl::StatusOr<cpp::Code>(size_t part, const Sharing& sharing)>;

struct StageText {
  std::vector<size_t> parts;  // That run it, ascending.
  cpp::Code code;
  bool differs = false;  // It is given `n`, which of these parts runs it.
};

// The texts that all parts together need, ordered by their first parts; unless they share, one for each. An internal
// error where a shared text does not say for a part what it says alone.
absl::StatusOr<std::vector<StageText>> StageTexts(size_t parts, bool share, const WritePart& write);

// The namespace of the parts that run a text: "stage_1", "stages_1_and_3", "stages_1_to_6".
std::string NamespaceOf(absl::Span<const ir::Program* const> parts);

// Opens it, with its comment. Returns its content.
cpp::Code& OpenNamespaceOf(absl::Span<const ir::Program* const> parts, cpp::Code& code);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_PROGRAM_STAGE_TEXTS_H_
