// Where a model is cut into the stages of a pipeline: the least time of a step.
//
// The first of m micro-batches goes through all stages, and each other one leaves the slowest stage a time of that one
// later: sum_s t_s + (m - 1) max_s t_s (Zheng et al. 2022, equation 2). A stage takes the seconds t_s of its ops. What
// is sent is under way beside its passes: the sum has it, and the maximum has a share of it, because where few
// micro-batches are under way a stage waits for the way there and back. What a stage does once in a step, the update,
// takes u_s besides, while the stages in front of it still do their last backward passes, of b_r: so max_s (u_s -
// sum_(r < s) b_r) is added.
//
// As there, a dynamic programme over (stages, cuts) finds the least sum under bounds of both maxima, for parts of equal
// size: with c places for cuts and p stages O(p c^2). Branch and bound looks for the bounds. The result is within a
// ten-thousandth of the best for the places that are given.
#ifndef CLEAVE_SEARCH_SOLVE_STAGES_STAGES_H_
#define CLEAVE_SEARCH_SOLVE_STAGES_STAGES_H_

#include <cstdint>
#include <vector>

namespace cleave::search {

// Between ops i - 1 and i of a list.
struct CutPlace {
  int64_t op = 0;
  double seconds = 0;  // To send there what the ops behind it read of those before it, and the gradients of that back.
};

// Of the first op of a stage: the first and the last one that it may be.
struct CutRange {
  int64_t first = 0;
  int64_t last = 0;

  bool Has(int64_t op) const { return first <= op && op <= last; }
};

struct CutTask {
  std::vector<double> seconds;        // Of each op of the list, for a micro-batch,
  std::vector<double> backward = {};  // of these of its backward pass,
  std::vector<double> once = {};      // and once in a step; both empty: nothing.
  std::vector<CutPlace> places;       // Ascending.
  std::vector<CutRange> ranges = {};  // Of each stage but the first; empty: all may be anywhere.
  int stages = 1;
  int64_t micro_batches = 1;
  double waiting = 1;  // The share of what is sent at its ends for which a stage waits, from 0 to 1.
};

// The first op of each stage but the first. Empty where there are no such places.
std::vector<int64_t> BestCuts(const CutTask& task);

// The same for a step of very many micro-batches, in which only the slowest stage counts.
std::vector<int64_t> CutsOfLeastSlowest(const CutTask& task);

// The time of a step.
double StepOfCuts(const CutTask& task, const std::vector<int64_t>& cuts);

// The places at which no less is sent at the place before and at the one behind: a model is cut between its blocks, not
// inside of them; and all of a range in which there is none of these. `crossing` has a place for each op but the first.
std::vector<CutPlace> NarrowPlaces(const std::vector<CutPlace>& crossing, const std::vector<CutRange>& ranges = {});

// An op of the list, and the stage that it must be in.
struct PinnedOp {
  int64_t op = 0;
  int64_t stage = 0;
};

// What `pinned`, ascending by op, leaves open of a list of `ops` ops: CutTask::ranges. A range is empty, its last op
// before its first, where a later op must be in an earlier stage.
std::vector<CutRange> RangesOf(const std::vector<PinnedOp>& pinned, int64_t ops, int stages);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_STAGES_STAGES_H_
