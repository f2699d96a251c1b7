// Reading guide. `Slicer::Run` copies the ops one by one; where a sliced loss stands, `AddSlices` puts what it needs in
// front of it, then all its slices, and in `Finish` what they are together.

#include "ir/transforms/distribute/slices.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/roles.h"
#include "ir/graph/sliced_losses/sliced_losses.h"
#include "ir/graph/unique_names.h"
#include "ir/transforms/distribute/append.h"
#include "ir/transforms/distribute/built_form.h"

namespace cleave::ir {
namespace {

// Along which dimension of the places a loss is sliced, and into how many parts.
struct Cut {
  size_t dimension = 0;
  int64_t size = 0;
  int64_t parts = 1;
};

// The largest divisor of `size` up to `most`, or the smallest one above; 1 only for a prime.
int64_t PartsNear(int64_t size, int64_t most) {
  for (int64_t parts = std::min(most, size); parts > 1; --parts) {
    if (size % parts == 0) return parts;
  }
  for (int64_t parts = most + 1; parts < size; ++parts) {
    if (size % parts == 0) return parts;
  }
  return 1;
}

class Slicer {
 public:
  Slicer(const Graph& graph, const Plan& plan) : graph_(graph), plan_(plan), names_(graph) {
    result_.plan = plan;
    result_.plan.ops = {};
    result_.values = IdVector<OpId, OpId>(graph.ops.size());
    result_.by_rows = IdVector<OpId, uint8_t>(graph.ops.size());
    result_.in_slices = IdVector<OpId, uint8_t>(graph.ops.size());
    is_added_ = IdVector<OpId, uint8_t>(graph.ops.size());
  }

  std::optional<Distributed> Run() && {
    std::map<OpId, std::pair<SlicedLoss, Cut>> sliced;
    for (const Op& op : graph_.ops) {
      if (op.kind != OpKind::kCrossEntropy || PartsOf(op) < 2) continue;
      auto found = FindSlicedLoss(graph_, op.id);
      auto* loss = std::get_if<SlicedLoss>(&found);
      if (loss == nullptr) continue;
      const std::optional<Cut> cut = CutOf(*loss, PartsOf(op));
      if (!cut.has_value()) continue;
      for (const SlicedOp& part : loss->ops) is_added_[part.op] = 1;  // In its place alone.
      sliced.emplace(op.id, std::pair(std::move(*loss), *cut));
    }
    if (sliced.empty()) return std::nullopt;
    for (const Op& op : graph_.ops) {
      if (const auto found = sliced.find(op.id); found != sliced.end()) {
        AddSlices(found->second.first, found->second.second);
      } else if (is_added_[op.id] == 0) {
        Keep(op);
      }
    }
    CopyRoles(graph_, result_.values, result_.graph);
    return std::move(result_);
  }

 private:
  std::optional<Cut> CutOf(const SlicedLoss& loss, int64_t parts) const {
    std::optional<Cut> best;
    for (size_t d = 0; d < loss.ops.front().places.size(); ++d) {
      if (d == 0 && plan_.micro_batches > 1) continue;
      const bool is_whole =
          std::all_of(loss.ops.begin(), loss.ops.end(), [&](const SlicedOp& op) { return IsWhole(op, d); });
      const int64_t size = graph_.op(loss.logits).type.shape[d];
      const Cut cut = {.dimension = d, .size = size, .parts = PartsNear(size, parts)};
      if (!is_whole || cut.parts == 1) continue;
      if (!best.has_value() || std::abs(cut.parts - parts) < std::abs(best->parts - parts)) best = cut;
    }
    return best;
  }

  // Whether no rank has a part of dimension `d` of the places alone, and no sum passes into the slices from outside.
  bool IsWhole(const SlicedOp& part, size_t d) const {
    const OpPlan& planned = plan_.ops[part.op];
    const Rule rule = RuleOf(graph_, graph_.op(part.op));
    if (!planned.strategy.cuts[static_cast<size_t>(part.places[d])].empty() || !planned.strategy.passes.empty()) {
      return false;
    }
    const int out = DimensionOf(part.places[d], rule.output);
    return !planned.output.has_value() || out < 0 || planned.output->dimensions[static_cast<size_t>(out)].empty();
  }

  void Keep(const Op& op) {
    const bool inherits =
        op.inherits.has_value() && result_.in_slices[op.inherits->op] == 0 && is_added_[op.inherits->op] != 0;
    is_added_[op.id] = 1;
    result_.values[op.id] = AppendKept(op, plan_.ops[op.id], inherits, result_);
  }

  // Adds ops of later places that the slices need, in the forward pass.
  void AddEarlier(const SlicedLoss& loss) {
    for (const OpId id : loss.earlier) {
      if (is_added_[id] != 0) continue;
      const Op& op = graph_.op(id);
      Keep(op);
      Op& copy = result_.graph.ops.back();
      copy.phase = Phase::kForward;
      copy.gradient_of = std::nullopt;
      copy.inherits = std::nullopt;
      if (op.phase == Phase::kBackward && !copy.inputs.empty()) Inherit(copy.inputs[0], copy);
    }
  }

  // Says that `op` is made of `from`, whose factors are others.
  void Inherit(OpId from, Op& op) const {
    op.inherits = Inheritance{.op = from, .factors = std::vector<int>(RuleOf(result_.graph, op).factors.size(), -1)};
  }

  void AddSlices(const SlicedLoss& loss, const Cut& cut) {
    AddEarlier(loss);
    std::map<OpId, std::vector<OpId>> parts;
    slices_.clear();
    for (int64_t i = 0; i < cut.parts; ++i) {
      pass_ = InPass(graph_.op(loss.loss).repetition, Within(PlaceOf(graph_.op(loss.loss)), "parts"), i);
      std::map<OpId, OpId> own;
      for (const SlicedOp& part : loss.ops) {
        own[part.op] = AddPart(part, cut, i, own);
        AddToWhole(part, cut, i, own[part.op], parts[part.op]);
      }
    }
    pass_ = {};
    for (const SlicedOp& part : loss.ops) {
      const Op& op = graph_.op(part.op);
      const std::vector<OpId>& all = parts[part.op];
      OpId value = all.back();
      if (part.result == SliceResult::kJoined) {
        const int axis = DimensionOf(part.places[cut.dimension], RuleOf(graph_, op).output);
        value = AddBuilt(op, OpKind::kConcat, all, {{attribute::kAxis, static_cast<int64_t>(axis)}}, op.name);
      }
      result_.values[op.id] = value;
      result_.in_slices[op.id] = part.result == SliceResult::kWithin;
      if (part.result != SliceResult::kWithin) Finish(op, value);
    }
  }

  OpId AddPart(const SlicedOp& part, const Cut& cut, int64_t i, const std::map<OpId, OpId>& own) {
    const Op& op = graph_.op(part.op);
    const Rule rule = RuleOf(graph_, op);
    Op copy = op;
    copy.name = names_.Take(absl::StrCat(op.name, ".", i));
    copy.phase = Phase::kForward;
    copy.gradient_of = std::nullopt;
    copy.repetition = Derived(pass_, op.name);
    if (copy.attributes.Has(attribute::kParts)) copy.attributes.Set(attribute::kParts, 0);
    for (size_t j = 0; j < copy.inputs.size(); ++j) {
      OpId& input = copy.inputs[j];
      const int dimension = DimensionOf(part.places[cut.dimension], rule.inputs[j]);
      if (const auto found = own.find(input); found != own.end()) {
        input = found->second;
      } else if (dimension >= 0) {
        input = Sliced(input, InputLayout(plan_.ops[op.id].strategy, rule, static_cast<int>(j)), dimension, cut, i);
      } else if (op.kind == OpKind::kCrossEntropyGradient && j == 2) {
        input = ShareOf(op, result_.values[input], cut);
      } else {
        input = result_.values[input];
      }
    }
    copy.type = TypeIn(result_.graph, copy.kind, copy.inputs, copy.attributes);
    OpPlan planned = plan_.ops[op.id];
    planned.reason = absl::StrCat("part ", i, " of ", op.name);
    planned.by_rows = false;
    if (op.phase != Phase::kForward) planned.retention = Retention::kKeep;
    if (part.result != SliceResult::kWithin) planned.output = std::nullopt;
    copy.inherits = std::nullopt;
    if (op.inherits.has_value()) {
      const auto from = own.find(op.inherits->op);
      if (from != own.end()) copy.inherits = Inheritance{.op = from->second, .factors = op.inherits->factors};
    }
    if (op.phase != Phase::kForward && !copy.inherits.has_value()) Inherit(copy.inputs[0], copy);
    return Append(std::move(copy), op, std::move(planned));
  }

  // Adds a part to those before it.
  void AddToWhole(const SlicedOp& part, const Cut& cut, int64_t i, OpId own, std::vector<OpId>& parts) {
    const Op& op = graph_.op(part.op);
    switch (part.result) {
      case SliceResult::kWithin:
        parts = {own};
        return;
      case SliceResult::kJoined:
        parts.push_back(own);
        return;
      case SliceResult::kMean:
        own = AddBuilt(op, OpKind::kScale, {own}, {{attribute::kFactor, 1.0 / static_cast<double>(cut.parts)}},
                       absl::StrCat(op.name, ".share.", i));
        break;
      case SliceResult::kAdded:
        break;
    }
    const bool is_last = i + 1 == cut.parts;
    parts = {i == 0 ? own
                    : AddBuilt(op, OpKind::kAdd, {parts.front(), own}, {},
                               is_last ? op.name : absl::StrCat(op.name, ".sum.", i))};
  }

  // `value` is the value of `op`.
  void Finish(const Op& op, OpId value) {
    Op& made = result_.graph.ops[value];
    made.repetition = op.repetition;
    if (op.gradient_of.has_value()) made.gradient_of = result_.values[*op.gradient_of];
    OpPlan& planned = result_.plan.ops[value];
    planned.output = plan_.ops[op.id].output;
    planned.by_rows = plan_.ops[op.id].by_rows;
  }

  // Slice i of a value that no slice makes, as a reader wants it.
  OpId Sliced(OpId value, Layout layout, int dimension, const Cut& cut, int64_t i) {
    const auto [found, is_new] = slices_.emplace(std::tuple(value, dimension, i, layout), OpId());
    if (!is_new) return found->second;
    const Op& op = graph_.op(value);
    std::vector<int64_t> begin(op.type.shape.size(), 0), end = op.type.shape;
    begin[static_cast<size_t>(dimension)] = cut.size / cut.parts * i;
    end[static_cast<size_t>(dimension)] = cut.size / cut.parts * (i + 1);
    const OpId from = result_.values[value];
    Attributes attributes = {{attribute::kBegin, std::move(begin)}, {attribute::kEnd, std::move(end)}};
    found->second = AddOp(op, OpKind::kSlice, {from}, std::move(attributes), absl::StrCat(op.name, ".part.", i),
                          {std::move(layout)});
    return found->second;
  }

  // What a slice's gradients are multiples of: the loss is the mean of the slices.
  OpId ShareOf(const Op& op, OpId dloss, const Cut& cut) {
    const auto [found, is_new] = shares_.emplace(std::pair(dloss, cut.parts), OpId());
    if (is_new) {
      const Repetition pass = std::exchange(pass_, {});
      found->second =
          AddBuilt(op, OpKind::kScale, {dloss}, {{attribute::kFactor, 1.0 / static_cast<double>(cut.parts)}},
                   absl::StrCat(op.name, ".share"));
      pass_ = pass;
    }
    return found->second;
  }

  // Adds an op that reads values as they are made; partial sums pass through it.
  OpId AddBuilt(const Op& original, OpKind kind, std::vector<OpId> inputs, Attributes attributes,
                const std::string& name) {
    std::vector<Layout> layouts;
    for (const OpId input : inputs) {
      const OpPlan& planned = result_.plan.ops[input];
      layouts.push_back(planned.output.has_value()
                            ? *planned.output
                            : OutputLayout(planned.strategy, RuleOf(result_.graph, result_.graph.op(input))));
    }
    return AddOp(original, kind, std::move(inputs), std::move(attributes), name, std::move(layouts));
  }

  OpId AddOp(const Op& original, OpKind kind, std::vector<OpId> inputs, Attributes attributes, const std::string& name,
             std::vector<Layout> layouts) {
    const TensorType type = TypeIn(result_.graph, kind, inputs, attributes);
    Op op = {.id = {},
             .name = name == original.name ? name : names_.Take(name),
             .kind = kind,
             .phase = Phase::kForward,
             .inputs = std::move(inputs),
             .attributes = std::move(attributes),
             .type = type,
             .line = original.line};
    if (pass_.is_repeated()) op.repetition = Derived(pass_, absl::StrCat(original.name, " ", OpKindName(kind)));
    const Rule rule = RuleOf(result_.graph, op);
    std::vector<const Layout*> read;
    std::vector<PassThrough> passes;
    for (const Layout& layout : layouts) read.push_back(&layout);
    for (const PartialAxis& partial : layouts.front().partial) passes.push_back({.axis = partial.axis});
    const OpPlan& planned = plan_.ops[original.id];
    if (original.phase != Phase::kForward || kind != OpKind::kSlice) Inherit(op.inputs[0], op);
    return Append(std::move(op), original,
                  {.strategy = StrategyOfBuilt(rule, read, passes, plan_.mesh),
                   .output = {},
                   .stage = planned.stage,
                   .decided_by = planned.decided_by,
                   .reason = absl::StrCat(original.name, " in parts"),
                   .choices = {}});
  }

  OpId Append(Op op, const Op& original, OpPlan plan) {
    return ir::Append(std::move(op), original, std::move(plan), result_);
  }

  const Graph& graph_;
  const Plan& plan_;
  Distributed result_;
  UniqueNames names_;
  IdVector<OpId, uint8_t> is_added_;
  std::map<std::tuple<OpId, int, int64_t, Layout>, OpId> slices_;
  std::map<std::pair<OpId, int64_t>, OpId> shares_;  // By the gradient and the number of parts.
  Repetition pass_;                                  // Of the slice that is being added.
};

}  // namespace

std::optional<Distributed> WithSlicedLosses(const Graph& graph, const Plan& plan) {
  const bool has_any = std::any_of(graph.ops.begin(), graph.ops.end(),
                                   [](const Op& op) { return op.kind == OpKind::kCrossEntropy && PartsOf(op) > 1; });
  return has_any && !plan.pipeline.has_value() ? Slicer(graph, plan).Run() : std::nullopt;
}

}  // namespace cleave::ir
