// `--mode generate`: from a language model to the program of one step of generation.
#ifndef CLEAVE_TOOLS_DRIVER_GENERATION_H_
#define CLEAVE_TOOLS_DRIVER_GENERATION_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"
#include "dsl/syntax/syntax.h"
#include "frontend/frontend.h"
#include "tools/driver/options.h"
#include "tools/driver/report.h"

namespace cleave::tools {

using Overrides = std::vector<std::pair<std::string, std::string>>;  // Of arguments of the model: name and value.

// How many sequences are continued at once: the value, 1 unless it is overridden, of the argument that is the first
// dimension of the model's inputs, as `batch` in `input tokens: i32[batch, seq];`. The model itself gets 1 for it,
// because its step is made of that of one sequence.
int64_t TakeSlots(const dsl::syntax::File& file, Overrides& overrides);

// Replaces the graph of the module by one step of generation (ir/transforms/decode), which looks at the logits. They
// are the value that `--output` names, or else what the loss compares with the labels. Pins, regions, micro-batches and
// what is to be recomputed belong to the training and are left out, as is its search where the command line names none.
// Returns false, and reports E0610, E0612 or E0613, where the model cannot generate; a mistake of ours is `report.bug`.
// `file`: that of the model.
bool MakeGeneration(const CompileOptions& options, int64_t slots, FileId file, frontend::Module& module,
                    Report& report);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_GENERATION_H_
