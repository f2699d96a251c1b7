#include "frontend/evaluate/path_numbers.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace cleave::frontend {

int PathNumbers::Within(int place, const dsl::syntax::Statement* statement) {
  return places_.try_emplace({place, statement}, static_cast<int>(places_.size()) + 1).first->second;
}

int PathNumbers::NumberOf(int place, const dsl::syntax::Statement* statement) const {
  const auto found = numbers_.find({place, statement});
  return found == numbers_.end() ? 0 : found->second;
}

bool PathNumbers::Collide(const TextTrail& first, const TextTrail& again) {
  for (size_t i = 0; i < std::min(first.size(), again.size()); ++i) {
    if (first[i].frame != again[i].frame) return false;  // Two calls in one statement.
    if (first[i].statement == again[i].statement) continue;
    // Calls in a statement without a name are told apart by the callee and its ordinal, once.
    if (!again[i].is_named && NumberOf(again[i].place, again[i].statement) > 0) return false;
    collided_.push_back(again[i]);
    return true;
  }
  return false;
}

bool PathNumbers::Settle(const ir::Graph& graph) {
  std::set<Key> settled;
  std::set<std::string> stems;
  const auto is_taken = [&](const std::string& stem) {
    return stems.count(stem) > 0 || std::any_of(graph.ops.begin(), graph.ops.end(), [&](const ir::Op& op) {
             return op.kind == ir::OpKind::kParameter && absl::StartsWith(op.name, stem) &&
                    (op.name.size() == stem.size() || op.name[stem.size()] == '.');
           });
  };
  for (const TextStep& step : collided_) {
    if (!settled.insert({step.place, step.statement}).second) continue;
    int& number = numbers_[{step.place, step.statement}];
    std::string stem;
    do {
      stem = absl::StrCat(step.stem, "_", ++number);
    } while (is_taken(stem));
    stems.insert(std::move(stem));
  }
  collided_.clear();
  return !settled.empty();
}

}  // namespace cleave::frontend
