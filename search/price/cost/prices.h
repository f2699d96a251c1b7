// The price that a search minimizes. By default `bytes`: weighted bytes of redistributions, and nothing for ops.
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

#include "base/strong_id/strong_id.h"
#include "ir/graph/graph.h"
#include "ir/program/redistribute/redistribute.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/strategy/strategy.h"
#include "ir/tensor/types/types.h"
#include "ir/transforms/distribute/distribute.h"
#include "search/model/facts/facts.h"

namespace cleave::search {

// The price of redistributing a tensor from layout `source`: its share of the messages in which it may be sent.
using RedistributionPrice =
    std::function<double(const ir::TensorType& type, const ir::Layout& source, const ir::Redistribution& redistribution,
                         const SentTogether& together)>;

struct Prices {
  RedistributionPrice redistribution = nullptr;  // Null: its weighted bytes.
  ir::CollectivePrice collective = nullptr;      // By which ways are chosen, as in the program. Null: weighted bytes.
  // Plans redistributions on one mesh by `collective`; may be shared by searches. Null: each has its own.
  std::shared_ptr<ir::RedistributionPlanner> planner = nullptr;
  // The price of an op under a strategy without redistributions: of its computation, or of the memory that it keeps.
  // Null: 0. Ops of one rule and one `local_kind` have equal prices, those of kind 0 none.
  std::function<double(ir::OpId op, const ir::Strategy& strategy)> local = nullptr;
  std::function<int(ir::OpId op)> local_kind = nullptr;
  // What the kernels of distributed forms take once: of those ops of `forms`, a graph of few ops, for which `counted`
  // is not 0. Null: 0. `local` is 0 for an op under a strategy that cuts an inner factor.
  std::function<double(const ir::Distributed& forms, const IdVector<ir::OpId, uint8_t>& counted)> kernels = nullptr;
  bool is_seconds = false;
  // Products may leave mesh axes idle even where one of their factors has elements for them.
  bool may_leave_idle = false;
  // About the price of sending every value once; 0: the bytes of all values.
  double scale = 0;
};

// Prices::may_leave_idle under the price `time`: `asked`, or by default whether a micro-batch has fewer samples than
// there are ranks, so that data parallelism would leave some idle as well.
bool MayLeaveIdle(const ir::Graph& training_graph, int64_t ranks, int64_t micro_batches, std::optional<bool> asked);

// "29,491 weighted bytes", "1.25 ms"
std::string CostText(const Prices& prices, double cost);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_PRICE_COST_PRICES_H_
