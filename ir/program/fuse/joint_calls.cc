#include "ir/program/fuse/joint_calls.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/fuse/place_of_piece.h"

namespace cleave::ir {
namespace {

const Compute& ComputeAt(const Program& program, int step) {
  return std::get<Compute>(program.steps[static_cast<size_t>(step)].action);
}

const std::vector<Companion>& CompanionsOf(const Program& program, const JointCall& call) {
  return DefinitionOf(ComputeAt(program, call.op).kind).companions;
}

class JointCallFinder {
 public:
  explicit JointCallFinder(const Program& program) : program_(program), places_(program) {}

  std::vector<JointCall> Run() {
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      const auto* const compute = std::get_if<Compute>(&program_.steps[i].action);
      if (compute == nullptr || DefinitionOf(compute->kind).companions.empty()) continue;
      AddCallOf(static_cast<int>(i));
    }
    return std::move(found_);
  }

 private:
  void AddCallOf(int op) {
    if (taken_.count(op) > 0) return;
    JointCall call = {.steps = {op}, .place = op, .op = op, .companions = {}};
    const std::vector<Companion>& companions = CompanionsOf(program_, call);
    call.companions.resize(companions.size());
    for (size_t i = 0; i < companions.size(); ++i) AddCompanion(companions[i], i, call);
    if (call.steps.size() == 1) return;
    taken_.insert(call.steps.begin(), call.steps.end());
    found_.push_back(std::move(call));
  }

  // The first op that is this companion, if there is one that can run with the others.
  void AddCompanion(const Companion& companion, size_t number, JointCall& call) const {
    const std::vector<ValueId>& inputs = ComputeAt(program_, call.op).inputs;
    const auto shared = absl::c_find_if(companion.inputs, [&](int t) { return t < static_cast<int>(inputs.size()); });
    if (shared == companion.inputs.end()) return;
    for (const int step : places_.ReadersOf(inputs[static_cast<size_t>(*shared)])) {
      if (taken_.count(step) > 0 || absl::c_linear_search(call.steps, step)) continue;
      if (!places_.RunTogether(call.op, step) || !IsCompanion(companion, call, step)) continue;
      JointCall joined = call;
      joined.steps.insert(absl::c_lower_bound(joined.steps, step), step);
      joined.companions[number] = step;
      const std::optional<int> place = places_.PlaceOf(joined.steps);
      if (!place.has_value()) continue;
      joined.place = *place;
      call = std::move(joined);
      return;
    }
  }

  bool IsCompanion(const Companion& companion, const JointCall& call, int step) const {
    const auto* const compute = std::get_if<Compute>(&program_.steps[static_cast<size_t>(step)].action);
    if (compute == nullptr || compute->kind != companion.kind) return false;
    if (compute->inputs.size() != companion.inputs.size()) return false;
    for (size_t i = 0; i < companion.inputs.size(); ++i) {
      const std::optional<ValueId> known = ValueOf(program_, call, companion.inputs[i]);
      if (known.has_value() && known != compute->inputs[i]) return false;
    }
    return companion.fits == nullptr || Fits(companion, ComputeAt(program_, call.op), *compute);
  }

  bool Fits(const Companion& companion, const Compute& op, const Compute& other) const {
    const std::vector<TensorType> inputs = InputTypesOf(op), others = InputTypesOf(other);
    const auto site = [&](const Compute& compute, const std::vector<TensorType>& types) {
      return CallSite{.inputs = types,
                      .output = program_.value(compute.output).type,
                      .attributes = compute.attributes,
                      .is_manual = program_.is_manual};
    };
    return companion.fits(site(op, inputs), site(other, others));
  }

  std::vector<TensorType> InputTypesOf(const Compute& compute) const {
    std::vector<TensorType> types;
    for (const ValueId input : compute.inputs) types.push_back(program_.value(input).type);
    return types;
  }

  const Program& program_;
  const PlacesOfPieces places_;
  std::vector<JointCall> found_;
  std::set<int> taken_;  // Steps of calls that were found.
};

}  // namespace

std::vector<JointCall> FindJointCalls(const Program& program) { return JointCallFinder(program).Run(); }

int TensorOf(const Program& program, const JointCall& call, int step, int input) {
  const auto companion = absl::c_find(call.companions, step);
  if (companion == call.companions.end()) return input;
  const auto number = static_cast<size_t>(companion - call.companions.begin());
  return CompanionsOf(program, call)[number].inputs[static_cast<size_t>(input)];
}

std::optional<Overwriting> OverwritingOf(const Program& program, const JointCall& call) {
  for (const int step : call.steps) {
    const std::optional<int> input = DefinitionOf(ComputeAt(program, step).kind).overwrites;
    if (input.has_value()) return Overwriting{.step = step, .tensor = TensorOf(program, call, step, *input)};
  }
  return std::nullopt;
}

std::optional<ValueId> ValueOf(const Program& program, const JointCall& call, int tensor) {
  const Compute& op = ComputeAt(program, call.op);
  if (tensor == kResult) return op.output;
  if (const std::optional<int> companion = CompanionOf(tensor); companion.has_value()) {
    const std::optional<int> step = call.companions[static_cast<size_t>(*companion)];
    return step.has_value() ? std::make_optional(ComputeAt(program, *step).output) : std::nullopt;
  }
  if (tensor < static_cast<int>(op.inputs.size())) return op.inputs[static_cast<size_t>(tensor)];
  const std::vector<Companion>& companions = CompanionsOf(program, call);
  for (size_t i = 0; i < companions.size(); ++i) {
    const auto place = absl::c_find(companions[i].inputs, tensor);
    if (!call.companions[i].has_value() || place == companions[i].inputs.end()) continue;
    const Compute& own = ComputeAt(program, *call.companions[i]);
    return own.inputs[static_cast<size_t>(place - companions[i].inputs.begin())];
  }
  return std::nullopt;
}

}  // namespace cleave::ir
