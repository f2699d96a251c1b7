// Where a model is cut into the stages of a pipeline: the least time of the slowest stage.
//
// A step of m micro-batches in p stages takes about (m + p - 1) times as long as a micro-batch in the slowest stage, so
// that is what is made small. A stage takes the seconds of its ops, and those of what it sends and receives at its
// ends.
//
// The dynamic programme over (stages, cuts) of Alpa (Zheng et al. 2022, section 5.2), for parts of equal size: with c
// places for cuts and p stages O(p c^2). It is exact for the places that it is given.
#ifndef CLEAVE_SEARCH_STAGES_STAGES_H_
#define CLEAVE_SEARCH_STAGES_STAGES_H_

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
  std::vector<double> seconds;        // Of each op of the list.
  std::vector<CutPlace> places;       // Ascending.
  std::vector<CutRange> ranges = {};  // Of each stage but the first; empty: all may be anywhere.
  int stages = 1;
};

// The first op of each stage but the first; of equally good ones those with the earliest last cut. Empty where there
// are no such places.
std::vector<int64_t> BestCuts(const CutTask& task);

// The time of the slowest stage.
double SlowestStage(const CutTask& task, const std::vector<int64_t>& cuts);

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

#endif  // CLEAVE_SEARCH_STAGES_STAGES_H_
