#include "tools/page/tree.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/layer_names/layer_names.h"

namespace cleave::tools {
namespace {

bool IsNumber(absl::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789") == absl::string_view::npos;
}

// "x.0.attn.out" -> "x.0", "attn", "out": a number belongs to what it counts.
std::vector<std::string> PartsOf(absl::string_view name) {
  std::vector<std::string> parts;
  for (const absl::string_view word : absl::StrSplit(name, '.')) {
    if (IsNumber(word) && !parts.empty()) {
      absl::StrAppend(&parts.back(), ".", word);
    } else {
      parts.emplace_back(word);
    }
  }
  return parts;
}

void Sum(Taken& sum, const Taken& own) {
  sum.seconds += own.seconds;
  sum.bytes += own.bytes;
  sum.sent += own.sent;
}

}  // namespace

void ModuleTree::Add(absl::Span<const std::string> names, const Taken& taken) {
  std::vector<Node*> way = {&root_};
  for (const std::string& part : PartsOf(names.front())) {
    Node& node = *way.back();
    const auto [found, is_new] = node.part_of.emplace(LayerNameOf(part).place, nullptr);
    if (is_new) found->second = node.parts.emplace_back(std::make_unique<Node>()).get();
    way.push_back(found->second);
  }
  for (Node* node : way) Sum(node->taken, taken);
  for (const std::string& name : names) {
    const std::vector<std::string> parts = PartsOf(name);
    for (size_t i = 0; i < parts.size(); ++i) way[i + 1]->names.insert(parts[i]);
  }
}

Json ModuleTree::NodeJson(const std::string& name, const Node& node) {
  Json json = JsonObject(
      {{"name", name}, {"seconds", node.taken.seconds}, {"bytes", node.taken.bytes}, {"sent", node.taken.sent}});
  Json parts = Json::array();
  for (const std::unique_ptr<Node>& part : node.parts) {
    const std::vector<std::string> names(part->names.begin(), part->names.end());
    parts.push_back(NodeJson(FoldedName(names), *part));
  }
  if (!parts.empty()) json["parts"] = std::move(parts);
  return json;
}

Json ModuleTree::ToJson() const { return NodeJson("", root_); }

}  // namespace cleave::tools
