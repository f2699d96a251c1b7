// Plans of GPTs as people write them for Megatron-LM (Narayanan et al. 2021), to compare what the search finds with.
#ifndef CLEAVE_SEARCH_TESTING_HAND_PLANS_H_
#define CLEAVE_SEARCH_TESTING_HAND_PLANS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units/units.h"
#include "ir/sharding/stages/stages.h"
#include "search/model/cluster/cluster.h"
#include "search/price/cost/execution.h"
#include "search/testing/models.h"

namespace cleave::search::testing {

// Of t x p x d devices: t cut columns and rows of the products of a block in turn, p stages have equally many blocks, d
// have parts of the batch, which is taken in micro-batches.
struct HandPlan {
  int64_t tensor = 1;
  int64_t stages = 1;
  int64_t data = 1;
  int64_t micro_batches = 1;
  int zero = 0;                 // ZeRO level, among the d replicas.
  bool remakes_blocks = false;  // The backward pass makes each block again from its input.
  bool orders_layers = true;    // Steps are ordered for overlap (docs/cost.md); else as in the graph.
};

std::string HandPlanText(const HandPlan& plan);  // "t 2, p 4, d 1, K 8", "t 1, p 1, d 384, K 1, ZeRO 3"

// All on so many devices whose t divides the heads, whose p divides the layers, and whose d and K divide the batch
// together.
std::vector<HandPlan> HandPlansOf(const GptShape& shape, int64_t devices);

// What is predicted of a plan; nullopt where the devices of the cluster cannot be divided so.
struct HandPrediction {
  Seconds step{0};
  Bytes peak{0};
};
// `graph`: Gpt(shape), in any precision.
std::optional<HandPrediction> PredictByHand(const GptShape& shape, const ir::Graph& graph, const HandPlan& plan,
                                            ir::PipelineSchedule schedule, const Cluster& cluster,
                                            const Execution& execution);

// The price `time`, which a search minimizes, of the plan of one stage; nullopt as above.
std::optional<Seconds> PriceByHand(const ir::Graph& graph, const HandPlan& plan, const Cluster& cluster,
                                   const Execution& execution);

}  // namespace cleave::search::testing

#endif  // CLEAVE_SEARCH_TESTING_HAND_PLANS_H_
