// Buffers planned at compile time: which value lies where in one arena, by liveness.
//
// A stage runs as one piece: a step, or a fused loop. Values that no stage needs at the same time may share memory.
// Offsets are the same on all ranks: a value takes as much room as its largest local piece.
#ifndef CLEAVE_IR_PROGRAM_SCHEDULE_BUFFERS_H_
#define CLEAVE_IR_PROGRAM_SCHEDULE_BUFFERS_H_

#include <vector>

#include "base/strong_id/strong_id.h"
#include "base/units/units.h"
#include "ir/program/program.h"

namespace cleave::ir {

struct Stage {
  std::vector<ValueId> reads;
  std::vector<ValueId> writes;
};

// A value's needs.
struct BufferRequest {
  ValueId value;
  Bytes size;
  bool always_live = false;  // Parameters, state, inputs: never shared.
  bool live_from_start = false;
};

// Values that must lie one after another in this order, with no gaps except for alignment: the parts of a merged
// collective.
using Bucket = std::vector<ValueId>;

// What equal layers have in one place, one value for each layer, in their order; all of one size. Their offsets are
// `a + layer * b`, or take turns between two. Or the first value of a bucket for each layer, where all of these buckets
// have the same sizes.
using Family = std::vector<ValueId>;

struct BufferPlan {
  struct Buffer {
    ValueId value;
    int64_t offset = 0;  // Bytes from the arena's start; a multiple of kAlignment.
    Bytes size;
  };
  static constexpr int64_t kAlignment = 64;
  // `size` bytes with the gap up to the next place where a buffer may begin.
  static constexpr int64_t Aligned(int64_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

  std::vector<Buffer> buffers;  // Ordered by value.
  Bytes total;

  const Buffer* Find(ValueId value) const;
};

// Stages [first, last] during which a value needs its memory; empty when first > last.
struct LiveRange {
  int64_t first = 0;
  int64_t last = -1;

  bool Meets(const LiveRange& other) const { return first <= other.last && other.first <= last; }
  bool Has(int64_t stage) const { return first <= stage && stage <= last; }
};

// By value up to the last one that is requested. A value that no stage writes exists before the first stage. A value
// that no stage names never exists, unless it is always live.
IdVector<ValueId, LiveRange> LiveRanges(const std::vector<Stage>& stages, const std::vector<BufferRequest>& requests);

// First fit by decreasing size over live ranges. `requests` lists exactly the values that need memory. A value is in at
// most one bucket and one family.
BufferPlan PlanBuffers(const std::vector<Stage>& stages, const std::vector<BufferRequest>& requests,
                       const std::vector<Bucket>& buckets, const std::vector<Family>& families = {});

// The families cut where the order in which their values begin and end to live changes. In one family a value that
// lives for longer than those of the other layers may hold the places of all.
std::vector<Family> CutFamilies(const std::vector<Stage>& stages, const std::vector<BufferRequest>& requests,
                                const std::vector<Bucket>& buckets, const std::vector<Family>& families);

// The most bytes that any stage needs at once: no plan can need less. The first such stage is that of the peak.
struct StageDemand {
  Bytes bytes;
  int64_t stage = 0;
};
StageDemand PeakDemand(const std::vector<Stage>& stages, const std::vector<BufferRequest>& requests);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_SCHEDULE_BUFFERS_H_
