#include "search/oracle/dependencies.h"

namespace cleave::search {
namespace {

// The ops that decide the strategy of `op` where the search does not set it.
std::vector<ir::OpId> Deciders(const GraphFacts& facts, const ir::Op& op) {
  std::vector<ir::OpId> deciders;
  switch (facts.roles[op.id]) {
    case Role::kProduct:
    case Role::kLight:
    case Role::kConstant:
    case Role::kAside:
      break;
    case Role::kInherits:
      deciders.push_back(op.inherits->op);
      break;
    case Role::kParameter:
    case Role::kCopy:
      deciders.push_back(facts.leaders[op.id].reader);
      break;
    case Role::kInput:
    case Role::kData:
      deciders = op.inputs;
      for (const Read& read : facts.reads[op.id]) deciders.push_back(read.reader);
      break;
    case Role::kSum:
      deciders = op.inputs;
      if (const auto& value = facts.op(facts.whole_sums[op.id]).gradient_of) deciders.push_back(*value);
      break;
    case Role::kUpdate:
      if (facts.updated_parameters[op.id] != op.id) deciders.push_back(facts.updated_parameters[op.id]);
      break;
  }
  return deciders;
}

}  // namespace

IdVector<ir::OpId, std::set<ir::OpId>> DecisionsBehindPrices(const GraphFacts& facts,
                                                             const std::vector<ir::OpId>& open) {
  const size_t count = facts.graph->ops.size();
  IdVector<ir::OpId, std::set<ir::OpId>> behind_strategy(count), behind_price(count);
  for (ir::OpId op : open) behind_strategy[op].insert(op);
  for (bool grew = true; grew;) {
    grew = false;
    for (const ir::Op& op : facts.graph->ops) {
      std::set<ir::OpId>& own = behind_strategy[op.id];
      const size_t before = own.size();
      for (ir::OpId decider : Deciders(facts, op)) {
        const std::set<ir::OpId> theirs = behind_strategy[decider];
        own.insert(theirs.begin(), theirs.end());
      }
      grew = grew || own.size() > before;
    }
  }
  for (const ir::Op& op : facts.graph->ops) {
    behind_price[op.id] = behind_strategy[op.id];
    for (const Read& read : facts.reads[op.id]) {
      behind_price[op.id].insert(behind_strategy[read.reader].begin(), behind_strategy[read.reader].end());
    }
  }
  return behind_price;
}

}  // namespace cleave::search
