// Reads `#[shard(…)]`, `#[layout(…)]`, `#[replicate]`, `#[priority(…)]`, `#[stage(…)]`, `#[recompute]`, `#[keep]` and
// `#[offload]`, alone or as the right side of a `pin`: only their form is checked here. Whether the demand fits its op
// is checked where the op is known (frontend/evaluate/pins); whether the mesh can meet it is checked by the search.
#ifndef CLEAVE_FRONTEND_ATTRIBUTES_ATTRIBUTES_H_
#define CLEAVE_FRONTEND_ATTRIBUTES_ATTRIBUTES_H_

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dsl/syntax/syntax.h"
#include "frontend/report/report.h"
#include "ir/sharding/pins/pins.h"

namespace cleave::frontend {

struct PriorityDemand {
  int64_t value = 0;

  bool operator==(const PriorityDemand&) const = default;
};

struct StageDemand {
  int64_t value = 0;

  bool operator==(const StageDemand&) const = default;
};

struct RetentionDemand {
  ir::Retention retention = ir::Retention::kKeep;

  bool operator==(const RetentionDemand&) const = default;
};

using Demand =
    std::variant<ir::ShardPin, ir::LayoutPin, ir::ReplicatePin, PriorityDemand, StageDemand, RetentionDemand>;

// Whether attributes of this name are about one tensor or op; the others apply to all ops of a call.
bool IsAboutOne(const std::string& attribute);

// The value of a static int; nullopt after a mistake, which has been reported. `what` names it in messages.
using IntEvaluator =
    std::function<std::optional<int64_t>(const dsl::syntax::Expression& expression, const std::string& what)>;

// Nullopt after a mistake, which has been reported. A demand that this version does not support is a mistake too.
std::optional<Demand> ReadAttribute(const dsl::syntax::Attribute& attribute, const IntEvaluator& evaluate,
                                    Reporter& reporter);

// Takes the attribute called `name` away; nullopt where there is none. Reports one that is given twice, of which the
// first counts.
std::optional<dsl::syntax::Attribute> TakeAttribute(const std::string& name,
                                                    std::vector<dsl::syntax::Attribute>& attributes,
                                                    Reporter& reporter);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_ATTRIBUTES_ATTRIBUTES_H_
