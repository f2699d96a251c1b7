#include "frontend/optimizer/share.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"

namespace cleave::frontend {
namespace {

class Sharing {
 public:
  explicit Sharing(const ir::Graph& expanded) : places_(expanded.ops.size()) {
    builder_.SetPhase(ir::Phase::kUpdate);
    builder_.Reserve(expanded.ops.size());
    for (const ir::StateUpdate& update : expanded.updates) {
      // What stands before the state, such as a clipped gradient, has a name of its own.
      if (update.value.value() < update.state.value()) continue;
      if (ir::DefinitionOf(expanded.op(update.value)).op_class == ir::OpClass::kSource) continue;
      result_of_.try_emplace(update.value, update.state);
    }
  }

  void Add(const ir::Op& op, const PartOfUpdates& part) {
    std::vector<ir::OpId> inputs;
    inputs.reserve(op.inputs.size());
    for (ir::OpId input : op.inputs) inputs.push_back(places_[input]);
    places_[op.id] = IsShared(op, inputs) ? Shared(op, std::move(inputs), part) : Own(op, std::move(inputs), part);
  }

  void AddUpdate(const ir::StateUpdate& update) {
    ir::OpId value = places_[update.value];
    const ir::OpId state = places_[update.state];
    const auto result = result_of_.find(update.value);
    if (result == result_of_.end() || result->second != update.state || shared_ids_.count(value) > 0) {
      builder_.SetLine(builder_.graph().op(state).line);
      builder_.SetSource(builder_.graph().op(state));
      value = builder_.Add(ir::OpKind::kScale, {value}, {{ir::attribute::kFactor, 1.0}}, NewNameOf(state));
    }
    builder_.mutable_graph().updates.push_back({.state = state, .value = value});
  }

  ir::Updates Finish(IdVector<ir::OpId, ir::OpId>& places) && {
    places = std::move(places_);
    return {std::move(builder_).Build()};
  }

 private:
  using Key = std::tuple<ir::OpKind, std::vector<ir::OpId>, std::map<std::string, ir::AttributeValue>>;

  bool IsShared(const ir::Op& op, const std::vector<ir::OpId>& inputs) const {
    if (op.type.rank() > 0 || op.attributes.Has(ir::attribute::kKey)) return false;
    if (inputs.empty()) return op.kind == ir::OpKind::kConstant || op.kind == ir::OpKind::kStepScalar;
    return std::all_of(inputs.begin(), inputs.end(), [&](ir::OpId input) { return shared_ids_.count(input) > 0; });
  }

  ir::OpId Shared(const ir::Op& op, std::vector<ir::OpId> inputs, const PartOfUpdates& part) {
    const auto [found, is_new] = shared_.try_emplace(Key(op.kind, inputs, op.attributes.values()));
    if (!is_new) return found->second;
    builder_.SetLine(0);
    const std::string prefix = absl::StrCat(part.parameter, ".");
    const std::string name(absl::StripPrefix(op.name, prefix));
    found->second = builder_.AddLike(op, std::move(inputs), name);
    shared_ids_.insert(found->second);
    return found->second;
  }

  ir::OpId Own(const ir::Op& op, std::vector<ir::OpId> inputs, const PartOfUpdates& part) {
    builder_.SetLine(part.line);
    const auto result = result_of_.find(op.id);
    const std::string name = result == result_of_.end() ? op.name : NewNameOf(places_[result->second]);
    const ir::OpId own = builder_.AddLike(op, std::move(inputs), name);
    builder_.mutable_graph().ops[own].repetition = op.repetition;
    return own;
  }

  std::string NewNameOf(ir::OpId state) const { return absl::StrCat(builder_.graph().op(state).name, ".new"); }

  ir::GraphBuilder builder_;
  IdVector<ir::OpId, ir::OpId> places_;
  std::map<ir::OpId, ir::OpId> result_of_;  // By a computed value, the first state or parameter that gets it.
  std::map<Key, ir::OpId> shared_;
  std::set<ir::OpId> shared_ids_;
};

}  // namespace

ir::Updates ShareScalars(const ir::Graph& expanded, const std::vector<PartOfUpdates>& parts,
                         IdVector<ir::OpId, ir::OpId>& places) {
  Sharing sharing(expanded);
  size_t part = 0;
  for (const ir::Op& op : expanded.ops) {
    while (part + 1 < parts.size() && parts[part + 1].first <= op.id.value()) ++part;
    sharing.Add(op, parts[part]);
  }
  for (const ir::StateUpdate& update : expanded.updates) sharing.AddUpdate(update);
  return std::move(sharing).Finish(places);
}

}  // namespace cleave::frontend
