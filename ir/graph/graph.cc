#include "ir/graph/graph.h"

#include "base/check/check.h"

namespace cleave {
namespace {

template <typename T>
const T& Get(const Attributes& attributes, const std::string& name) {
  const auto found = attributes.values.find(name);
  CLEAVE_CHECK(found != attributes.values.end()) << "no attribute " << name;
  const T* value = std::get_if<T>(&found->second);
  CLEAVE_CHECK(value != nullptr) << "attribute " << name << " has another type";
  return *value;
}

}  // namespace

bool Attributes::GetBool(const std::string& name) const { return Get<bool>(*this, name); }
int64_t Attributes::GetInt(const std::string& name) const { return Get<int64_t>(*this, name); }
double Attributes::GetDouble(const std::string& name) const { return Get<double>(*this, name); }
const std::string& Attributes::GetString(const std::string& name) const { return Get<std::string>(*this, name); }
const std::vector<int64_t>& Attributes::GetInts(const std::string& name) const {
  return Get<std::vector<int64_t>>(*this, name);
}
const std::vector<double>& Attributes::GetDoubles(const std::string& name) const {
  return Get<std::vector<double>>(*this, name);
}

absl::string_view PhaseName(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return "forward";
    case Phase::kMetric:
      return "metric";
    case Phase::kBackward:
      return "backward";
    case Phase::kUpdate:
      return "update";
  }
  CLEAVE_UNREACHABLE();
}

std::optional<Phase> ParsePhase(absl::string_view name) {
  for (Phase phase : {Phase::kForward, Phase::kMetric, Phase::kBackward, Phase::kUpdate}) {
    if (name == PhaseName(phase)) return phase;
  }
  return std::nullopt;
}

std::optional<OpId> Graph::Find(absl::string_view name) const {
  for (const Op& op : ops) {
    if (op.name == name) return op.id;
  }
  return std::nullopt;
}

IdVector<OpId, std::vector<OpId>> Users(const Graph& graph) {
  IdVector<OpId, std::vector<OpId>> users(graph.ops.size());
  for (const Op& op : graph.ops) {
    for (OpId input : op.inputs) users[input].push_back(op.id);
  }
  return users;
}

}  // namespace cleave
