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

struct CutTask {
  std::vector<double> seconds;   // Of each op of the list.
  std::vector<CutPlace> places;  // Ascending.
  int stages = 1;
};

// The first op of each stage but the first; of equally good ones those with the earliest last cut. Empty where there
// are fewer places than cuts.
std::vector<int64_t> BestCuts(const CutTask& task);

// The time of the slowest stage.
double SlowestStage(const CutTask& task, const std::vector<int64_t>& cuts);

// The places at which no less is sent at the place before and at the one behind: a model is cut between its blocks, not
// inside of them. `crossing` has a place for each op but the first.
std::vector<CutPlace> NarrowPlaces(const std::vector<CutPlace>& crossing);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_STAGES_STAGES_H_
