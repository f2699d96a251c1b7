#include "ir/program/memory/checkpoint.h"

#include <algorithm>
#include <vector>

#include "ir/program/fuse/fuse.h"

namespace cleave::ir {
namespace {

// Of a piece, one rank for each so many bytes writes.
constexpr int64_t kBytesPerWriter = 64 * 1024;

// How many of `ranks` ranks hold the same piece of the value. In a manual model each has its own.
int64_t ReplicasOf(const Program& program, ValueId value, int64_t ranks) {
  if (program.is_manual) return 1;
  for (const AxisList& axes : program.value(value).layout.dimensions) ranks /= program.mesh.Size(axes);
  return ranks;
}

// Of the rank with the most rows of the largest piece.
Bytes BytesWritten(const Program& program, ValueId value, int64_t ranks) {
  const Shape piece = LargestLocalShape(program, value);
  const int64_t bytes = ElementCount(piece) * ElementSize(DType::kF32).value();  // Whatever it is stored as.
  if (bytes == 0) return Bytes(0);
  const int64_t rows = piece.empty() ? 1 : piece[0];
  const int64_t most_writers = std::min(ReplicasOf(program, value, ranks), rows);
  const int64_t writers = std::clamp(bytes / kBytesPerWriter, int64_t{1}, most_writers);
  return Bytes((rows + writers - 1) / writers * (bytes / rows));
}

}  // namespace

Bytes BytesWritten(const Program& program) {
  const int64_t ranks = program.mesh.rank_count() / MicroBatches(program) / PartCount(program);
  Bytes bytes;
  for (const Step& step : program.steps) {
    const Compute* compute = ComputeOf(step);
    if (compute == nullptr || (compute->kind != OpKind::kParameter && compute->kind != OpKind::kState)) continue;
    if (compute->kind == OpKind::kParameter && compute->attributes.IsSet(attribute::kInParams)) continue;
    bytes += BytesWritten(program, compute->output, ranks);
  }
  return bytes;
}

}  // namespace cleave::ir
