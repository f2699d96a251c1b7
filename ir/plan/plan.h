// A plan: who computes which slice, and why. The output of search, the input of partition; plan.json is its text form.
#ifndef CLEAVE_IR_PLAN_PLAN_H_
#define CLEAVE_IR_PLAN_PLAN_H_

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic/diagnostic.h"
#include "ir/graph/graph.h"
#include "ir/layout/layout.h"
#include "ir/mesh/mesh.h"
#include "ir/strategy/strategy.h"

namespace cleave {

enum class DecidedBy { kSearch, kPin, kPropagation, kForwardOp, kFallback, kManual };

absl::string_view DecidedByName(DecidedBy decided_by);  // "forward_op"
std::optional<DecidedBy> ParseDecidedBy(absl::string_view name);

// Where the cost of a choice comes from, in the price of the search. Backward ops count with the forward op from which they
// inherit. What has the gradient weight is told apart from the rest: the cost is linear in it.
struct CostParts {
  double inside = 0;             // The op and its backward ops by themselves, and what their distributed forms send.
  double inputs = 0;             // Of the values that it reads, in whatever layouts these are needed.
  double output = 0;             // Of its own value.
  double backward = 0;           // Of what its backward ops read and make.
  double gradients = 0;          // Of parameter gradients and the update: weighted with the gradient weight.
  double elsewhere = 0;          // What the choice adds at other ops; 0 for the chosen one.
  int collectives = 0;           // That do all this.

  double sum() const { return inside + inputs + output + backward + gradients + elsewhere; }

  bool operator==(const CostParts&) const = default;
};

// One way an op could have been cut.
struct Choice {
  Strategy strategy;
  double cost = 0;               // In the price of the search, this op and its redistributions, at the moment of the decision.
  bool chosen = false;
  std::optional<CostParts> parts = std::nullopt;  // Sum to `cost`.

  bool operator==(const Choice&) const = default;
};

struct OpPlan {
  Strategy strategy;             // For sources: the storage layout of the value.
  // The layout that consumers see, where it differs from the strategy's output (a pin's `out`): redistributed right after the op.
  std::optional<Layout> output;
  // Other layouts of this value are made again in each phase that reads them: a parameter of which a rank keeps a part only.
  bool gather_again = false;
  DecidedBy decided_by = DecidedBy::kFallback;
  std::string reason;            // One sentence.
  std::vector<Choice> choices;   // The chosen one and the runner-up at least, where there was a choice.

  bool operator==(const OpPlan&) const = default;
};

// How the plan was found.
struct SearchSummary {
  std::string algorithm = "manual";        // "sapp", "data_parallel", "replicate", …
  std::string objective = "speed";
  std::string price = "bytes";
  int zero = 0;                             // 1 to 3: what replicas share is divided (search/zero).
  double seconds = 0;                       // Wall time of the search. Left out of comparisons.
  double cost = 0;
  std::optional<double> lower_bound;

  bool operator==(const SearchSummary&) const = default;
};

struct Plan {
  std::string cluster = "cpu";
  Mesh mesh;
  IdVector<OpId, OpPlan> ops;               // One per op of the training graph.
  double gradient_weight = 0.1;
  SearchSummary search;

  bool operator==(const Plan&) const = default;
};

// Sizes agree, every strategy is valid for its op's rule, every `output` is a layout of its value. Empty when sound.
std::vector<std::string> VerifyPlan(const Graph& graph, const Plan& plan);

}  // namespace cleave

#endif  // CLEAVE_IR_PLAN_PLAN_H_
