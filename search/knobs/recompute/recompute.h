// Which values of the forward pass wait in memory for the backward pass, and which the backward pass makes again.
//
//   const Recomputation recomputation(distributed, program, memory, cluster, {}, {});
//   if (std::optional<RecomputeChoice> choice = recomputation.Cheapest(Bytes(limit))) Apply(*choice, plan);
//
// The stages of the forward pass (ir/program/fuse) are what can be made again: kernels, which compute their ops again,
// and collectives, which send again. What memory and time a set of them takes follows from the program that keeps
// everything: a value that is made again is live up to its last reader in the forward pass, and from its first reader
// in the backward pass on; what it is made from is live, or made again, until then. Equal layers are decided together,
// except that of one decision the last layers may differ from the others.
//
// The program of a part of a pipeline's ranks is looked at alone: what waits there does so once for each micro-batch
// under way.
//
// Sets are improved step by step: one stage more, with what it is made from, one less, or both. Then branch and bound
// looks for a better set as far as the work reaches, which is to the end where the stages are few. The times are those
// of the stages alone, as in search/price/cost/predict.h, and the memory is without gaps in the arena, so the caller
// measures the program of a choice.
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
  std::map<ir::OpId, ir::Retention> ops;  // Of the training graph; all others are kept.
  Seconds seconds{0};                     // What making their values again takes in a training step.
  Bytes peak{0};                          // Of the step, without gaps in the arena.
  // Where ops stand for several: the first layers only make these ones of `ops` again, this share of them.
  std::set<ir::OpId> partly = {};
  double share = 1;
};

// Stages that are made again together.
struct MadeAgain {
  std::string name;  // Of the last step of them.
  ir::Retention retention = ir::Retention::kRecompute;
  int64_t ops = 0;     // That are computed again, or whose values are sent again.
  Bytes waits{0};      // Of the values that would wait for the backward pass.
  Seconds seconds{0};  // That making them again takes in a training step.
};

// Keeps all other decisions of the plan.
void Apply(const RecomputeChoice& choice, ir::Plan& plan);

class Recomputation {
 public:
  // `program` was made from `distributed`, whose plan keeps everything for which `asked` does not say otherwise;
  // `memory` is its plan. `asked`: what the user decides, by op of the training graph. `times`: as for Liveness; all
  // memory and times are then those of the larger graph.
  Recomputation(const ir::Distributed& distributed, const ir::Program& program, const ir::MemoryPlan& memory,
                const Cluster& cluster, const std::map<ir::OpId, ir::Retention>& asked, const SearchTuning& tuning,
                const OpTimes& times = {});
  Recomputation(const Recomputation&) = delete;
  Recomputation& operator=(const Recomputation&) = delete;

  // The choice with the least time whose peak is at most `limit`; nullopt where none was found.
  std::optional<RecomputeChoice> Cheapest(Bytes limit);
  // Measures programs of choices until none is left that may take less time than `best`, and than the fastest one
  // measured, and of which at most `limit` is live (Liveness::Bounded::kProgram), or until the work is done. `measure`
  // gives the time that the program takes for what is made again, nullopt where it takes too much memory.
  using Measure = std::function<std::optional<Seconds>(const RecomputeChoice&)>;
  void MeasurePrograms(std::optional<Seconds> best, Bytes limit, const Measure& measure);
  // What programs may take less than the one that keeps everything: 0 or less. Loops that make values again may save
  // that these are written and read.
  Seconds MostGain() const { return liveness_.MostGain(); }
  // The choice with the least peak, and of equal ones that with the least time.
  RecomputeChoice Smallest();
  // No choice has a lower peak. Takes a small part of the time of the others.
  Bytes LeastPeak() const { return chooser_.LeastPeak(); }
  // The peak where only what the user asks for is made again.
  Bytes PeakAsAsked() const;
  // What `plan`, which differs from the program's plan only in what it keeps, makes again, in the order of the program.
  std::vector<MadeAgain> WhatIsMadeAgain(const ir::Plan& plan) const;

 private:
  RecomputeChoice ChoiceOf(const std::vector<bool>& again) const;
  void KeepSome(Bytes limit, const std::vector<bool>& again, RecomputeChoice& choice) const;

  const Liveness liveness_;
  Chooser chooser_;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_RECOMPUTE_RECOMPUTE_H_
