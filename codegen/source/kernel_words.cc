#include "codegen/source/kernel_words.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace cleave::codegen {
namespace {

// "gelu_gradient", "to_bf16".
std::string OpWord(const Emission& emission, const ir::Compute& compute) {
  if (compute.kind != ir::OpKind::kCast) return std::string(ir::OpKindName(compute.kind));
  return absl::StrCat("to_", ir::DTypeName(emission.value(compute.output).type.dtype));
}

}  // namespace

KernelWords::KernelWords(const Emission& emission, const ir::FusedLoop& loop) : emission_(emission) {
  for (const int i : loop.steps) {
    computes_.push_back(ir::ComputeOf(emission.step(i)));
    const ir::ValueId output = computes_.back()->output;
    const std::optional<ir::ValueId> state = StateUpdatedBy(output);
    if (!state.has_value()) continue;
    states_[*state] = *state;
    states_[output] = *state;
    const ir::Op& origin = OriginOf(*state);
    if (origin.kind != ir::OpKind::kParameter) continue;
    parameters_.push_back(origin.name);
    if (!origin.attributes.Get(ir::attribute::kTrained)) continue;
    is_trained_ = true;
    const ir::Training& training = emission_.training;
    const auto other = training.other_optimizers.find(origin.name);
    optimizer_ = other == training.other_optimizers.end() ? training.optimizer : other->second;
  }
}

// An updated state is the root of its new value, unless that is copied at the end of the step.
std::optional<ir::ValueId> KernelWords::StateUpdatedBy(ir::ValueId value) const {
  for (const ir::ProgramUpdate& copy : emission_.storage.copies) {
    if (copy.value == value) return copy.state;
  }
  const std::optional<ir::ValueId> root = emission_.storage.root[value];
  if (!root.has_value() || *root == value || emission_.fusion.written_by[*root] >= 0) return std::nullopt;
  return root;
}

std::string KernelWords::Kernel() const {
  if (!parameters_.empty()) {
    const size_t count = parameters_.size();
    return absl::StrCat(is_trained_ ? TypeName(optimizer_) : "State", "Update",
                        count > 1 ? absl::StrCat("Of", count) : "");
  }
  constexpr size_t kNamed = 3;
  const size_t named = computes_.size() > kNamed ? 2 : computes_.size();
  std::string name;
  for (size_t i = 0; i < named; ++i) absl::StrAppend(&name, TypeName(OpWord(emission_, *computes_[i])));
  if (named < computes_.size()) absl::StrAppend(&name, "And", computes_.size() - named, "More");
  return name;
}

std::string KernelWords::Of(ir::ValueId value) const {
  if (const auto state = states_.find(value); state != states_.end()) {
    const ir::Op& origin = OriginOf(state->second);
    if (origin.kind == ir::OpKind::kParameter) return is_trained_ ? "parameter" : "state";
    const std::string slot = WithoutParameter(origin.name);
    return slot.empty() ? "state" : slot;
  }
  for (const ir::Compute* compute : computes_) {
    if (compute->output != value) continue;
    const std::string part = WithoutParameter(emission_.value(value).name);
    return part.empty() ? OpWord(emission_, *compute) : part;
  }
  const std::optional<ir::OpId> differentiated = OriginOf(value).gradient_of;
  if (!parameters_.empty() && differentiated.has_value() &&
      emission_.graph.op(*differentiated).kind == ir::OpKind::kParameter) {
    return "gradient";
  }
  for (const ir::Compute* compute : computes_) {
    const auto input = std::find(compute->inputs.begin(), compute->inputs.end(), value);
    if (input == compute->inputs.end()) continue;
    return ir::DefinitionOf(compute->kind)
        .element->function.parameters[static_cast<size_t>(input - compute->inputs.begin())];
  }
  return "x";
}

std::string KernelWords::WithoutParameter(const std::string& name) const {
  absl::string_view rest;
  for (const std::string& parameter : parameters_) {
    absl::string_view candidate = name;
    if (!absl::ConsumePrefix(&candidate, absl::StrCat(parameter, "."))) continue;
    if (rest.empty() || candidate.size() < rest.size()) rest = candidate;
  }
  return std::string(rest);
}

}  // namespace cleave::codegen
