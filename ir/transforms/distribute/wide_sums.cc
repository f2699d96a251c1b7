// Reading guide. `FindSums` says which values become f32, `FindCasts` which readers need them rounded and how, and
// `Run` writes the ops again.

#include "ir/transforms/distribute/wide_sums.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/rule_table.h"
#include "ir/graph/roles.h"
#include "ir/graph/unique_names.h"
#include "ir/transforms/distribute/append.h"
#include "ir/transforms/distribute/built_form.h"

namespace cleave::ir {
namespace {

bool IsSum(const Layout& layout) {
  return std::any_of(layout.partial.begin(), layout.partial.end(),
                     [](const PartialAxis& partial) { return partial.reduction == Reduction::kSum; });
}

bool IsProduct(const Op& op) {
  const Treatment treatment = TreatmentOf(op);
  return treatment == Treatment::kProduct || treatment == Treatment::kGradient;
}

class Widening {
 public:
  explicit Widening(const Distributed& narrow)
      : old_(narrow.graph),
        narrow_(narrow),
        names_(old_),
        is_sum_(old_.ops.size(), 0),
        places_(old_.ops.size()),
        roles_(old_.ops.size()) {
    result_.plan = narrow.plan;
    result_.plan.ops = {};
    result_.by_rows = narrow.by_rows;
    result_.in_slices = narrow.in_slices;
  }

  // Whether there is such a value.
  bool FindSums() {
    bool some = false;
    for (const Op& op : old_.ops) {
      is_sum_[op.id] = Is16Bit(op.type.dtype) && IsSum(OutputLayout(PlanOf(op.id).strategy, rules_.Of(old_, op)));
      some = some || is_sum_[op.id] != 0;
    }
    return some;
  }

  Distributed Run() && {
    FindCasts();
    for (const Op& op : old_.ops) {
      AddOp(op);
      for (const bool is_partial : {false, true}) {
        const auto cast = casts_.find({op.id, is_partial});
        if (cast != casts_.end()) AddCast(op, cast->second);
      }
      const auto whole = casts_.find({op.id, false});
      roles_[op.id] = whole != casts_.end() ? whole->second.place : places_[op.id];
    }
    for (const OpId value : narrow_.values) result_.values.push_back(places_[value]);
    CopyRoles(old_, roles_, result_.graph);
    return std::move(result_);
  }

 private:
  // A value of 16 bits for the readers that take no part of a sum in f32.
  struct Cast {
    Layout layout;
    bool metrics_only = true;
    OpId place;
  };

  const OpPlan& PlanOf(OpId op) const { return narrow_.plan.ops[op]; }

  Layout Reads(const Op& reader, size_t input) {
    return InputLayout(PlanOf(reader.id).strategy, rules_.Of(old_, reader), static_cast<int>(input));
  }

  // Whether the reader takes the parts in f32: what it makes of them are such parts again, or f32 as ever.
  bool TakesParts(const Op& reader, size_t input) {
    return is_sum_[reader.inputs[input]] != 0 && IsSum(Reads(reader, input)) && !IsProduct(reader);
  }

  // Whether all readers see the value complete, in one layout.
  bool HasCompleteOutput(OpId value) const {
    const std::optional<Layout>& output = PlanOf(value).output;
    return output.has_value() && !IsSum(*output);
  }

  // In the order in which the program makes the ops, those of metrics last.
  void FindCasts() {
    for (const Phase phase : {Phase::kForward, Phase::kBackward, Phase::kUpdate, Phase::kMetric}) {
      for (const Op& reader : old_.ops) {
        if (reader.phase != phase) continue;
        for (size_t i = 0; i < reader.inputs.size(); ++i) {
          const OpId value = reader.inputs[i];
          if (is_sum_[value] == 0 || TakesParts(reader, i)) continue;
          const Layout read = Reads(reader, i).WithoutWindows();
          const Layout layout = HasCompleteOutput(value) ? *PlanOf(value).output : read;
          Cast& cast = casts_.try_emplace({value, IsSum(read)}, Cast{.layout = layout, .place = {}}).first->second;
          cast.metrics_only = cast.metrics_only && phase == Phase::kMetric;
        }
      }
    }
  }

  void AddOp(const Op& op) {
    const bool is_wide = is_sum_[op.id] != 0;
    Op copy = op;
    for (size_t i = 0; i < op.inputs.size(); ++i) copy.inputs[i] = InputFor(op, i);
    OpPlan plan = PlanOf(op.id);
    if (is_wide) {
      if (IsProduct(op)) {
        copy.attributes.Set(attribute::kResult, DType::kF32);
      } else {
        copy.attributes.Erase(attribute::kResult);
      }
      if (op.kind == OpKind::kCast) copy.attributes.Set(attribute::kDType, DType::kF32);
      // The value that waits for the backward pass is the rounded one.
      const bool is_rounded = casts_.count({op.id, false}) > 0;
      if (is_rounded && plan.retention != Retention::kRecompute) plan.retention = Retention::kKeep;
      if (HasCompleteOutput(op.id)) plan.output = std::nullopt;
      copy.type = TypeIn(result_.graph, copy.kind, copy.inputs, copy.attributes);
      CLEAVE_CHECK(copy.type.dtype == DType::kF32) << op.name << " is " << copy.type.ToString();
    }
    CopyRelations(op, places_, copy);
    places_[op.id] = Append(std::move(copy), op, std::move(plan));
  }

  OpId InputFor(const Op& op, size_t i) {
    const OpId value = op.inputs[i];
    if (TakesParts(op, i)) return places_[value];
    const OpId read =
        is_sum_[value] != 0 ? casts_.at({value, IsSum(Reads(op, i).WithoutWindows())}).place : places_[value];
    const bool takes_both = DefinitionOf(op).treatment == Treatment::kFloat;
    const bool follows = is_sum_[op.id] != 0 && !IsProduct(op) && !takes_both;
    return follows && Is16Bit(old_.op(value).type.dtype) ? WideOf(op, read) : read;
  }

  // A complete value of 16 bits beside parts of a sum in f32.
  OpId WideOf(const Op& reader, OpId read) {
    const auto [found, is_new] = wide_.emplace(std::pair(read, reader.phase), OpId());
    if (is_new) {
      const Op value = result_.graph.op(read);
      const OpPlan& planned = result_.plan.ops[read];
      const Layout layout = planned.output.value_or(OutputLayout(planned.strategy, RuleOf(result_.graph, value)));
      const Retention retention = reader.phase == value.phase ? planned.retention : Retention::kKeep;
      found->second = AppendCast(value, DType::kF32, layout, retention, reader.phase, reader);
    }
    return found->second;
  }

  void AddCast(const Op& value, Cast& cast) {
    const Phase phase = cast.metrics_only ? Phase::kMetric : value.phase;
    const Op wide = result_.graph.op(places_[value.id]);
    const Retention retention = cast.metrics_only ? Retention::kKeep : PlanOf(value.id).retention;
    cast.place = AppendCast(wide, value.type.dtype, cast.layout, retention, phase, value);
  }

  OpId AppendCast(const Op& value, DType dtype, const Layout& layout, Retention retention, Phase phase,
                  const Op& original) {
    Op cast{.id = {},
            .name = names_.Take(absl::StrCat(value.name, ".", DTypeName(dtype))),
            .kind = OpKind::kCast,
            .phase = phase,
            .inputs = {value.id},
            .attributes = {{attribute::kDType, dtype}},
            .line = value.line,
            .repetition = Derived(value.repetition, DTypeName(dtype))};
    cast.type = TypeIn(result_.graph, cast.kind, cast.inputs, cast.attributes);
    const OpDefinition& definition = DefinitionOf(cast);
    std::vector<PassThrough> passes;
    for (const PartialAxis& partial : layout.partial) passes.push_back({.axis = partial.axis});
    const Rule rule = definition.rule({value.type}, cast.type, cast.attributes);
    return Append(std::move(cast), original,
                  {.strategy = StrategyOfBuilt(rule, {&layout}, passes, narrow_.plan.mesh),
                   .output = {},
                   .retention = retention,
                   .stage = PlanOf(original.id).stage,
                   .decided_by = PlanOf(original.id).decided_by,
                   .reason = absl::StrCat("sums of ", value.name, " in f32"),
                   .choices = {}});
  }

  OpId Append(Op op, const Op& original, OpPlan plan) {
    op.id = OpId(static_cast<int64_t>(result_.graph.ops.size()));
    result_.plan.ops.push_back(std::move(plan));
    result_.originals.push_back(narrow_.originals[original.id]);
    return result_.graph.ops.push_back(std::move(op));
  }

  const Graph& old_;
  const Distributed& narrow_;
  Distributed result_;
  RuleTable rules_;
  UniqueNames names_;
  IdVector<OpId, uint8_t> is_sum_;
  IdVector<OpId, OpId> places_;                  // In the new graph.
  IdVector<OpId, OpId> roles_;                   // The same for what is looked at: the rounded value.
  std::map<std::pair<OpId, bool>, Cast> casts_;  // By value, and whether it is rounded in parts.
  std::map<std::pair<OpId, Phase>, OpId> wide_;  // By value of the new graph.
};

}  // namespace

Distributed WithWideSums(Distributed distributed) {
  Widening widening(distributed);
  if (!widening.FindSums()) return distributed;
  return std::move(widening).Run();
}

}  // namespace cleave::ir
