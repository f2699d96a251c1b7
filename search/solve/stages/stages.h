// Cuts a list of ops into the stages of a pipeline, for the least time of a step.
//
// With t_s the seconds of the ops of stage s, a step with m micro-batches takes sum_s t_s, in which the first one goes
// through all stages, plus (m - 1) max_s t_s, since the others follow at the pace of the slowest stage (Zheng et al.
// 2022, equation 2). The time to send across the cuts is added to the sum, and a share of it (CutTask::waiting) to each
// t_s in the maximum: with few micro-batches under way a stage waits for it. The update of stage s takes u_s, while
// earlier stages still do their last backward passes, of b_r: so max_s (u_s - sum_(r < s) b_r), at least 0, is added.
//
// As there, a dynamic programme over (stages, cut points) finds the least sum under bounds of both maxima, in O(p c^2)
// for p stages and c cut points. Branch and bound looks for the bounds. The result is within 1e-4 of the best for the
// given cut points.
#ifndef CLEAVE_SEARCH_SOLVE_STAGES_STAGES_H_
#define CLEAVE_SEARCH_SOLVE_STAGES_STAGES_H_

#include <cstdint>
#include <vector>

namespace cleave::search {

// A cut point, in front of op `op` of the list.
struct CutPlace {
  int64_t op = 0;
  double seconds = 0;  // To send what later ops read of earlier ones, and its gradients back.
};

// The ops `first` to `last`, one of which is the first op of a stage.
struct CutRange {
  int64_t first = 0;
  int64_t last = 0;

  bool Has(int64_t op) const { return first <= op && op <= last; }
};

struct CutTask {
  std::vector<double> seconds;        // By op, for a micro-batch: all passes,
  std::vector<double> backward = {};  // of these the backward pass;
  std::vector<double> once = {};      // and once in a step. Both empty: 0.
  std::vector<CutPlace> places;       // Ascending.
  std::vector<CutRange> ranges = {};  // By stage but the first; empty: no constraints.
  int stages = 1;
  int64_t micro_batches = 1;
  double waiting = 1;  // The share of sending at its ends for which a stage waits, 0 to 1.
};

// The first op of each stage but the first. Empty if there are too few cut points within the ranges.
std::vector<int64_t> BestCuts(const CutTask& task);

// The cuts whose slowest stage is the fastest, and of these those with the least sum.
std::vector<int64_t> CutsOfLeastSlowest(const CutTask& task);

// The time of a step by the formula above, in seconds.
double StepOfCuts(const CutTask& task, const std::vector<int64_t>& cuts);

// The local minima of `crossing`, which has a cut point for each op but the first: a model is cut between its blocks,
// not inside of them. In a range without a local minimum all cut points.
std::vector<CutPlace> NarrowPlaces(const std::vector<CutPlace>& crossing, const std::vector<CutRange>& ranges = {});

// An op of the list, and the stage that it must be in.
struct PinnedOp {
  int64_t op = 0;
  int64_t stage = 0;
};

// CutTask::ranges for a list of `ops` ops that keep `pinned`, ascending by op. A range is empty (last < first) where a
// later op is pinned to an earlier stage.
std::vector<CutRange> RangesOf(const std::vector<PinnedOp>& pinned, int64_t ops, int stages);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_STAGES_STAGES_H_
