// Several small collectives over one group become one call.
//
// Only all_reduces, reduce_scatters and all_gathers of one kind, group, reduction and element type are merged, and only
// as many as BucketSizes allows: a reduction that waits for all others overlaps with nothing. At most kMostPackedBytes
// of a bucket are packed, and so many it has at most where whole tensors wait for it that are else not kept: gradients
// that the backward pass scatters, parameters that are gathered for a pass.
// A single tensor may be larger. Tensors of repeated layers (x.0.weight, x.1.weight, …) that are too many for one
// bucket are merged by layers, as many of them as fit, so that equal layers communicate alike. What may be merged, and
// where the merged step stands:
//
//   gradients       Reductions that the backward pass or its end asks for and only the update reads. Buckets fill
//                   in the order in which the backward pass makes the gradients. A full bucket is reduced as soon as
//                   its last member exists; the rest waits for the start of the update, unless the plan asks for it
//                   in the backward pass. Whole gradients that are scattered only for the update are kept until then.
//   update          All others that the update asks for: new parameters that are gathered, norms. They run when the
//                   last member exists.
//   parameters      all_gathers of parameters and of their copies outside of the update. They run where the first
//   member stands, so that
//                   the tensors of a layer, or of several small ones, are gathered together.
//   everything else of one phase
//                   They run where the last member stands, if nothing before that reads one of them. A small one
//                   may run earlier, if its value exists before the first of the others is read.
//
// The loss and the metrics are reduced on their own, because they are read at another time, and so is what an op puts
// together (concat), as chunks of a product: each reduction runs beside what makes the next one.
#ifndef CLEAVE_IR_PROGRAM_PARTITION_MERGE_H_
#define CLEAVE_IR_PROGRAM_PARTITION_MERGE_H_

#include "base/units/units.h"
#include "ir/program/packing.h"
#include "ir/program/program.h"

namespace cleave::ir {

inline constexpr Bytes kBucketBytes = Bytes(25 * 1024 * 1024);
// Of tensors that a reduce_scatter or all_gather packs, which are copied, and of whole ones that only it needs.
inline constexpr Bytes kMostPackedBytes = Bytes(256 * 1024 * 1024);

// How much buckets hold, as CollectiveBytes counts it; 0: no limit.
struct BucketSizes {
  Bytes others = kBucketBytes;
  // Reductions of gradients, and what is gathered of parameters once in a step. At least `others`.
  Bytes reductions = kBucketBytes;
  // What is gathered of parameters for each pass, by which a rank has whole ones until they are read. At least
  // `others`.
  Bytes gathers = kBucketBytes;

  static BucketSizes All(Bytes bytes) { return {bytes, bytes, bytes}; }
  bool operator==(const BucketSizes&) const = default;
};

struct MergeOptions {
  BucketSizes sizes = {};
  PieceCounts piece_counts = PieceCounts::kAny;
  // Which part of the layers of a larger model the program has, whose layers it merges as that model's program does.
  double layers = 1;
};

// Takes a valid program with one transfer per collective and leaves a valid one that computes the same. REQUIRES:
// 0 < layers <= 1.
void MergeCollectives(Program& program, const MergeOptions& options);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_PARTITION_MERGE_H_
