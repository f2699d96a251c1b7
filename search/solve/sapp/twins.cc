#include "search/solve/sapp/twins.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace cleave::search {
namespace {

// Equal keys get equal numbers.
using Numbers = std::map<std::vector<int>, int>;

int NumberOf(Numbers& numbers, std::vector<int> key) {
  return numbers.emplace(std::move(key), static_cast<int>(numbers.size())).first->second;
}

// The first input that the op's rule treats like `input`.
int PlaceOf(const ir::Rule& rule, int input) {
  const auto& dimensions = rule.inputs[static_cast<size_t>(input)];
  return static_cast<int>(std::find(rule.inputs.begin(), rule.inputs.end(), dimensions) - rule.inputs.begin());
}

// A number for what makes each value: equal for equal rules on values of equal numbers.
IdVector<ir::OpId, int> Origins(const GraphFacts& facts) {
  IdVector<ir::OpId, int> origins(facts.graph->ops.size(), 0);
  Numbers numbers;
  for (const ir::Op& op : facts.graph->ops) {
    std::vector<std::pair<int, int>> inputs;  // (place, origin)
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      inputs.emplace_back(PlaceOf(facts.rule(op.id), static_cast<int>(i)), origins[op.inputs[i]]);
    }
    std::sort(inputs.begin(), inputs.end());
    std::vector<int> key = {static_cast<int>(op.kind), static_cast<int>(op.phase), facts.rule_of[op.id]};
    for (const auto& [place, origin] : inputs) key.insert(key.end(), {place, origin});
    origins[op.id] = NumberOf(numbers, std::move(key));
  }
  return origins;
}

// A number for what becomes of each value in the forward pass.
IdVector<ir::OpId, int> Fates(const GraphFacts& facts, const IdVector<ir::OpId, int>& origins) {
  IdVector<ir::OpId, int> fates(facts.graph->ops.size(), 0);
  Numbers numbers;
  for (size_t i = facts.graph->ops.size(); i-- > 0;) {
    const ir::OpId op(static_cast<int64_t>(i));
    std::vector<std::vector<int>> readers;  // (place, origin, fate)
    for (const Read& read : facts.reads[op]) {
      if (facts.op(read.reader).phase != ir::Phase::kForward) continue;
      readers.push_back({PlaceOf(facts.rule(read.reader), read.input), origins[read.reader], fates[read.reader]});
    }
    std::sort(readers.begin(), readers.end());
    std::vector<int> key = {origins[op]};
    for (const std::vector<int>& reader : readers) key.insert(key.end(), reader.begin(), reader.end());
    fates[op] = NumberOf(numbers, std::move(key));
  }
  return fates;
}

}  // namespace

Twins TwinsAmong(const GraphFacts& facts, const std::vector<ir::OpId>& among) {
  const IdVector<ir::OpId, int> fates = Fates(facts, Origins(facts));
  std::map<int, int> list_of_fate;
  Twins twins{.lists = {}, .list_of = IdVector<ir::OpId, int>(facts.graph->ops.size(), -1)};
  for (ir::OpId op : among) {
    const auto [found, is_new] = list_of_fate.emplace(fates[op], static_cast<int>(twins.lists.size()));
    if (is_new) twins.lists.emplace_back();
    twins.list_of[op] = found->second;
    twins.lists[static_cast<size_t>(found->second)].push_back(op);
  }
  return twins;
}

}  // namespace cleave::search
