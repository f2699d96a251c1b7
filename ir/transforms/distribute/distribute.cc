// Reading guide. `Rewriter::Run` copies the ops one by one; chunks.h has products in chunks, which are first, and
// slices.h losses in parts, which are next; rows.h has
// the forms of gradients that are applied by rows. `Replace` puts the distributed form of one op in its place, without
// the statistics that exist already, and `ReplaceByRounds` the forms of the ops of one attention whose keys go round.
// Two built ops are the same statistic where they have the same number, and `NumberOf` gives the same number for the
// same kind, attributes and strategy on inputs of the same numbers.

#include "ir/transforms/distribute/distribute.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status/status_macros.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/rule_table.h"
#include "ir/graph/roles.h"
#include "ir/graph/unique_names.h"
#include "ir/transforms/distribute/append.h"
#include "ir/transforms/distribute/built_form.h"
#include "ir/transforms/distribute/chunks.h"
#include "ir/transforms/distribute/rows.h"
#include "ir/transforms/distribute/slices.h"
#include "ir/transforms/distribute/units.h"
#include "ir/transforms/distribute/wide_sums.h"

namespace cleave::ir {
namespace {

class Rewriter {
 public:
  Rewriter(const Graph& graph, const Plan& plan)
      : graph_(graph),
        plan_(plan),
        names_(graph),
        rows_(graph, plan, result_.graph, result_.values, [this](Op op, const Op& original, const Strategy& strategy) {
          return AppendOnRows(std::move(op), original, strategy);
        }) {
    result_.plan = {.cluster = plan.cluster,
                    .mesh = plan.mesh,
                    .ops = {},
                    .micro_batches = plan.micro_batches,
                    .pipeline = plan.pipeline,
                    .gradient_weight = plan.gradient_weight,
                    .search = plan.search};
  }

  absl::StatusOr<Distributed> Run() && {
    for (auto at = graph_.ops.begin(); at != graph_.ops.end(); ++at) {
      const Op& op = *at;
      if (rows_.Has(op.id)) {
        result_.values.push_back(rows_.Add(op));
        result_.by_rows.push_back(!rows_.IsWhole(op.id));
        result_.in_slices.push_back(false);
        continue;
      }
      result_.by_rows.push_back(false);
      result_.in_slices.push_back(false);
      if (GoesRound(op)) {
        std::vector<const Op*> together = {&op};
        while (at + 1 != graph_.ops.end() && GoesRound(at[1]) && GroupOf(at[1]) == GroupOf(op)) {
          together.push_back(&*++at);
          result_.by_rows.push_back(false);
          result_.in_slices.push_back(false);
        }
        CLEAVE_RETURN_IF_ERROR(ReplaceByRounds(together));
      } else if (CutsInnerFactor(plan_.ops[op.id].strategy, rules_.Of(graph_, op), plan_.mesh)) {
        CLEAVE_RETURN_IF_ERROR(Replace(op));
      } else {
        Keep(op);
      }
    }
    CopyRoles(graph_, result_.values, result_.graph);
    return std::move(result_);
  }

 private:
  void Keep(const Op& op) {
    // The factors of an op that was replaced do not exist any more.
    const bool inherits = op.inherits.has_value() && replaced_.count(op.inherits->op) == 0;
    result_.values.push_back(AppendKept(op, plan_.ops[op.id], inherits, result_));
  }

  absl::Status Replace(const Op& op) {
    const OpPlan& planned = plan_.ops[op.id];
    const BuiltForm form = BuildForm(graph_, op, planned.strategy, plan_.mesh);
    const std::vector<int> numbers = Number(op, form);
    const std::vector<bool> needed = Needed(op, form, numbers);
    IdVector<OpId, OpId> places(form.graph.ops.size());  // In the new graph.
    for (const Op& built : form.graph.ops) {
      const int number = numbers[static_cast<size_t>(built.id.value())];
      if (form.is_input(built.id)) {
        places[built.id] = result_.values[op.inputs[static_cast<size_t>(built.id.value())]];
      } else if (const auto found = statistics_.find(number); found != statistics_.end() && built.id != form.result) {
        places[built.id] = found->second;
      } else if (needed[static_cast<size_t>(built.id.value())]) {
        places[built.id] = AppendBuilt(op, form, built, places);
        if (IsStatistic(form, built)) statistics_.emplace(number, places[built.id]);
      }
    }
    replaced_.insert(op.id);
    result_.values.push_back(places[form.result]);
    return CheckResult(op, form);
  }

  // Whether the op is attention whose keys go round (ir/graph/ops/ring.h).
  bool GoesRound(const Op& op) {
    return op.attributes.IsSet(attribute::kRing) &&
           CutsInnerFactor(plan_.ops[op.id].strategy, rules_.Of(graph_, op), plan_.mesh);
  }

  // A form, and how far it has been put into the graph.
  struct Growing {
    const Op* op;
    BuiltForm form;
    std::vector<int> numbers;
    IdVector<OpId, OpId> places;
  };

  // The forms of ops that have rounds in common, one round of all after another, so that no more than two pieces of the
  // keys are there at once. In each round first what moves, then attention, whose ops can run as one piece, then sums.
  absl::Status ReplaceByRounds(const std::vector<const Op*>& ops) {
    using Place = std::tuple<int, int, size_t, OpId>;  // Round, kind, form and built op.
    std::vector<Growing> forms;
    std::vector<Place> order;
    for (const Op* op : ops) {
      BuiltForm form = BuildForm(graph_, *op, plan_.ops[op->id].strategy, plan_.mesh);
      std::vector<int> numbers = Number(*op, form);
      const std::vector<bool> needed = Needed(*op, form, numbers);
      IdVector<OpId, int> rounds(form.graph.ops.size());
      for (const Op& built : form.graph.ops) {
        if (form.is_input(built.id)) continue;
        int& round = rounds[built.id];
        for (const OpId input : built.inputs) round = std::max(round, rounds[input]);
        const bool moves = built.kind == OpKind::kTurn;
        if (moves) ++round;
        const int kind = moves ? 0 : DefinitionOf(built).op_class == OpClass::kProduct ? 1 : 2;
        if (needed[static_cast<size_t>(built.id.value())]) order.emplace_back(round, kind, forms.size(), built.id);
      }
      forms.push_back({.op = op,
                       .form = std::move(form),
                       .numbers = std::move(numbers),
                       .places = IdVector<OpId, OpId>(rounds.size(), OpId(-1))});
    }
    std::sort(order.begin(), order.end());
    // The value of an op of the run is none of the inputs of the others' forms.
    for (Growing& growing : forms) {
      for (size_t i = 0; i < growing.form.inputs; ++i) {
        const OpId read = growing.op->inputs[i];
        if (static_cast<size_t>(read.value()) < result_.values.size())
          growing.places[OpId(static_cast<int64_t>(i))] = result_.values[read];
      }
    }
    for (const auto& [round, kind, number, id] : order) {
      Growing& growing = forms[number];
      const Op& built = growing.form.graph.op(id);
      const int own = growing.numbers[static_cast<size_t>(id.value())];
      const auto found = statistics_.find(own);
      if (found != statistics_.end() && id != growing.form.result) {
        growing.places[id] = found->second;
        continue;
      }
      growing.places[id] = AppendBuilt(*growing.op, growing.form, built, growing.places);
      if (IsStatistic(growing.form, built) || built.kind == OpKind::kTurn) statistics_.emplace(own, growing.places[id]);
    }
    for (const Growing& growing : forms) {
      replaced_.insert(growing.op->id);
      result_.values.push_back(growing.places[growing.form.result]);
    }
    for (const Growing& growing : forms) CLEAVE_RETURN_IF_ERROR(CheckResult(*growing.op, growing.form));
    return absl::OkStatus();
  }

  OpId AppendBuilt(const Op& op, const BuiltForm& form, const Op& built, const IdVector<OpId, OpId>& places) {
    const bool is_result = built.id == form.result;
    const Retention retention = plan_.ops[op.id].retention;
    Op copy = built;
    copy.name = is_result ? op.name : names_.Take(built.name);
    for (OpId& input : copy.inputs) input = places[input];
    OpPlan plan{.strategy = form.strategies[built.id],
                .output = {},
                // All parts of an op are computed again with it, or wait where it does.
                .retention = retention == Retention::kRedistribute ? Retention::kKeep : retention,
                .stage = plan_.ops[op.id].stage,
                .decided_by = plan_.ops[op.id].decided_by,
                .reason = absl::StrCat("distributed form of ", op.name),
                .choices = {}};
    if (is_result) {
      const Layout wanted = OutputLayout(plan_.ops[op.id].strategy, RuleOf(graph_, op));
      plan.output = plan_.ops[op.id].output;
      plan.retention = plan_.ops[op.id].retention;
      if (!plan.output.has_value() && form.layouts[built.id] != wanted) plan.output = wanted;
      copy.gradient_of = op.gradient_of;
      copy.repetition = op.repetition;
    }
    return Append(std::move(copy), op, std::move(plan));
  }

  OpId AppendOnRows(Op op, const Op& original, const Strategy& strategy) {
    if (op.name != original.name) op.name = names_.Take(op.name);
    const OpPlan& planned = plan_.ops[original.id];
    return Append(std::move(op), original,
                  {.strategy = strategy,
                   .output = {},
                   .stage = planned.stage,
                   .decided_by = planned.decided_by,
                   .reason = absl::StrCat(original.name, " by rows"),
                   .choices = {}});
  }

  OpId Append(Op op, const Op& original, OpPlan plan) {
    return ir::Append(std::move(op), original, std::move(plan), result_);
  }

  // A value may be made with more partial axes than planned; they are resolved at once (the plan's `output`).
  absl::Status CheckResult(const Op& op, const BuiltForm& form) const {
    const Layout wanted = OutputLayout(plan_.ops[op.id].strategy, RuleOf(graph_, op));
    const Layout& made = form.layouts[form.result];
    const auto before = [](const PartialAxis& a, const PartialAxis& b) { return a.axis < b.axis; };
    const bool resolvable =
        made.dimensions == wanted.dimensions &&
        std::includes(made.partial.begin(), made.partial.end(), wanted.partial.begin(), wanted.partial.end(), before);
    if (form.graph.op(form.result).type == op.type && resolvable) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("the distributed form of `", op.name, "` makes ",
                                            LayoutText(made, plan_.mesh), ", planned is ",
                                            LayoutText(wanted, plan_.mesh)));
  }

  // Smaller than what it is made from.
  static bool IsStatistic(const BuiltForm& form, const Op& built) {
    return built.type.elements() < form.graph.op(OpId(0)).type.elements() && built.id != form.result;
  }

  // A number for what a built op computes, within one group of ops: an op and those that inherit from it.
  using Computation = std::tuple<std::pair<OpId, Phase>, OpKind, std::map<std::string, AttributeValue>,
                                 std::vector<int>, std::vector<AxisList>, std::vector<std::pair<AxisId, int>>>;

  // An op and those that inherit from it; attention with what it reads of its scores. What goes round does so in each
  // phase again.
  std::pair<OpId, Phase> GroupOf(const Op& op) const {
    const Op& root = graph_.op(op.inherits.has_value() ? op.inherits->op : op.id);
    if (!op.attributes.IsSet(attribute::kRing)) return {root.id, Phase::kForward};
    const bool has_logs = root.kind == OpKind::kAttention && root.inputs.size() > 3 &&
                          graph_.op(root.inputs[3]).kind == OpKind::kAttentionLogsumexp;
    return {has_logs ? root.inputs[3] : root.id, op.phase};
  }

  std::vector<int> Number(const Op& op, const BuiltForm& form) {
    const std::pair<OpId, Phase> group = GroupOf(op);
    std::vector<int> numbers;
    for (const Op& built : form.graph.ops) {
      if (form.is_input(built.id)) {
        const OpId read = op.inputs[static_cast<size_t>(built.id.value())];
        numbers.push_back(NumberIn(inputs_, std::pair(read, form.layouts[built.id])));
        continue;
      }
      std::vector<int> inputs;
      for (OpId input : built.inputs) inputs.push_back(numbers[static_cast<size_t>(input.value())]);
      const Strategy& strategy = form.strategies[built.id];
      std::vector<std::pair<AxisId, int>> passes;
      for (const PassThrough& pass : strategy.passes) passes.emplace_back(pass.axis, pass.group);
      numbers.push_back(NumberIn(computations_, Computation(group, built.kind, built.attributes.values(),
                                                            std::move(inputs), strategy.cuts, std::move(passes))));
    }
    return numbers;
  }

  template <typename Key>
  int NumberIn(std::map<Key, int>& numbers, Key key) {
    const auto [found, is_new] = numbers.emplace(std::move(key), next_number_);
    if (is_new) ++next_number_;
    return found->second;
  }

  // Which built ops the result is made from, apart from statistics that exist.
  std::vector<bool> Needed(const Op& op, const BuiltForm& form, const std::vector<int>& numbers) const {
    std::vector<bool> needed(form.graph.ops.size(), false);
    needed[static_cast<size_t>(form.result.value())] = true;
    for (size_t i = needed.size(); i-- > op.inputs.size();) {
      const OpId id(static_cast<int64_t>(i));
      if (!needed[i] || (statistics_.count(numbers[i]) > 0 && id != form.result)) continue;
      for (OpId input : form.graph.op(id).inputs) needed[static_cast<size_t>(input.value())] = true;
    }
    return needed;
  }

  const Graph& graph_;
  const Plan& plan_;
  Distributed result_;
  std::set<OpId> replaced_;
  RuleTable rules_;
  UniqueNames names_;
  RowForms rows_;
  std::map<std::pair<OpId, Layout>, int> inputs_;
  std::map<Computation, int> computations_;
  int next_number_ = 0;
  std::map<int, OpId> statistics_;  // Statistics that the new graph has, by number.
};

// What `second`, made of what `first` made, is of the graph that `first` was made of.
Distributed After(const Distributed& first, Distributed second) {
  for (OpId& original : second.originals) original = first.originals[original];
  IdVector<OpId, OpId> values;
  IdVector<OpId, uint8_t> by_rows, in_slices;
  for (size_t i = 0; i < first.values.size(); ++i) {
    const OpId op(static_cast<int64_t>(i));
    const OpId value = first.values[op];
    values.push_back(second.values[value]);
    by_rows.push_back(second.by_rows[value]);
    in_slices.push_back(first.in_slices[op] != 0 || second.in_slices[value] != 0);
  }
  second.values = std::move(values);
  second.by_rows = std::move(by_rows);
  second.in_slices = std::move(in_slices);
  return second;
}

}  // namespace

bool CutsInnerFactor(const Strategy& strategy, const Rule& rule, const Mesh& mesh) {
  for (size_t factor = 0; factor < rule.factors.size(); ++factor) {
    if (rule.factors[factor].kind == FactorKind::kInner && mesh.Size(strategy.cuts[factor]) > 1) return true;
  }
  return false;
}

absl::StatusOr<Distributed> Distribute(const Graph& graph, const Plan& plan) {
  std::optional<Distributed> made = WithChunkedProducts(graph, plan);
  const auto graph_now = [&]() -> const Graph& { return made.has_value() ? made->graph : graph; };
  const auto plan_now = [&]() -> const Plan& { return made.has_value() ? made->plan : plan; };
  if (std::optional<Distributed> sliced = WithSlicedLosses(graph_now(), plan_now()); sliced.has_value())
    made = made.has_value() ? After(*made, *std::move(sliced)) : std::move(sliced);
  CLEAVE_ASSIGN_OR_RETURN(Distributed distributed, Rewriter(graph_now(), plan_now()).Run());
  if (made.has_value()) distributed = After(*made, std::move(distributed));
  CLEAVE_ASSIGN_OR_RETURN(distributed, WithUnitsOfMicroBatches(std::move(distributed)));
  return graph.sums == DType::kF32 ? WithWideSums(std::move(distributed)) : std::move(distributed);
}

}  // namespace cleave::ir
