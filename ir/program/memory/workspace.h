// What the runtime needs beside the arena while it runs a program: buffers for messages, copies in a library's layout,
// intermediate results of kernels.
//
// The formulas mirror the runtime's own allocations (runtime/device/workspace.h counts them): packing in
// runtime/comm/mpi, reordering in runtime/math/onednn, the rest in runtime/kernels and runtime/einsum. Blocked layouts
// are those that oneDNN uses with AVX-512; with fewer lanes it pads less. What threads beside the rank's own take is
// not counted, here as there.
#ifndef CLEAVE_IR_PROGRAM_MEMORY_WORKSPACE_H_
#define CLEAVE_IR_PROGRAM_MEMORY_WORKSPACE_H_

#include "base/units/units.h"
#include "ir/program/fuse/fuse.h"
#include "ir/program/program.h"

namespace cleave::ir {

// The most at once, on the rank with the largest pieces.
Bytes WorkspaceOf(const Program& program, const Fusion& fusion, const FuseOptions& fuse);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_MEMORY_WORKSPACE_H_
