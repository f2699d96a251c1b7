#include "ir/transforms/differentiate/differentiate.h"

#include <map>
#include <set>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check/check.h"
#include "base/status/status_macros.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/rule_table.h"
#include "ir/transforms/differentiate/contributions.h"
#include "ir/transforms/differentiate/inherit.h"

namespace cleave::ir {
namespace {

using OpSet = std::set<OpId>;

class Backward {
 public:
  explicit Backward(Graph forward) : builder_(std::move(forward)) {}

  // Appends the backward ops of `loss`, a scalar, by the parameters of which `is_parameter` is true. Of `updates` only
  // the scale of the loss is read.
  absl::Status Run(OpId loss, const Updates& updates, const std::function<bool(const Op&)>& is_parameter) {
    of_parameters_ = DependingOn(builder_.graph(), is_parameter);
    contributions_.emplace(builder_);
    builder_.SetPhase(Phase::kBackward);
    builder_.SetLine(builder_.graph().op(loss).line);
    contributions_->AddWhole(loss, AddLossGradient(updates, absl::StrCat(builder_.graph().op(loss).name, ".grad")));
    for (size_t i = static_cast<size_t>(loss.value()) + 1; i-- > 0;) {
      CLEAVE_RETURN_IF_ERROR(Visit(OpId(static_cast<int64_t>(i))));
    }
    return absl::OkStatus();
  }

  // The same for each of the losses of `updates`, or for that of the model where there are none.
  absl::Status RunAll(const Updates& updates) {
    if (updates.losses.empty()) return Run(*builder_.graph().loss, updates, IsTrained);
    for (const TrainingLoss& loss : updates.losses) {
      const std::set<std::string> parameters(loss.parameters.begin(), loss.parameters.end());
      const auto trains = [&](const Op& op) { return IsTrained(op) && parameters.count(op.name) > 0; };
      CLEAVE_RETURN_IF_ERROR(Run(OpNamed(loss.loss), updates, trains));
    }
    return absl::OkStatus();
  }

  // Sets Op::inherits of what gradient functions made.
  void SetInheritances() {
    RuleTable rules;
    for (const GradientOps& made : made_) SetInheritance(builder_.mutable_graph(), made, rules);
  }

  // Appends the ops of `updates` that do not need a gradient which is missing.
  void AddUpdates(const Updates& updates) {
    builder_.SetPhase(Phase::kUpdate);
    builder_.Reserve(builder_.graph().ops.size() + updates.graph.ops.size());
    std::vector<StateUpdate>& all = builder_.mutable_graph().updates;
    for (size_t i = 0; i < all.size(); ++i) own_updates_[all[i].state] = i;
    IdVector<OpId, std::optional<OpId>> places(updates.graph.ops.size());
    for (const Op& op : updates.graph.ops) places[op.id] = PlaceOf(op, places);
    for (const StateUpdate& update : updates.graph.updates) {
      const std::optional<OpId> value = places[update.value];
      if (!value.has_value()) continue;
      const OpId state = *places[update.state];
      const auto own = own_updates_.find(state);
      (own != own_updates_.end() ? all[own->second] : all.emplace_back()) = {.state = state, .value = *value};
    }
  }

  // The parameters that have a gradient, in program order.
  std::vector<OpId> Trained() const {
    std::vector<OpId> trained;
    for (const auto& [value, gradient] : gradients_) {
      if (builder_.graph().op(value).kind == OpKind::kParameter) trained.push_back(value);
    }
    return trained;
  }

  // Lets looks at gradients and at slots of the optimizer look at the values that these have become.
  absl::Status FindLooks() {
    Graph& graph = builder_.mutable_graph();
    for (Look& look : graph.looks) {
      if (look.part.empty()) continue;
      const std::optional<OpId> value = look.part == "grad" ? GradientOf(look.value) : NewValueOfSlot(look);
      if (!value.has_value()) return NothingToLookAt(look);
      look = {.kind = look.kind, .value = *value, .name = absl::StrCat(look.name, ".", look.part), .line = look.line};
    }
    return absl::OkStatus();
  }

  Graph Build() && { return std::move(builder_).Build(); }

 private:
  OpId AddLossGradient(const Updates& updates, const std::string& name) {
    if (!updates.loss_scale.has_value()) {
      return builder_.Add(OpKind::kConstant, {}, {{attribute::kValue, 1.0}}, name);
    }
    const Op& scale = updates.graph.op(*updates.loss_scale);
    const OpId number = scale.kind == OpKind::kParameter
                            ? OpNamed(scale.name)
                            : builder_.Add(scale.kind, {}, scale.attributes, absl::StrCat(name, ".", scale.name));
    return builder_.Add(OpKind::kScale, {number}, {{attribute::kFactor, 1.0}}, name);
  }

  // The op that `op` of the updates becomes, given those of the ops before it.
  std::optional<OpId> PlaceOf(const Op& op, const IdVector<OpId, std::optional<OpId>>& places) {
    if (op.kind == OpKind::kParameter) return OpNamed(op.name);
    if (op.kind == OpKind::kInput) {
      const OpId named = OpNamed(op.attributes.Get(attribute::kData));
      const auto own = own_updates_.find(named);
      return own != own_updates_.end() ? builder_.graph().updates[own->second].value : GradientOf(named);
    }
    std::vector<OpId> inputs;
    inputs.reserve(op.inputs.size());
    for (OpId input : op.inputs) {
      if (!places[input].has_value()) return std::nullopt;
      inputs.push_back(*places[input]);
    }
    builder_.SetLine(op.line);
    const OpId place = builder_.AddLike(op, std::move(inputs), op.name);
    builder_.mutable_graph().ops[place].repetition = op.repetition;
    return place;
  }

  OpId OpNamed(const std::string& name) const {
    const std::optional<OpId> op = builder_.Find(name);
    CLEAVE_CHECK(op.has_value()) << "no `" << name << "` to update or to differentiate";
    return *op;
  }

  std::optional<OpId> GradientOf(OpId value) const {
    const auto found = gradients_.find(value);
    return found == gradients_.end() ? std::nullopt : std::make_optional(found->second);
  }

  std::optional<OpId> NewValueOfSlot(const Look& look) const {
    const Graph& graph = builder_.graph();
    const std::optional<OpId> slot = graph.Find(absl::StrCat(graph.op(look.value).name, ".", look.part));
    for (const StateUpdate& update : graph.updates) {
      if (slot == update.state) return update.value;
    }
    return std::nullopt;
  }

  static absl::Status NothingThere(const Look& look, const std::string& why) {
    absl::Status status = absl::NotFoundError(absl::StrCat("`", look.name, ".", look.part, "` does not exist: ", why));
    status.SetPayload(kLineOfLook, absl::Cord(absl::StrCat(look.line)));
    return status;
  }

  absl::Status NothingToLookAt(const Look& look) const {
    if (look.part == "grad") {
      return NothingThere(look, absl::StrCat("the loss does not depend on parameters through `", look.name, "`"));
    }
    std::vector<std::string> slots;
    const std::string prefix = absl::StrCat(look.name, ".");
    for (const StateUpdate& update : builder_.graph().updates) {
      const Op& state = builder_.graph().op(update.state);
      if (absl::StartsWith(state.name, prefix))
        slots.push_back(absl::StrCat("`", state.name.substr(prefix.size()), "`"));
    }
    slots.push_back("`grad`");
    return NothingThere(look, absl::StrCat("of `", look.name, "` there is ", absl::StrJoin(slots, ", ")));
  }

  absl::Status Visit(OpId id) {
    if (of_parameters_.count(id) == 0 || !contributions_->Has(id)) return absl::OkStatus();
    // A copy, because the graph grows.
    const Op op = builder_.graph().op(id);
    builder_.SetLine(op.line);
    builder_.SetSource(op);
    if (contributions_->PassThroughGather(op)) return absl::OkStatus();
    const OpId gradient = contributions_->Sum(op);
    gradients_.try_emplace(id, gradient);
    // One value may be the gradient of several; if a parameter is among them, it counts.
    std::optional<OpId>& gradient_of = builder_.mutable_graph().ops[gradient].gradient_of;
    if (!gradient_of.has_value() || op.kind == OpKind::kParameter) gradient_of = id;
    if (op.inputs.empty()) return absl::OkStatus();

    const OpDefinition& definition = DefinitionOf(op);
    if (definition.gradient == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("the loss depends on parameters through `", op.name, "`, line ",
                                                     op.line, ", and `", OpKindName(op.kind), "` has no gradient"));
    }
    GradientOps made{.forward = id, .output_gradient = gradient, .first = End(), .end = {}, .gradients = {}};
    made.gradients = definition.gradient(builder_, op, gradient);
    made.end = End();
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (made.gradients[i].has_value() && of_parameters_.count(op.inputs[i]) > 0) {
        contributions_->Add(op, i, *made.gradients[i]);
      }
    }
    made_.push_back(std::move(made));
    return absl::OkStatus();
  }

  OpId End() const { return OpId(static_cast<int64_t>(builder_.graph().ops.size())); }

  GraphBuilder builder_;
  std::vector<GradientOps> made_;
  OpSet of_parameters_;  // What Run is about, as the next one.
  std::optional<Contributions> contributions_;
  std::map<OpId, OpId> gradients_;
  std::map<OpId, size_t> own_updates_;  // By state: which of the updates of the model itself is its update.
};

// Drops those ops from `first` on that no update and no look needs: gradients of inputs.
Graph WithoutUnused(Graph graph, OpId first) {
  IdVector<OpId, char> used(graph.ops.size(), false);
  for (const StateUpdate& update : graph.updates) used[update.state] = used[update.value] = true;
  for (const Look& look : graph.looks) used[look.value] = true;
  for (size_t i = graph.ops.size(); i-- > 0;) {
    const Op& op = graph.ops[OpId(static_cast<int64_t>(i))];
    if (op.id < first) used[op.id] = true;
    if (!used[op.id]) continue;
    for (const OpId input : op.inputs) used[input] = true;
  }
  IdVector<OpId, OpId> new_id(graph.ops.size());
  IdVector<OpId, Op> kept;
  for (Op& op : graph.ops) {
    if (!used[op.id]) continue;
    new_id[op.id] = OpId(static_cast<int64_t>(kept.size()));
    op.id = new_id[op.id];
    for (OpId& input : op.inputs) input = new_id[input];
    kept.push_back(std::move(op));
  }
  for (StateUpdate& update : graph.updates) {
    update = {.state = new_id[update.state], .value = new_id[update.value]};
  }
  for (Look& look : graph.looks) look.value = new_id[look.value];
  graph.ops = std::move(kept);
  return graph;
}

// Names whole gradients after the value that they belong to. They are of its passes, whatever pass reads it.
void NameGradients(Graph& graph) {
  absl::flat_hash_set<absl::string_view> taken;
  taken.reserve(graph.ops.size());
  for (const Op& op : graph.ops) taken.insert(op.name);
  for (Op& op : graph.ops) {
    if (!op.gradient_of.has_value()) continue;
    const Op& value = graph.op(*op.gradient_of);
    op.repetition = Derived(value.repetition, ".grad");
    std::string name = absl::StrCat(value.name, ".grad");
    if (taken.contains(name)) continue;
    taken.erase(op.name);
    op.name = std::move(name);
    taken.insert(op.name);
  }
}

// Whether there is a loss from which gradients can start.
absl::Status CheckLoss(const Graph& forward) {
  if (!forward.loss.has_value()) return absl::InvalidArgumentError("the model has no loss");
  const Op& loss = forward.op(*forward.loss);
  if (loss.type == TensorType{DType::kF32, {}}) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the loss `", loss.name, "`, line ", loss.line, ", is ", loss.type.ToString(), ", not a scalar"));
}

}  // namespace

absl::StatusOr<Graph> Differentiate(Graph forward, const Updates& updates) {
  CLEAVE_RETURN_IF_ERROR(CheckLoss(forward));
  const OpId first_new(static_cast<int64_t>(forward.ops.size()));
  Backward backward(std::move(forward));
  CLEAVE_RETURN_IF_ERROR(backward.RunAll(updates));
  backward.SetInheritances();
  backward.AddUpdates(updates);
  CLEAVE_RETURN_IF_ERROR(backward.FindLooks());
  Graph graph = WithoutUnused(std::move(backward).Build(), first_new);
  NameGradients(graph);
  return graph;
}

bool IsTrained(const Op& op) { return op.kind == OpKind::kParameter && op.attributes.Get(attribute::kTrained); }

std::set<OpId> DependingOn(const Graph& graph, const std::function<bool(const Op&)>& is_parameter) {
  OpSet result;
  for (const Op& op : graph.ops) {
    if (op.type.dtype != DType::kF32 || op.kind == OpKind::kStopGradient) continue;
    bool depends = is_parameter(op);
    for (OpId input : op.inputs) depends = depends || result.count(input) > 0;
    if (depends) result.insert(op.id);
  }
  return result;
}

std::vector<OpId> ParametersOf(const Graph& forward, OpId loss) {
  Backward backward(forward);
  return backward.Run(loss, {}, IsTrained).ok() ? backward.Trained() : std::vector<OpId>();
}

std::vector<OpId> TrainedParameters(const Graph& forward) {
  return CheckLoss(forward).ok() ? ParametersOf(forward, *forward.loss) : std::vector<OpId>();
}

}  // namespace cleave::ir
