// Finds the fastest program within a memory limit by trying all plans, numbers of micro-batches, ZeRO levels and sets
// of recomputed values; the steps of a program that does not fit are moved. Searches under a limit are compared with
// it.
//
//   const AllPrograms all({.graph = graph, .cluster = cluster, .micro_batches = {1, 2, 4}, .zero = {0, 1, 2, 3}});
//   std::optional<Seconds> least = all.FastestWithin(limit, known);
//
// Plans are those of TryAllPlans. Times and peaks are those that a compile reports, of the program that it would write.
#ifndef CLEAVE_SEARCH_ORACLE_PROGRAMS_H_
#define CLEAVE_SEARCH_ORACLE_PROGRAMS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units/units.h"
#include "ir/graph/graph.h"
#include "ir/sharding/plan/plan.h"
#include "search/model/cluster/cluster.h"
#include "search/price/cost/execution.h"

namespace cleave::search {

struct ProgramsTask {
  const ir::Graph& graph;  // The training graph.
  const Cluster& cluster;
  Execution execution = {};
  std::vector<int64_t> micro_batches = {1};
  std::vector<int> zero = {0};
};

// ZeRO level, micro-batches, what is made again, strategies.
std::string ProgramText(const ir::Graph& graph, const ir::Plan& plan);

// How many plans there are: the product of the numbers of strategies, or a number above `most`.
int64_t PlanCount(const ProgramsTask& task, int64_t most);

class AllPrograms {
 public:
  // Makes the programs of all plans that keep everything.
  explicit AllPrograms(const ProgramsTask& task);

  struct Point {
    Bytes peak;
    Seconds step;
    ir::Plan plan;
  };
  // The fastest program within the limit, if its step is less than `known`.
  std::optional<Point> FastestWithin(Bytes limit, Seconds known) const;
  // The least peak of a program that keeps everything.
  Bytes LeastKeptPeak() const;
  int64_t size() const { return static_cast<int64_t>(kept_.size()); }

 private:
  struct Kept {
    ir::Plan plan;
    Bytes peak;
    Seconds step;
    Seconds least;  // A lower bound of the step with any set made again.
  };
  void AddAllOf(ir::Plan plan);
  std::optional<Point> FastestOf(const Kept& kept, Bytes limit, Seconds known) const;

  const ProgramsTask task_;
  std::vector<Kept> kept_;  // By ascending `least`.
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_ORACLE_PROGRAMS_H_
