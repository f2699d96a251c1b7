#include "ir/graph/unique_names.h"

#include "absl/strings/str_cat.h"

namespace cleave::ir {

UniqueNames::UniqueNames(const Graph& graph) {
  taken_.reserve(graph.ops.size());
  for (const Op& op : graph.ops) taken_.insert(op.name);
}

std::string UniqueNames::Take(const std::string& wish) {
  std::string name = wish;
  for (int number = 1; taken_.contains(name); ++number) name = absl::StrCat(wish, "_", number);
  taken_.insert(own_.emplace_back(name));
  return name;
}

}  // namespace cleave::ir
