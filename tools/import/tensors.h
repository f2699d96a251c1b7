// Whether the weights of a folder are those of the model that its config.json describes.
#ifndef CLEAVE_TOOLS_IMPORT_TENSORS_H_
#define CLEAVE_TOOLS_IMPORT_TENSORS_H_

#include <string>
#include <vector>

#include "base/diagnostic/diagnostic.h"
#include "ir/graph/graph.h"
#include "tools/weights/transfer.h"

namespace cleave::tools {

// Each parameter of `graph` must be what `mapping` makes of tensors, in its shape, and each tensor must become a
// parameter. Mistakes are E0617. REQUIRES: `transfer` is an import by `mapping`.
void CheckTensors(const ir::Graph& graph, const Mapping& mapping, const Transfer& transfer, Diagnostics& diagnostics);

// One E0617 for all, where there are some: a number of layers that is wrong makes hundreds of them. `what` ends in a
// space, and their number follows.
void AddTensorErrors(const std::string& what, const std::vector<std::string>& tensors, const std::string& help,
                     Diagnostics& diagnostics);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_IMPORT_TENSORS_H_
