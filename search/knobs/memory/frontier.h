// Memory against time for one plan: from keeping all values to making again all that saves memory.
//
//   Frontier frontier = FrontierOf({.graph = training_graph, .plan = plan, .cluster = cluster, …});
//   frontier.points.front()   // Keeps everything but what the user asks to make again.
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
  std::map<ir::OpId, ir::Retention> asked = {};  // The user's retention pins.
  SearchTuning tuning = {};
};

struct FrontierPoint {
  Bytes peak{0};
  Seconds step{0};
  std::vector<MadeAgain> again;
  bool is_chosen = false;  // It is the task's plan.
};

struct Frontier {
  std::vector<FrontierPoint> points;  // By descending peak.
  bool is_as_asked = false;           // The task's plan makes nothing again but what the user asks for.
};

// The task's plan, and the Pareto-optimal ones of at most eleven others that differ from it only in what they make
// again: the cheapest choices (search/knobs/recompute) within limits at equal distances. Each point's program is made
// and measured.
Frontier FrontierOf(const FrontierTask& task);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_MEMORY_FRONTIER_H_
