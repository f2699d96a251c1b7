#include "tools/driver/watch.h"

#include <algorithm>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/graph/ops/ops.h"

namespace cleave::tools {
namespace {

bool IsValueOfModel(const ir::Op& op) {
  if (ir::DefinitionOf(op).op_class != ir::OpClass::kSource) return true;
  return op.kind == ir::OpKind::kInput || op.kind == ir::OpKind::kParameter || op.kind == ir::OpKind::kState;
}

// What is looked at under the name of an op. A slot of the optimizer is looked at as the update leaves it, as `print`
// does.
ir::OpId WatchedValue(const ir::Graph& graph, ir::OpId op) {
  if (graph.op(op).kind != ir::OpKind::kState) return op;
  const auto update = std::find_if(graph.updates.begin(), graph.updates.end(),
                                   [&](const ir::StateUpdate& update) { return update.state == op; });
  return update == graph.updates.end() ? op : update->value;
}

// The candidates that are most like `word`.
std::vector<std::string> Nearest(absl::string_view word, std::vector<std::string> candidates) {
  constexpr size_t kMost = 3;
  std::vector<std::string> nearest;
  while (nearest.size() < kMost) {
    const std::optional<std::string> next = NearestName(word, candidates);
    if (!next.has_value()) break;
    nearest.push_back(*next);
    candidates.erase(std::find(candidates.begin(), candidates.end(), *next));
  }
  return nearest;
}

}  // namespace

// Says which names are like the pattern: as a whole, or in the part before the first dot.
Diagnostic NothingMatches(const std::string& option, const std::string& pattern,
                          const std::vector<std::string>& names) {
  const auto without_stars = [](std::string text) {
    text.erase(std::remove_if(text.begin(), text.end(), [](char c) { return c == '*' || c == '?'; }), text.end());
    return text;
  };
  std::set<std::string> heads;
  for (const std::string& name : names) heads.insert(name.substr(0, name.find('.')));
  std::vector<std::string> near = Nearest(without_stars(pattern), names);
  for (const std::string& head :
       Nearest(without_stars(pattern.substr(0, pattern.find('.'))), {heads.begin(), heads.end()})) {
    near.push_back(absl::StrCat(head, ".*"));
  }
  Diagnostic error = Error(Code::kE0610, absl::StrCat("no value matches `", option, " ", pattern, "`"));
  if (!near.empty()) error.help.push_back(absl::StrCat("did you mean ", QuotedList(near, "or"), "?"));
  error.help.push_back("`--emit graph` shows the names of all values; `*` stands for any text, `?` for any character");
  return error;
}

bool WatchValues(const std::vector<std::string>& patterns, ir::Graph& graph, Diagnostics& diagnostics) {
  std::set<ir::OpId> watched;
  bool all_match = true;
  for (const std::string& pattern : patterns) {
    bool matches = false;
    std::vector<std::string> names;
    for (const ir::Op& op : graph.ops) {
      if (!IsValueOfModel(op)) continue;
      names.push_back(op.name);
      if (!MatchesPattern(pattern, op.name)) continue;
      watched.insert(op.id);
      matches = true;
    }
    if (matches) continue;
    diagnostics.Add(NothingMatches("--watch", pattern, names));
    all_match = false;
  }
  for (const ir::OpId id : watched) {
    graph.looks.push_back({.kind = ir::LookKind::kWatch, .value = WatchedValue(graph, id), .name = graph.op(id).name});
  }
  return all_match;
}

}  // namespace cleave::tools
