#include "search/cost/facts.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"

namespace cleave {
namespace {

// Equal ops have equal rules; the key says what a rule depends on.
std::string RuleKey(const Graph& graph, const Op& op) {
  std::string key(OpKindName(op.kind));
  for (OpId input : op.inputs) absl::StrAppend(&key, "|", graph.op(input).type.ToString());
  absl::StrAppend(&key, ">", op.type.ToString());
  for (const auto& [name, value] : op.attributes.values) {
    absl::StrAppend(&key, "|", name, "=");
    if (const auto* flag = std::get_if<bool>(&value)) absl::StrAppend(&key, *flag ? 1 : 0);
    if (const auto* number = std::get_if<int64_t>(&value)) absl::StrAppend(&key, *number);
    if (const auto* text = std::get_if<std::string>(&value)) absl::StrAppend(&key, *text);
    if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
      for (int64_t item : *list) absl::StrAppend(&key, item, ",");
    }
  }
  return key;
}

Role ForwardRole(const GraphFacts& facts, const Op& op) {
  if (op.kind == OpKind::kInput) return Role::kInput;
  if (op.kind == OpKind::kParameter) return Role::kParameter;
  if (op.kind == OpKind::kState) return Role::kUpdate;
  if (facts.classes[op.id] == OpClass::kSource) return Role::kConstant;
  if (op.kind == OpKind::kCast && facts.roles[op.inputs[0]] == Role::kParameter) return Role::kCopy;
  const bool only_data = std::all_of(op.inputs.begin(), op.inputs.end(), [&](OpId input) {
    const Role role = facts.roles[input];
    return role == Role::kInput || role == Role::kConstant || role == Role::kData;
  });
  if (facts.classes[op.id] == OpClass::kProduct) return Role::kProduct;
  return only_data ? Role::kData : Role::kLight;
}

Role RoleOf(const GraphFacts& facts, const Op& op) {
  switch (op.phase) {
    case Phase::kForward:
    case Phase::kMetric:
      return ForwardRole(facts, op);
    case Phase::kBackward:
      if (op.inherits.has_value()) return Role::kInherits;
      return op.inputs.empty() ? Role::kConstant : Role::kSum;
    case Phase::kUpdate:
      return Role::kUpdate;
  }
  return Role::kLight;
}

// The operations of the heaviest product that reads `value` forward, itself or as a copy.
double MostWork(const GraphFacts& facts, OpId value) {
  double most = 0;
  for (const Read& read : facts.reads[value]) {
    const Op& reader = facts.op(read.reader);
    if (reader.phase != Phase::kForward) continue;
    if (facts.roles[read.reader] == Role::kCopy) most = std::max(most, MostWork(facts, read.reader));
    most = std::max(most, facts.product_flops[read.reader]);
  }
  return most;
}

// The read that decides a parameter's storage: the product with the most work, else the first forward reader.
Read LeaderOf(const GraphFacts& facts, OpId parameter) {
  Read leader{.reader = parameter, .input = -1};
  double most = -1;
  for (const Read& read : facts.reads[parameter]) {
    const Op& reader = facts.op(read.reader);
    if (reader.phase != Phase::kForward) continue;
    const bool is_copy = facts.roles[read.reader] == Role::kCopy;
    const double work = is_copy ? MostWork(facts, read.reader) : facts.product_flops[read.reader];
    if (work > most) std::tie(leader, most) = std::tuple(read, work);
  }
  return leader;
}

OpId Root(std::vector<OpId>& parents, OpId id) {
  while (parents[static_cast<size_t>(id.value())] != id) id = parents[static_cast<size_t>(id.value())];
  return id;
}

// Joins each parameter with the states and update ops of its shape that are connected to it through update ops.
void FindUpdateGroups(GraphFacts& facts) {
  const Graph& graph = *facts.graph;
  std::vector<OpId> parents;
  for (const Op& op : graph.ops) parents.push_back(op.id);
  const auto join = [&](OpId a, OpId b) {
    const OpId first = std::min(Root(parents, a), Root(parents, b));
    const OpId second = std::max(Root(parents, a), Root(parents, b));
    parents[static_cast<size_t>(second.value())] = first;
  };
  const auto belongs = [&](OpId id) {
    const Role role = facts.roles[id];
    return (role == Role::kParameter || role == Role::kUpdate) && graph.op(id).type.rank() > 0;
  };
  for (const Op& op : graph.ops) {
    if (facts.roles[op.id] != Role::kUpdate) continue;
    for (OpId input : op.inputs) {
      if (belongs(op.id) && belongs(input) && graph.op(input).type.shape == op.type.shape) join(op.id, input);
    }
  }
  for (const StateUpdate& update : graph.updates) {
    if (belongs(update.state) && belongs(update.value)) join(update.state, update.value);
  }
  std::map<OpId, OpId> parameter_of_root;
  for (const Op& op : graph.ops) {
    if (facts.roles[op.id] == Role::kParameter) parameter_of_root.emplace(Root(parents, op.id), op.id);
  }
  for (const Op& op : graph.ops) {
    if (facts.roles[op.id] != Role::kUpdate || !belongs(op.id)) continue;
    const auto found = parameter_of_root.find(Root(parents, op.id));
    if (found == parameter_of_root.end()) continue;
    facts.update_groups[found->second].push_back(op.id);
    facts.updated_parameters[op.id] = found->second;
  }
}

bool ContinuesOtherSum(const GraphFacts& facts, const Op& sum) {
  const std::optional<OpId>& value = facts.op(facts.whole_sums[sum.id]).gradient_of;
  if (!value.has_value() || facts.op(*value).type.rank() != sum.type.rank()) return false;
  return std::any_of(sum.inputs.begin(), sum.inputs.end(), [&](OpId input) {
    return facts.roles[input] == Role::kSum && facts.whole_sums[input] != facts.whole_sums[sum.id];
  });
}

// A chain of sums ends in the gradient of one value; all of the chain lies like that value.
void FindSums(GraphFacts& facts) {
  for (const Op& op : facts.graph->ops) {
    if (facts.roles[op.id] != Role::kSum) continue;
    OpId whole = op.id;
    while (!facts.op(whole).gradient_of.has_value() && !facts.reads[whole].empty() &&
           facts.roles[facts.reads[whole][0].reader] == Role::kSum) {
      whole = facts.reads[whole][0].reader;
    }
    facts.whole_sums[op.id] = whole;
    if (facts.op(whole).gradient_of.has_value()) facts.sums[*facts.op(whole).gradient_of].push_back(op.id);
  }
  for (const Op& op : facts.graph->ops) {
    facts.continues_other_sum[op.id] = facts.roles[op.id] == Role::kSum && ContinuesOtherSum(facts, op);
  }
}

std::vector<Read> DataReads(const GraphFacts& facts, OpId data) {
  std::vector<Read> by_model, by_metrics;
  for (const Read& read : facts.reads[data]) {
    if (facts.classes[read.reader] == OpClass::kEffect) continue;
    (facts.op(read.reader).phase == Phase::kMetric ? by_metrics : by_model).push_back(read);
  }
  return by_model.empty() ? by_metrics : by_model;
}

bool HasInnerFactor(const Rule& rule) {
  return std::any_of(rule.factors.begin(), rule.factors.end(),
                     [](const Factor& factor) { return factor.kind == FactorKind::kInner; });
}

std::vector<OpId> InnerGroupOf(const GraphFacts& facts, OpId root) {
  std::vector<OpId> group;
  if (facts.roles[root] == Role::kInherits) return group;
  if (HasInnerFactor(facts.rule(root))) group.push_back(root);
  for (OpId heir : facts.inheritors[root]) {
    if (HasInnerFactor(facts.rule(heir))) group.push_back(heir);
  }
  return group;
}

// The same for groups whose prices are equal functions of their members' strategies.
std::string InnerGroupText(const GraphFacts& facts, const std::vector<OpId>& group) {
  std::map<OpId, int> numbers;
  std::string text;
  for (OpId member : group) {
    absl::StrAppend(&text, facts.rule_of[member], PhaseName(facts.op(member).phase), "(");
    for (OpId input : facts.op(member).inputs) {
      absl::StrAppend(&text, numbers.emplace(input, static_cast<int>(numbers.size())).first->second, ",");
    }
    absl::StrAppend(&text, ")", numbers.emplace(member, static_cast<int>(numbers.size())).first->second);
  }
  return text;
}

void FindInnerGroups(GraphFacts& facts) {
  std::map<std::string, int> kinds;
  for (const Op& op : facts.graph->ops) {
    std::vector<OpId>& group = facts.inner_groups[op.id];
    group = InnerGroupOf(facts, op.id);
    facts.inner_kinds[op.id] = -1;
    if (group.empty()) continue;
    const std::string text = InnerGroupText(facts, group);
    facts.inner_kinds[op.id] = kinds.emplace(text, static_cast<int>(kinds.size())).first->second;
  }
}

// A backward value is a summand of a parameter's gradient when it is that gradient, or only sums and updates read it.
void FindGradients(GraphFacts& facts) {
  const Graph& graph = *facts.graph;
  for (auto i = static_cast<int64_t>(graph.ops.size()) - 1; i >= 0; --i) {
    const Op& op = graph.op(OpId(i));
    if (op.phase == Phase::kUpdate) facts.gradient[op.id] = true;
    if (op.phase != Phase::kBackward) continue;
    if (op.gradient_of.has_value()) {
      facts.gradient[op.id] = facts.roles[*op.gradient_of] == Role::kParameter;
      continue;
    }
    const std::vector<Read>& reads = facts.reads[op.id];
    facts.gradient[op.id] = !reads.empty() && std::all_of(reads.begin(), reads.end(), [&](const Read& read) {
      const Role role = facts.roles[read.reader];
      return role == Role::kUpdate || (role == Role::kSum && facts.gradient[read.reader]);
    });
  }
}

// Whether this is the gradient that the loss hands back, in any type.
bool IsHandedBack(const Graph& graph, const Op& op, const IdVector<OpId, uint8_t>& of_loss) {
  if (op.inherits.has_value() && graph.loss.has_value() && op.inherits->op == *graph.loss) return true;
  return op.kind == OpKind::kCast && of_loss[op.inputs[0]] != 0;
}

}  // namespace

GraphFacts FactsOf(const Graph& graph) {
  const size_t count = graph.ops.size();
  GraphFacts facts{.graph = &graph,
                   .rules = {},
                   .rule_of = IdVector<OpId, int>(count),
                   .roles = IdVector<OpId, Role>(count),
                   .classes = IdVector<OpId, OpClass>(count),
                   .set_ops = {},
                   .product_flops = IdVector<OpId, double>(count),
                   .reads = IdVector<OpId, std::vector<Read>>(count),
                   .data_reads = IdVector<OpId, std::vector<Read>>(count),
                   .inheritors = IdVector<OpId, std::vector<OpId>>(count),
                   .leaders = IdVector<OpId, Read>(count),
                   .led = IdVector<OpId, std::vector<OpId>>(count),
                   .whole_sums = IdVector<OpId, OpId>(count),
                   .sums = IdVector<OpId, std::vector<OpId>>(count),
                   .continues_other_sum = IdVector<OpId, uint8_t>(count),
                   .update_groups = IdVector<OpId, std::vector<OpId>>(count),
                   .updated_parameters = {},
                   .priced = IdVector<OpId, uint8_t>(count),
                   .gradient = IdVector<OpId, uint8_t>(count),
                   .inner_groups = IdVector<OpId, std::vector<OpId>>(count),
                   .inner_kinds = IdVector<OpId, int>(count)};
  std::map<std::string, int> rule_by_key;
  IdVector<OpId, uint8_t> of_loss(count);
  for (const Op& op : graph.ops) {
    const auto [found, is_new] = rule_by_key.emplace(RuleKey(graph, op), static_cast<int>(facts.rules.size()));
    if (is_new) facts.rules.push_back(RuleOf(graph, op));
    facts.rule_of[op.id] = found->second;
    const OpDefinition& definition = DefinitionOf(op);
    facts.classes[op.id] = definition.op_class;
    facts.roles[op.id] = RoleOf(facts, op);
    facts.updated_parameters.push_back(op.id);
    if (facts.is_set(op.id)) facts.set_ops.push_back(op.id);
    if (facts.roles[op.id] == Role::kProduct) {
      facts.product_flops[op.id] = definition.flops(InputTypes(graph, op), op.type, op.attributes).value();
    }
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      facts.reads[op.inputs[i]].push_back({.reader = op.id, .input = static_cast<int>(i)});
    }
    of_loss[op.id] = IsHandedBack(graph, op, of_loss);
    facts.priced[op.id] = op.type.rank() >= 2 && of_loss[op.id] == 0;
    if (facts.roles[op.id] == Role::kInherits) facts.inheritors[op.inherits->op].push_back(op.id);
  }
  for (const Op& op : graph.ops) {
    const Role role = facts.roles[op.id];
    if (role == Role::kInput || role == Role::kData) facts.data_reads[op.id] = DataReads(facts, op.id);
    if (role != Role::kParameter && role != Role::kCopy) continue;
    facts.leaders[op.id] = LeaderOf(facts, op.id);
    if (facts.leaders[op.id].reader != op.id) facts.led[facts.leaders[op.id].reader].push_back(op.id);
  }
  FindSums(facts);
  FindUpdateGroups(facts);
  FindGradients(facts);
  FindInnerGroups(facts);
  return facts;
}

std::vector<Read> GraphFacts::parameter_reads(OpId op) const {
  const OpId parameter = roles[op] == Role::kCopy ? graph->op(op).inputs[0] : op;
  std::vector<Read> all;
  for (const Read& read : reads[parameter]) {
    if (roles[read.reader] == Role::kCopy) {
      all.insert(all.end(), reads[read.reader].begin(), reads[read.reader].end());
    } else {
      all.push_back(read);
    }
  }
  return all;
}

double ReadWeight(const GraphFacts& facts, OpId value, OpId reader, double gradient_weight) {
  if (!facts.priced[value] || facts.op(reader).phase == Phase::kMetric) return 0;
  const bool update = facts.op(reader).phase == Phase::kUpdate;
  return facts.gradient[value] || update ? gradient_weight : 1;
}

}  // namespace cleave
