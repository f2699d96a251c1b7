// What distinguishes the programs of one target from those of another. Everything else of their text is the same:
// functions, buffers, places, collectives, calls of the runtime.
#ifndef CLEAVE_CODEGEN_SOURCE_TARGET_H_
#define CLEAVE_CODEGEN_SOURCE_TARGET_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/units/units.h"
#include "codegen/cpp/cpp.h"
#include "ir/graph/training/training.h"
#include "ir/program/fuse/fuse.h"

namespace cleave::codegen {

struct Emission;

struct Target {
  absl::string_view name;         // For messages: "the CPU".
  absl::string_view source_file;  // "program.cc"

  // What connects ranks that are started one by one, as a value of COMM in the Makefile.
  absl::string_view meeting_comm;

  // What a program includes besides runtime/runtime.h.
  absl::Span<const absl::string_view> headers = {};

  // Tensors lie in the memory of a device, which does the work that the program asks for later, in order. So numbers
  // that change from step to step lie there too, results are fetched before they are read, and a step whose work is the
  // same each time can be recorded.
  bool is_device = false;

  // The memory that the libraries of the device reserve for themselves, once.
  Bytes library_workspace = Bytes(0);

  // The most elements of a head for which it computes attention as one op.
  int64_t largest_attention_head = 0;

  // What the target computes by one call of the runtime; everything else is written op by op. How images lie depends on
  // the precision, too (FusedBy).
  ir::FuseOptions fuse = {};

  // Writes a fused loop, with its comment and its lines for the watch.
  void (*emit_loop)(Emission& emission, const ir::FusedLoop& loop, cpp::Code& code);

  // The same for loops that run at the same time, where `fuse` has such batches.
  void (*emit_batch)(Emission& emission, const ir::LoopBatch& batch, cpp::Code& code) = nullptr;
};

// What the target computes as one piece. The matrix units of GPUs convolve images whose channels lie last.
inline ir::FuseOptions FusedBy(const Target& target, ir::Precision precision) {
  ir::FuseOptions fuse = target.fuse;
  if (target.is_device && precision != ir::Precision::kF32) fuse.images = ir::ImageOrder::kChannelsLast;
  return fuse;
}

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_TARGET_H_
