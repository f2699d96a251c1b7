#include "frontend/sightings/sightings.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace cleave::frontend {
namespace {

// "f32[8, 64]", "int = 4", "a tuple of 2".
std::string TypeOf(const Value& value, const ir::Graph& graph) {
  if (value.is_int()) return absl::StrCat("int = ", ValueText(value, graph));
  if (value.is_float()) return absl::StrCat("float = ", ValueText(value, graph));
  if (std::holds_alternative<bool>(value.kind)) return absl::StrCat("bool = ", ValueText(value, graph));
  if (std::holds_alternative<std::string>(value.kind)) return absl::StrCat("string = ", ValueText(value, graph));
  return DescribeType(value, graph);
}

}  // namespace

void Sightings::ForgetOps() {
  for (auto& [span, seen] : values_) seen.ids.clear();
}

void Sightings::Saw(Span span, const Value& value, const ir::Graph& graph) {
  if (value.is_poison() || sources_ == nullptr || !sources_->IsIn(TextOrigin::kFile, span)) return;
  Sighting& seen = values_[span];
  if (value.is_tensor()) {
    const ir::Op& op = graph.op(value.as_tensor());
    if (mapped_ == 0 && !are_ops_named_) seen.ids.push_back(op.id);
    if (!seen.types.empty() && seen.last == op.type) return;  // As in most passes of a loop.
    seen.last = op.type;
  }
  std::string type = TypeOf(value, graph);
  if (mapped_ > 0 && value.is_tensor()) absl::StrAppend(&type, " for one element of `vmap`");
  if (std::find(seen.types.begin(), seen.types.end(), type) != seen.types.end()) return;
  if (seen.types.size() < Sighting::kMostTypes) {
    seen.types.push_back(std::move(type));
  } else {
    seen.has_more_types = true;
  }
}

void Sightings::Means(Span use, Span definition) {
  if (sources_ != nullptr && sources_->IsIn(TextOrigin::kFile, use)) meanings_[use] = definition;
}

void Sightings::NameOps(const ir::Graph& graph) {
  are_ops_named_ = true;
  for (auto& [span, seen] : values_) {
    for (const ir::OpId id : seen.ids) seen.ops.push_back(graph.op(id).name);
    seen.ids.clear();
  }
  if (when_expanded_) when_expanded_();
}

}  // namespace cleave::frontend
