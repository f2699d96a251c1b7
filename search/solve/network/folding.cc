#include "search/solve/network/folding.h"

#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace cleave::search {
namespace {

uint64_t Mix(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9e3779b97f4a7c15u + b + 0x7f4a7c15u;
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

using Looks = IdVector<ir::OpId, uint64_t>;

// Numbers ops: equal where rules and looks are equal.
IdVector<ir::OpId, int> Numbered(const GraphFacts& facts, const Looks& look) {
  absl::flat_hash_map<std::pair<int, uint64_t>, int> numbers;
  IdVector<ir::OpId, int> result;
  for (const ir::Op& op : facts.graph->ops) {
    const std::pair key(facts.rule_of[op.id], look[op.id]);
    result.push_back(numbers.emplace(key, static_cast<int>(numbers.size())).first->second);
  }
  return result;
}

}  // namespace

Folding FoldOps(const StrategyTable& table, const OpDemands& demands, const IdVector<ir::OpId, int>& kinds,
                const SearchTuning& tuning) {
  const GraphFacts& facts = table.facts();
  const size_t count = facts.graph->ops.size();
  Looks look(count), next(count);
  const auto is_forward = [&](ir::OpId op) { return facts.op(op).phase == ir::Phase::kForward; };
  for (const ir::Op& op : facts.graph->ops) {
    look[op.id] = Mix(static_cast<uint64_t>(facts.rule_of[op.id]), static_cast<uint64_t>(facts.roles[op.id]));
    look[op.id] = Mix(look[op.id], static_cast<uint64_t>(table.local_kind(op.id)));
    look[op.id] = Mix(look[op.id], static_cast<uint64_t>(kinds[op.id]));
    if (demands.count(op.id) > 0) look[op.id] = Mix(look[op.id], static_cast<uint64_t>(op.id.value()) + 1);
  }
  for (int round = 0; round < tuning.folding_steps; ++round) {
    for (const ir::Op& op : facts.graph->ops) {
      next[op.id] = look[op.id];
      if (!is_forward(op.id)) continue;
      uint64_t& own = next[op.id];
      for (ir::OpId input : op.inputs) own = Mix(own, look[input]);
      uint64_t readers = 0;  // A sum, because their order does not matter.
      for (const Read& read : facts.reads[op.id]) {
        if (is_forward(read.reader)) readers += Mix(look[read.reader], static_cast<uint64_t>(read.input));
      }
      own = Mix(own, readers);
    }
    std::swap(look, next);
  }
  Folding folding{.variables = Numbered(facts, look), .values = {}};
  // Terms are equal if everything that they depend on is equal, which reaches some steps further than for variables. An
  // op that follows from others looks like the ops that it follows from, that it reads and that read it.
  for (int round = 0; round < tuning.folding_value_steps; ++round) {
    for (const ir::Op& op : facts.graph->ops) {
      uint64_t own = look[op.id];
      if (op.inherits.has_value()) own = Mix(own, look[op.inherits->op]);
      if (op.gradient_of.has_value()) own = Mix(own, look[*op.gradient_of] + 1);
      for (ir::OpId input : op.inputs) own = Mix(own, look[input]);
      uint64_t readers = 0;
      for (const Read& read : facts.reads[op.id]) readers += Mix(look[read.reader], static_cast<uint64_t>(read.input));
      next[op.id] = Mix(own, readers);
    }
    std::swap(look, next);
  }
  folding.values = Numbered(facts, look);
  return folding;
}

}  // namespace cleave::search
