// The price that a search makes least. By default this is the price `bytes`: weighted bytes of redistributions, and
// nothing for ops.
//
//   const AssignmentOptions options{.prices = TimePrices(facts, cluster, mesh)};
//   Assignment assignment(facts, mesh, options, demands);
//
// Everything that prices plans (Assignment, Network, PlanCost) takes its numbers from here, so that they agree.
#ifndef CLEAVE_SEARCH_PRICE_COST_PRICES_H_
#define CLEAVE_SEARCH_PRICE_COST_PRICES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "ir/graph/graph.h"
#include "ir/program/redistribute/redistribute.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/strategy/strategy.h"
#include "ir/tensor/types/types.h"
#include "search/model/facts/facts.h"

namespace cleave::search {

// The price of a redistribution of a tensor that lies as `source`: its share of the messages that it may be part of.
using RedistributionPrice =
    std::function<double(const ir::TensorType& type, const ir::Layout& source, const ir::Redistribution& redistribution,
                         const SentTogether& together)>;

struct Prices {
  RedistributionPrice redistribution = nullptr;  // Null: its weighted bytes.
  // Plans the redistributions, for all searches on one mesh that share it; null: each has its own.
  std::shared_ptr<ir::RedistributionPlanner> planner = nullptr;
  // The price of an op by itself under a strategy: of its computation, or of the memory that it holds. Null: nothing.
  // Ops of one rule and one `local_kind` have equal prices; those of kind 0 cost nothing.
  std::function<double(ir::OpId op, const ir::Strategy& strategy)> local = nullptr;
  std::function<int(ir::OpId op)> local_kind = nullptr;
  bool is_seconds = false;
  // Products may leave mesh axes idle even where one of their factors has elements for them.
  bool may_leave_idle = false;
  // About the price of moving every value once; 0: the bytes of all values.
  double scale = 0;
};

// Whether products may leave mesh axes idle, which only matters where the price is `time`: as asked, or where a
// micro-batch has fewer samples than there are ranks, so that data parallelism would leave some idle as well.
bool MayLeaveIdle(const ir::Graph& training_graph, int64_t ranks, int64_t micro_batches, std::optional<bool> asked);

// "29,491 weighted bytes", "1.25 ms"
std::string CostText(const Prices& prices, double cost);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_PRICE_COST_PRICES_H_
