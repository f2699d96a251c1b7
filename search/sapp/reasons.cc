#include "search/sapp/reasons.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "search/sapp/choices.h"

namespace cleave {
namespace {

std::string BytesText(double bytes) { return absl::StrCat(FormatCount(std::llround(bytes)), " weighted bytes"); }

class Reasons {
 public:
  Reasons(Assignment& assignment, const Bundles& bundles, const std::map<OpId, Demand>& demands,
          const ReasonOptions& options)
      : assignment_(assignment), facts_(assignment.facts()), bundles_(bundles), demands_(demands), options_(options) {}

  OpPlan PlanOf(OpId op) {
    OpPlan plan{.strategy = assignment_.strategy(op),
                .output = assignment_.demanded_output(op),
                .decided_by = DecidedBy::kFallback,
                .reason = "",
                .choices = {}};
    if (plan.output.has_value() && *plan.output == assignment_.produced(op)) plan.output.reset();
    if (demands_.count(op) > 0) {
      plan.decided_by = DecidedBy::kPin;
      plan.reason =
          absl::StrCat("pinned by the user; causes ", BytesText(assignment_.CostAround(op).bytes), " per step");
      return plan;
    }
    switch (facts_.roles[op]) {
      case Role::kProduct:
        Product(op, plan);
        break;
      case Role::kLight:
      case Role::kData:
      case Role::kInput:
      case Role::kSum:
        Light(op, plan);
        break;
      case Role::kConstant:
        plan.reason = "the same on every rank";
        break;
      case Role::kParameter:
        Parameter(op, plan);
        break;
      case Role::kInherits: {
        plan.decided_by = DecidedBy::kForwardOp;
        plan.reason = absl::StrCat("cut like the forward op ", facts_.op(facts_.op(op).inherits->op).name);
        break;
      }
      case Role::kUpdate:
        plan.reason = "lies like the parameter that it updates";
        break;
    }
    return plan;
  }

 private:
  void Product(OpId op, OpPlan& plan) {
    const Rule& rule = facts_.rule(op);
    const double own = assignment_.CostAround(op).bytes;
    plan.choices.push_back({.strategy = plan.strategy, .cost = own, .chosen = true});
    const std::string cuts = CutsText(plan.strategy, rule, assignment_.mesh());
    const std::string price = options_.classic ? " (decided by the classic price)" : "";
    if (!options_.searched) {
      plan.reason = absl::StrCat(options_.rule, ": ", cuts, ", causes ", BytesText(own), " per step");
      return;
    }
    plan.decided_by = DecidedBy::kSearch;
    const std::optional<Choice> other = RunnerUp(op, own);
    plan.reason = absl::StrCat("causes ", BytesText(own), " per step", price);
    if (!other.has_value()) {
      absl::StrAppend(&plan.reason, "; no other factor has elements for the mesh axes");
      return;
    }
    absl::StrAppend(&plan.reason, "; next is ", CutsText(other->strategy, rule, assignment_.mesh()), " with ",
                    FormatCount(std::llround(other->cost)));
    plan.choices.push_back(*other);
  }

  // The cheapest plan in which this op alone is cut in another way on one axis or on all, the light ops around it as
  // they are or following.
  std::optional<Choice> RunnerUp(OpId op, double own) {
    const Rule& rule = facts_.rule(op);
    const std::vector<AxisId> axes = assignment_.mesh().AxisIds();
    std::vector<std::vector<AxisId>> moves;
    for (AxisId axis : axes) moves.push_back({axis});
    if (axes.size() > 1) moves.push_back(axes);
    const Strategy current = assignment_.strategy(op);
    const Cost before = assignment_.cost();
    const int mark = assignment_.mark();
    std::optional<Choice> best;
    Cost least;
    for (const std::vector<AxisId>& moved : moves) {
      for (int factor = 0; factor < static_cast<int>(rule.factors.size()); ++factor) {
        std::optional<Strategy> strategy = current;
        for (AxisId axis : moved) strategy = Without(*strategy, axis);
        for (AxisId axis : moved) {
          const std::vector<int> fitting = FactorsFor(*strategy, rule, assignment_.mesh(), axis);
          const bool fits = std::find(fitting.begin(), fitting.end(), factor) != fitting.end();
          strategy = fits ? Moved(*strategy, rule, assignment_.mesh(), factor, axis) : std::nullopt;
          if (!strategy.has_value()) break;
        }
        if (!strategy.has_value() || *strategy == current) continue;
        for (int variant = 0; variant < 4; ++variant) {
          assignment_.Apply(std::vector<Change>{{op, *strategy}});
          for (AxisId axis : moved) {
            if (variant & 1) FollowDown(assignment_, bundles_, op, axis);
            if (variant & 2) FollowUp(assignment_, bundles_, op, axis);
          }
          const Cost cost = assignment_.cost();
          assignment_.Rollback(mark);
          if (best.has_value() && !Cheaper(cost, least)) continue;
          least = cost;
          best = Choice{.strategy = *strategy, .cost = own + (cost - before).bytes, .chosen = false};
        }
      }
    }
    return best;
  }

  void Light(OpId op, OpPlan& plan) {
    plan.decided_by = DecidedBy::kPropagation;
    for (size_t i = 0; i < facts_.op(op).inputs.size(); ++i) {
      const OpId maker = facts_.op(op).inputs[i];
      if (facts_.roles[maker] == Role::kParameter || facts_.roles[maker] == Role::kConstant) continue;
      if (assignment_.wanted(op, static_cast<int>(i)) == assignment_.seen(maker)) {
        plan.reason = absl::StrCat("follows ", facts_.op(maker).name, ": reads it as it lies");
        return;
      }
    }
    for (const Read& read : facts_.reads[op]) {
      if (assignment_.wanted(read.reader, read.input) == assignment_.seen(op)) {
        plan.reason = absl::StrCat("made as ", facts_.op(read.reader).name, " reads it");
        return;
      }
    }
    plan.reason = "made where the redistributions around it are cheapest";
  }

  void Parameter(OpId op, OpPlan& plan) {
    const Read& leader = facts_.leaders[op];
    plan.decided_by = DecidedBy::kPropagation;
    plan.reason = leader.reader == op ? "read by no op of the model: replicated"
                                      : absl::StrCat("stored as ", facts_.op(leader.reader).name, " reads it");
  }

  Assignment& assignment_;
  const GraphFacts& facts_;
  const Bundles& bundles_;
  const std::map<OpId, Demand>& demands_;
  const ReasonOptions& options_;
};

}  // namespace

IdVector<OpId, OpPlan> PlansWithReasons(Assignment& assignment, const Bundles& bundles,
                                        const std::map<OpId, Demand>& demands, const ReasonOptions& options) {
  Reasons reasons(assignment, bundles, demands, options);
  IdVector<OpId, OpPlan> plans;
  for (const Op& op : assignment.facts().graph->ops) plans.push_back(reasons.PlanOf(op.id));
  return plans;
}

}  // namespace cleave
