// Chooses which forward values wait in memory for the backward pass, and which the backward pass makes again.
//
//   const Recomputation recomputation(distributed, program, memory, cluster, {}, {});
//   if (std::optional<RecomputeChoice> choice = recomputation.Cheapest(Bytes(limit))) Apply(*choice, plan);
//
// Made again are kernels, which compute their ops again, and collectives, which send again (ir/program/fuse). The
// memory and time of a set of them follow from the program that keeps everything: a value that is made again is live up
// to its last forward reader, and from its first backward reader on; its inputs are live, or made again, until then.
// Equal layers are decided together, except that the last layers may differ in one decision.
//
// In a pipeline each stage's program is looked at alone; its values wait once for each micro-batch under way.
//
// Local search: one kernel or collective more, with its inputs, one less, or both. Then branch and bound, to the end
// where they are few. Times are those of StageTimes (search/price/cost/predict.h), memory is live bytes without gaps in
// the arena, so the caller measures the program of a choice.
#ifndef CLEAVE_SEARCH_KNOBS_RECOMPUTE_RECOMPUTE_H_
#define CLEAVE_SEARCH_KNOBS_RECOMPUTE_RECOMPUTE_H_

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/units/units.h"
#include "ir/graph/graph.h"
#include "ir/program/memory/memory_plan.h"
#include "ir/program/program.h"
#include "ir/sharding/plan/plan.h"
#include "ir/transforms/distribute/distribute.h"
#include "search/knobs/recompute/choose.h"
#include "search/knobs/recompute/liveness.h"
#include "search/model/cluster/cluster.h"
#include "search/model/tuning/tuning.h"

namespace cleave::search {

struct RecomputeChoice {
  std::map<ir::OpId, ir::Retention> ops;  // All others are kept.
  Seconds seconds{0};                     // Added to a training step by making them again.
  Bytes peak{0};                          // Live bytes, without gaps in the arena.
  // Where ops stand for several layers: only the first layers, this share of them, make these of `ops` again.
  std::set<ir::OpId> partly = {};
  double share = 1;
};

// Kernels or collectives that are made again together.
struct MadeAgain {
  std::string name;  // Of their last step.
  ir::Retention retention = ir::Retention::kRecompute;
  int64_t ops = 0;     // Computed again, or whose values are sent again.
  Bytes waits{0};      // That do not wait for the backward pass.
  Seconds seconds{0};  // Added to a training step.
};

// Sets the retention of the choice's ops; leaves all else as it is.
void Apply(const RecomputeChoice& choice, ir::Plan& plan);

class Recomputation {
 public:
  // `program` was made from `distributed`, whose plan keeps everything; `memory` is its memory plan. `asked`: the
  // user's retentions, which every choice has. `times`: as for Liveness.
  Recomputation(const ir::Distributed& distributed, const ir::Program& program, const ir::MemoryPlan& memory,
                const Cluster& cluster, const std::map<ir::OpId, ir::Retention>& asked, const SearchTuning& tuning,
                const OpTimes& times = {});
  Recomputation(const Recomputation&) = delete;
  Recomputation& operator=(const Recomputation&) = delete;

  // The fastest choice found whose peak is at most `limit`; nullopt where none is.
  std::optional<RecomputeChoice> Cheapest(Bytes limit);
  // Calls `measure` for every choice that may have at most `limit` live bytes (Liveness::Bounded::kProgram) and be
  // faster than `best` and than all measured so far, until none is left or the work is done. `measure` returns how much
  // longer a step is than without recomputation, nullopt where the program does not fit.
  using Measure = std::function<std::optional<Seconds>(const RecomputeChoice&)>;
  void MeasurePrograms(std::optional<Seconds> best, Bytes limit, const Measure& measure);
  // The most by which recomputation may make a step faster: 0 or less. Loops that make values again may save writing
  // and reading them.
  Seconds MostGain() const { return liveness_.MostGain(); }
  // The choice with the least peak, and of equal ones the fastest.
  RecomputeChoice Smallest();
  // A lower bound of the peak of all choices, much quicker than the calls above.
  Bytes LeastPeak() const { return chooser_.LeastPeak(); }
  // The peak where only what the user asks for is made again.
  Bytes PeakAsAsked() const;
  // What `plan`, which differs from the program's plan only in retentions, makes again, in the order of the program.
  std::vector<MadeAgain> WhatIsMadeAgain(const ir::Plan& plan) const;

 private:
  RecomputeChoice ChoiceOf(const std::vector<bool>& again) const;
  void KeepSome(Bytes limit, const std::vector<bool>& again, RecomputeChoice& choice) const;

  const Liveness liveness_;
  Chooser chooser_;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_RECOMPUTE_RECOMPUTE_H_
