// What memory and time the program of a plan takes when the backward pass makes more and more values again.
//
//   Frontier frontier = FrontierOf({.graph = training_graph, .plan = plan, .cluster = cluster, …});
//   frontier.points.front()   // Keeps everything that the model does not ask to make again.
//   frontier.points.back()    // Takes the least memory.
#ifndef CLEAVE_SEARCH_KNOBS_MEMORY_FRONTIER_H_
#define CLEAVE_SEARCH_KNOBS_MEMORY_FRONTIER_H_

#include <map>
#include <vector>

#include "base/units/units.h"
#include "ir/graph/graph.h"
#include "ir/sharding/plan/plan.h"
#include "search/knobs/recompute/recompute.h"
#include "search/model/cluster/cluster.h"
#include "search/model/tuning/tuning.h"
#include "search/price/cost/execution.h"

namespace cleave::search {

struct FrontierTask {
  const ir::Graph& graph;  // The training graph.
  const ir::Plan& plan;    // VerifyPlan finds no error, and its program can be made.
  const Cluster& cluster;
  const Execution& execution;
  std::map<ir::OpId, ir::Retention> asked = {};  // What the user decides.
  SearchTuning tuning = {};
};

struct FrontierPoint {
  Bytes peak{0};
  Seconds step{0};
  std::vector<MadeAgain> again;
  bool is_chosen = false;  // It is the task's plan.
};

struct Frontier {
  std::vector<FrontierPoint> points;  // From most memory to least; more memory takes less time.
  bool is_as_asked = false;           // The task's plan makes again what the user asks for, and no more.
};

// All points cut tensors and take micro-batches as the plan does. Besides the plan's own point there are at most
// eleven: the cheapest choices (search/knobs/recompute) within limits that are equally far from one another, where they
// are not worse than another point in both memory and time. Each point's program is made and measured.
Frontier FrontierOf(const FrontierTask& task);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_MEMORY_FRONTIER_H_
