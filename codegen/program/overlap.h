// Which collectives and host copies of a program run beside other work: where each is started, and where the program
// waits for it.
//
//   Backward: a, b, c      Update: reduce(a), use(a)
//   ->  a, start reduce(a), b, c, finish reduce(a)      use(a)
//
// Below, `collective` stands for both. A collective starts as soon as nothing before it touches what it writes, or
// writes what it reads. Only stages of its own phase, which run as often as it does, count, and for a collective in the
// update also those of the backward pass. It is finished before the first stage that touches its memory, and in the
// phase in which it was started. The resulting order is the same on all ranks, because it depends only on places in the
// arena, which are the same on all ranks.
//
// What only the host reads, when the passes of the step are done, is awaited then: a collective of the forward pass or
// of the metrics whose memory nothing else touches until the update (the loss) does not hold up what follows it.
//
// Collectives run one after another. So those of the forward and the backward pass start in the order of the program:
// one for which only the update waits is not put in front of one that the next kernel reads.
//
// For n stages and c collectives this takes c n comparisons of their memory.
#ifndef CLEAVE_CODEGEN_PROGRAM_OVERLAP_H_
#define CLEAVE_CODEGEN_PROGRAM_OVERLAP_H_

#include <cstdint>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/program/program.h"

namespace cleave::codegen {

// Bytes [begin, end) of the arena, or of the host's memory behind it.
struct MemoryRange {
  int64_t begin = 0;
  int64_t end = 0;

  bool Meets(const MemoryRange& other) const { return begin < other.end && other.begin < end; }
};

struct StageMemory {
  ir::Phase phase = ir::Phase::kForward;
  ir::Repeat repeat = ir::Repeat::kEach;
  std::optional<ir::StagePass> pass = {};  // In a pipeline.
  std::vector<MemoryRange> reads = {};
  std::vector<MemoryRange> writes = {};
  bool can_overlap = false;  // A collective or a host copy that can run while the program goes on.
  bool is_collective = false;
  // False where the host only reads memory: nothing is gained if a collective runs beside it.
  bool is_work = true;
};

// An action of the program. `stage` is an index into the stages.
struct StageAction {
  // kStartResult: started, and finished when the passes of the step are done.
  enum class What { kRun, kStart, kFinish, kStartResult };
  What what = What::kRun;
  int stage = 0;
  // Of the function in which it stands.
  ir::Phase phase = ir::Phase::kForward;
  ir::Repeat repeat = ir::Repeat::kEach;
  std::optional<ir::StagePass> pass = {};

  bool operator==(const StageAction&) const = default;
};

// `stages` in the program's order. Those that cannot overlap run in that order.
std::vector<StageAction> OverlapCollectives(const std::vector<StageMemory>& stages);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_PROGRAM_OVERLAP_H_
