#include "search/solve/sapp/reasons.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "search/price/cost/prices.h"
#include "search/solve/sapp/alternatives.h"
#include "search/solve/sapp/choices.h"

namespace cleave::search {
namespace {

class Reasons {
 public:
  Reasons(Assignment& assignment, const Bundles& bundles, const OpDemands& demands, const ReasonOptions& options)
      : assignment_(assignment),
        facts_(assignment.facts()),
        alternatives_(assignment, bundles),
        demands_(demands),
        options_(options) {}

  ir::OpPlan PlanOf(ir::OpId op) {
    ir::OpPlan plan = OpPlanOf(assignment_, op);
    if (demands_.count(op) > 0) {
      plan.decided_by = ir::DecidedBy::kPin;
      plan.reason = absl::StrCat("pinned by the user; causes ", Text(assignment_.CostAround(op).price), " per step");
      return plan;
    }
    if (const auto found = options_.ruled.find(op); found != options_.ruled.end()) {
      plan.reason = found->second;
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
      case Role::kCopy:
        Parameter(op, plan);
        break;
      case Role::kInherits: {
        plan.decided_by = ir::DecidedBy::kForwardOp;
        plan.reason = absl::StrCat("cut like the forward op ", facts_.op(facts_.op(op).inherits->op).name);
        break;
      }
      case Role::kUpdate:
        plan.reason = "lies like the parameter that it updates";
        break;
      case Role::kAside:  // FollowAside says why.
        break;
    }
    return plan;
  }

 private:
  void Product(ir::OpId op, ir::OpPlan& plan) {
    const ir::Rule& rule = facts_.rule(op);
    const double own = assignment_.CostAround(op).price;
    const std::string cuts = CutsText(plan.strategy, rule, assignment_.mesh());
    const std::string price = options_.price == ir::Price::kClassic ? " (decided by the classic price)"
                              : options_.keeps_to_memory            ? " (decided under the memory limit)"
                              : !options_.objective.empty() ? absl::StrCat(" (objective ", options_.objective, ")")
                                                            : "";
    plan.choices = alternatives_.ChoicesOf(op);
    if (const auto found = options_.followed.find(op); found != options_.followed.end()) {
      plan.decided_by = ir::DecidedBy::kPropagation;
      plan.reason = absl::StrCat(found->second, ": ", cuts, ", causes ", Text(own), " per step");
      return;
    }
    if (!options_.searched) {
      plan.reason = absl::StrCat(options_.rule, ": ", cuts, ", causes ", Text(own), " per step");
      return;
    }
    plan.decided_by = ir::DecidedBy::kSearch;
    plan.reason = absl::StrCat("causes ", Text(own), " per step", price);
    if (plan.choices.size() < 2) {
      absl::StrAppend(&plan.reason, "; no other factor has elements for the mesh axes");
      return;
    }
    const ir::Choice& next = plan.choices[1];
    absl::StrAppend(&plan.reason, "; next is ", CutsText(next.strategy, rule, assignment_.mesh()), " with ",
                    assignment_.options().prices.is_seconds ? Text(next.cost) : FormatCount(std::llround(next.cost)));
  }

  void Light(ir::OpId op, ir::OpPlan& plan) {
    plan.decided_by = ir::DecidedBy::kPropagation;
    if (const auto found = options_.followed.find(op); found != options_.followed.end()) {
      plan.reason = absl::StrCat(found->second, ": ", CutsText(plan.strategy, facts_.rule(op), assignment_.mesh()));
      return;
    }
    for (size_t i = 0; i < facts_.op(op).inputs.size(); ++i) {
      const ir::OpId maker = facts_.op(op).inputs[i];
      const Role role = facts_.roles[maker];
      if (role == Role::kParameter || role == Role::kCopy || role == Role::kConstant) continue;
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

  void Parameter(ir::OpId op, ir::OpPlan& plan) {
    const Read& leader = facts_.leaders[op];
    plan.decided_by = ir::DecidedBy::kPropagation;
    const absl::string_view lies = facts_.roles[op] == Role::kCopy ? "made as " : "stored as ";
    plan.reason = leader.reader == op ? "read by no op of the model: replicated"
                                      : absl::StrCat(lies, facts_.op(leader.reader).name, " reads it");
  }

  std::string Text(double cost) const { return CostText(assignment_.options().prices, cost); }

  Assignment& assignment_;
  const GraphFacts& facts_;
  Alternatives alternatives_;
  const OpDemands& demands_;
  const ReasonOptions& options_;
};

}  // namespace

ir::OpPlan OpPlanOf(const Assignment& assignment, ir::OpId op) {
  ir::OpPlan plan{.strategy = assignment.strategy(op), .output = assignment.demanded_output(op)};
  if (plan.output.has_value() && *plan.output == assignment.produced(op)) plan.output.reset();
  return plan;
}

IdVector<ir::OpId, ir::OpPlan> PlansWithReasons(Assignment& assignment, const Bundles& bundles,
                                                const OpDemands& demands, const ReasonOptions& options) {
  Reasons reasons(assignment, bundles, demands, options);
  IdVector<ir::OpId, ir::OpPlan> plans;
  for (const ir::Op& op : assignment.facts().graph->ops) plans.push_back(reasons.PlanOf(op.id));
  return plans;
}

}  // namespace cleave::search
