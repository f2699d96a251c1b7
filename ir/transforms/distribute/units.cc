// Reading guide. `Grouping` writes the graph again: what a maximum or a rounding to 8 bits reads gets a dimension for
// the micro-batches in front (`RunsOf`), and its result the shape that it had. Strategies follow the factors of the old
// rules (`StrategyLike`).

#include "ir/transforms/distribute/units.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status/status_macros.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/rule_table.h"
#include "ir/graph/roles.h"
#include "ir/graph/unique_names.h"
#include "ir/sharding/micro_batches/micro_batches.h"
#include "ir/transforms/distribute/append.h"

namespace cleave::ir {
namespace {

class Grouping {
 public:
  explicit Grouping(const Distributed& whole)
      : old_(whole.graph),
        whole_(whole),
        uses_(FindBatchUses(old_).ops),
        names_(old_),
        has_runs_(old_.ops.size(), 0),
        places_(old_.ops.size()) {
    result_.plan = whole.plan;
    result_.plan.ops = {};
    result_.by_rows = whole.by_rows;
    result_.in_slices = whole.in_slices;
    for (const Op& op : old_.ops) has_runs_[op.id] = HasRuns(op) ? 1 : 0;
  }

  bool IsNeeded() const { return std::find(has_runs_.begin(), has_runs_.end(), 1) != has_runs_.end(); }

  absl::StatusOr<Distributed> Run() && {
    for (const Op& op : old_.ops) CLEAVE_RETURN_IF_ERROR(AddOp(op));
    for (const OpId value : whole_.values) result_.values.push_back(places_[value]);
    for (size_t i = 0; i < whole_.values.size(); ++i) {
      const OpId value(static_cast<int64_t>(i));
      if (has_runs_[whole_.values[value]] != 0) result_.in_slices[value] = 1;
    }
    CopyRoles(old_, places_, result_.graph);
    return std::move(result_);
  }

 private:
  // Whether the op makes a number for each micro-batch, or numbers that are multiplied by it.
  bool HasRuns(const Op& op) const {
    if (op.kind == OpKind::kReduceMaxAbs) return uses_[op.id].CutsSamples();
    if (op.kind == OpKind::kF8Unit) return has_runs_[op.inputs[0]] != 0;
    return op.kind == OpKind::kQuantize && has_runs_[op.inputs[1]] != 0;
  }

  const OpPlan& PlanOf(OpId op) const { return whole_.plan.ops[op]; }

  absl::Status AddOp(const Op& op) {
    Op copy = op;
    for (OpId& input : copy.inputs) input = places_[input];
    CopyRelations(op, places_, copy);
    OpPlan plan = PlanOf(op.id);
    const bool reads_runs = has_runs_[op.id] != 0 && op.kind != OpKind::kF8Unit;
    if (reads_runs) {
      CLEAVE_ASSIGN_OR_RETURN(copy.inputs[0], RunsOf(op));
    }
    if (has_runs_[op.id] != 0) copy.inherits = std::nullopt;  // Its factors are others.
    if (op.kind == OpKind::kReduceMaxAbs && reads_runs) {
      std::vector<int64_t> axes;
      for (int d = 1; d <= old_.op(op.inputs[0]).type.rank(); ++d) axes.push_back(d);
      copy.attributes.Set(attribute::kAxes, std::move(axes));
      copy.attributes.Set(attribute::kKeepDims, true);
    }
    copy.type = TypeIn(result_.graph, copy.kind, copy.inputs, copy.attributes);
    const bool multiplies = op.kind == OpKind::kScaledMatmul || op.kind == OpKind::kScaledMatmulSum;
    if (has_runs_[op.id] != 0 || multiplies) {
      plan.strategy = StrategyLike(copy, RuleOf(old_, op), PlanOf(op.id).strategy);
      // The factor that counts runs is the last one, and inherited from none.
      if (copy.inherits.has_value()) copy.inherits->factors.resize(plan.strategy.cuts.size(), -1);
    }
    if (op.kind != OpKind::kQuantize || !reads_runs) {
      // In whatever layout a number is asked for, so is one for each run.
      if (has_runs_[op.id] != 0 && plan.output.has_value()) plan.output->dimensions.resize(copy.type.shape.size());
      places_[op.id] = Append(std::move(copy), op, std::move(plan));
      return absl::OkStatus();
    }
    copy.name = names_.Take(absl::StrCat(op.name, ".runs"));
    copy.repetition = Derived(op.repetition, "runs");
    // What waits for the backward pass is the value in its own shape.
    plan.output = std::nullopt;
    if (plan.retention != Retention::kRecompute) plan.retention = Retention::kKeep;
    const OpId made = Append(std::move(copy), op, std::move(plan));
    places_[op.id] = AddReshape(made, op.type.shape, op, op.name, op.repetition, PlanOf(op.id));
    return absl::OkStatus();
  }

  // What `reader` reads, with a dimension for the micro-batches in front. A value that waits for the backward pass
  // waits in its own shape.
  absl::StatusOr<OpId> RunsOf(const Op& reader) {
    const Op& value = old_.op(reader.inputs[0]);
    const auto [found, is_new] = runs_.emplace(std::pair(value.id, reader.phase), OpId());
    if (!is_new) return found->second;
    Shape shape = value.type.shape;
    const int64_t count = whole_.plan.micro_batches;
    if (shape[0] % count != 0) {
      return absl::InvalidArgumentError(absl::StrCat("`", value.name, "` has ", shape[0], " samples, and ", count,
                                                     " micro-batches do not have equally many"));
    }
    shape[0] /= count;
    shape.insert(shape.begin(), count);
    found->second =
        AddReshape(places_[value.id], std::move(shape), reader, names_.Take(absl::StrCat(value.name, ".runs")),
                   Derived(reader.repetition, "read"), PlanOf(reader.id));
    return found->second;
  }

  // `like`: what the plan says of the op for which it is made.
  OpId AddReshape(OpId value, Shape shape, const Op& reader, std::string name, Repetition repetition,
                  const OpPlan& like) {
    const Shape before = result_.graph.op(value).type.shape;
    Op op{.id = {},
          .name = std::move(name),
          .kind = OpKind::kReshape,
          .phase = reader.phase,
          .inputs = {value},
          .attributes = {{attribute::kShape, shape}},
          .line = reader.line,
          .repetition = std::move(repetition)};
    op.type = TypeIn(result_.graph, op.kind, op.inputs, op.attributes);
    const bool joins = before.size() > shape.size();
    OpPlan plan{.strategy = {},
                .output = joins ? like.output : std::nullopt,
                .retention = joins || like.retention == Retention::kRecompute ? like.retention : Retention::kKeep,
                .stage = like.stage,
                .decided_by = like.decided_by,
                .reason = "micro-batches side by side",
                .choices = {}};
    const Layout layout =
        InputLayout(PlanOf(reader.id).strategy, RuleOf(old_, reader), 0);  // Of the value in its own shape.
    const Rule rule = DefinitionOf(op).rule({result_.graph.op(value).type}, op.type, op.attributes);
    const std::vector<FactorList>& dimensions = joins ? rule.output : rule.inputs[0];
    plan.strategy = StrategyOn(layout, dimensions, rule);
    return Append(std::move(op), reader, std::move(plan));
  }

  // Cuts the last factor of each dimension as the dimension is cut. A dimension without one has one element, and so has
  // a micro-batch of one sample: these are read whole.
  static Strategy StrategyOn(const Layout& layout, const std::vector<FactorList>& dimensions, const Rule& rule) {
    Strategy strategy = Strategy::Replicated(rule);
    for (size_t d = 0; d < dimensions.size(); ++d) {
      if (dimensions[d].size() < (d == 0 ? 2 : 1)) continue;
      strategy.cuts[static_cast<size_t>(dimensions[d].back())] = layout.dimensions[d];
    }
    return strategy;
  }

  // The strategy of an op that takes the place of one with `old_rule`: each factor that this has is cut as there.
  Strategy StrategyLike(const Op& op, const Rule& old_rule, const Strategy& old) {
    const Rule rule = RuleOf(result_.graph, op);
    Strategy strategy = Strategy::Replicated(rule);
    strategy.passes = old.passes;
    for (size_t input = 0; input < old_rule.inputs.size(); ++input) {
      const bool has_one_more = rule.inputs[input].size() > old_rule.inputs[input].size();
      for (size_t d = 0; d < old_rule.inputs[input].size(); ++d) {
        const FactorList& from = old_rule.inputs[input][d];
        const FactorList& to = rule.inputs[input][d + (has_one_more ? 1 : 0)];
        if (from.empty() || to.empty()) continue;
        strategy.cuts[static_cast<size_t>(to.back())] = old.cuts[static_cast<size_t>(from.back())];
      }
    }
    return strategy;
  }

  OpId Append(Op op, const Op& original, OpPlan plan) {
    op.id = OpId(static_cast<int64_t>(result_.graph.ops.size()));
    result_.plan.ops.push_back(std::move(plan));
    result_.originals.push_back(whole_.originals[original.id]);
    return result_.graph.ops.push_back(std::move(op));
  }

  const Graph& old_;
  const Distributed& whole_;
  const IdVector<OpId, BatchUse> uses_;
  Distributed result_;
  UniqueNames names_;
  IdVector<OpId, uint8_t> has_runs_;
  IdVector<OpId, OpId> places_;                  // In the new graph.
  std::map<std::pair<OpId, Phase>, OpId> runs_;  // By value of the old graph.
};

}  // namespace

absl::StatusOr<Distributed> WithUnitsOfMicroBatches(Distributed distributed) {
  if (distributed.plan.micro_batches == 1) return distributed;
  Grouping grouping(distributed);
  if (!grouping.IsNeeded()) return distributed;
  return std::move(grouping).Run();
}

}  // namespace cleave::ir
