// Ways into a layout with windows.
#ifndef CLEAVE_IR_PROGRAM_REDISTRIBUTE_WINDOWS_H_
#define CLEAVE_IR_PROGRAM_REDISTRIBUTE_WINDOWS_H_

#include <optional>
#include <vector>

#include "ir/program/redistribute/redistribute.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/tensor/types/types.h"

namespace cleave::ir {

// The last step into a layout with windows: from `before`, which has none.
struct WindowEntry {
  Layout before;
  Move move;
};

// First the same layout without windows, then those where some of the windowed dimensions are whole.
std::vector<WindowEntry> EntriesInto(const Mesh& mesh, const Shape& shape, const Layout& target);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_REDISTRIBUTE_WINDOWS_H_
