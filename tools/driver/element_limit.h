// Whether sources can be generated: a rank of a program counts elements as MPI does, in 32 bits, and a program must be
// proven with sizes that can be simulated. A plan that is only shown may have larger pieces.
#ifndef CLEAVE_TOOLS_DRIVER_ELEMENT_LIMIT_H_
#define CLEAVE_TOOLS_DRIVER_ELEMENT_LIMIT_H_

#include <optional>

#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"
#include "tools/driver/compiled_model.h"

namespace cleave::tools {

// The text of the line of the model that causes `op`; nullopt if there is none.
std::optional<Span> LineOf(const ir::Op& op, FileId file, const SourceSet& sources);

// Adds E0213 for a program that is too large to be proven because of a dimension of `op`.
void AddTooLarge(const ir::LargeDimension& large, const ir::Op& op, FileId file, const SourceSet& sources,
                 Diagnostics& diagnostics);

// Returns false after E0314, which names the tensor, or the message, with the most elements on a rank. `file` is that
// of the model.
bool CheckElementLimit(const ir::LoweredProgram& split, FileId file, const SourceSet& sources,
                       Diagnostics& diagnostics);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_ELEMENT_LIMIT_H_
