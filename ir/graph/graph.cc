#include "ir/graph/graph.h"

#include "base/check/check.h"

namespace cleave::ir {
absl::string_view PhaseName(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return "forward";
    case Phase::kMetric:
      return "metric";
    case Phase::kBackward:
      return "backward";
    case Phase::kWeights:
      return "weights";
    case Phase::kUpdate:
      return "update";
  }
  CLEAVE_UNREACHABLE();
}

std::optional<Phase> ParsePhase(absl::string_view name) {
  for (Phase phase : {Phase::kForward, Phase::kMetric, Phase::kBackward, Phase::kWeights, Phase::kUpdate}) {
    if (name == PhaseName(phase)) return phase;
  }
  return std::nullopt;
}

InputReading ReadingOf(const Attributes& input) {
  if (!input.Has(attribute::kFile)) return InputReading::kSamples;
  return input.IsSet(attribute::kPerStep) ? InputReading::kStep : InputReading::kOnce;
}

bool IsSamples(OpKind kind, const Attributes& attributes) {
  return kind == OpKind::kInput && ReadingOf(attributes) == InputReading::kSamples;
}

std::optional<OpId> Graph::Find(absl::string_view name) const {
  for (const Op& op : ops) {
    if (op.name == name) return op.id;
  }
  return std::nullopt;
}

TextPlace PlaceOf(const Op& op) {
  return op.repetition.is_repeated() ? op.repetition.place : Within(0, static_cast<uint64_t>(op.id.value()));
}

IdVector<OpId, std::vector<OpId>> Users(const Graph& graph) {
  IdVector<OpId, std::vector<OpId>> users(graph.ops.size());
  for (const Op& op : graph.ops) {
    for (OpId input : op.inputs) users[input].push_back(op.id);
  }
  return users;
}

absl::string_view LookKindName(LookKind kind) {
  switch (kind) {
    case LookKind::kPrint:
      return "print";
    case LookKind::kPrintLocal:
      return "print_local";
    case LookKind::kAssertFinite:
      return "assert_finite";
    case LookKind::kWatch:
      return "watch";
    case LookKind::kOutput:
      return "output";
  }
  return "";
}

std::optional<LookKind> ParseLookKind(absl::string_view name) {
  for (LookKind kind :
       {LookKind::kPrint, LookKind::kPrintLocal, LookKind::kAssertFinite, LookKind::kWatch, LookKind::kOutput}) {
    if (LookKindName(kind) == name) return kind;
  }
  return std::nullopt;
}

}  // namespace cleave::ir
