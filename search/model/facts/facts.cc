// Reading guide: FactsOf numbers the rules (NumberRules), gives each op its role (AsideOf, RoleOf), finds the leader of
// each parameter (LeaderOf), and then fills in what follows from roles: sums, update groups, priced values, groups of
// distributed forms (Find...).
#include "search/model/facts/facts.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "base/disjoint_sets/disjoint_sets.h"
#include "ir/graph/row_updates/row_updates.h"
#include "ir/sharding/micro_batches/micro_batches.h"

namespace cleave::search {
namespace {

// Equal ops have equal rules; the key contains everything that a rule depends on.
std::string RuleKey(const ir::Graph& graph, const ir::Op& op) {
  std::string key(ir::OpKindName(op.kind));
  for (ir::OpId input : op.inputs) absl::StrAppend(&key, "|", graph.op(input).type.ToString());
  absl::StrAppend(&key, ">", op.type.ToString());
  for (const auto& [name, value] : op.attributes.values()) {
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

// The elements of the largest of `count` pieces.
int64_t LargestPiece(int64_t elements, int64_t count) { return (elements + count - 1) / count; }

// The rule of an op for the largest of `count` micro-batches.
ir::Rule RuleOfMicroBatch(ir::Rule rule, const ir::BatchUse& use, int64_t count) {
  if (use.kind != ir::BatchUse::Kind::kEach) return rule;
  ir::Factor& samples = rule.factors[static_cast<size_t>(use.index)];
  samples.size = LargestPiece(samples.size, count);
  return rule;
}

// The part of a tensor with these dimensions that belongs to the largest micro-batch.
ir::TensorType TypeOfMicroBatch(ir::TensorType type, const std::vector<ir::FactorList>& dimensions,
                                const ir::BatchUse& use, int64_t count) {
  if (use.kind != ir::BatchUse::Kind::kEach) return type;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    const bool has_samples = !dimensions[d].empty() && dimensions[d].front() == use.index;
    if (has_samples) type.shape[d] = LargestPiece(type.shape[d], count);
  }
  return type;
}

// Equal rules have equal numbers. Those of ops that are aside come last, so that the others have the same numbers
// without them.
void NumberRules(const IdVector<ir::OpId, uint8_t>& aside, GraphFacts& facts) {
  std::map<std::string, int> number_by_key;
  for (const uint8_t turn : {uint8_t{0}, uint8_t{1}}) {
    for (const ir::Op& op : facts.graph->ops) {
      if (aside[op.id] != turn) continue;
      const ir::BatchUse& use = facts.uses[op.id];
      std::string key = RuleKey(*facts.graph, op);
      if (use.kind == ir::BatchUse::Kind::kEach) absl::StrAppend(&key, "|samples ", use.index);
      if (use.kind == ir::BatchUse::Kind::kPass) absl::StrAppend(&key, "|parts");
      const auto [found, is_new] = number_by_key.emplace(std::move(key), static_cast<int>(facts.rules.size()));
      if (is_new) facts.rules.push_back(RuleOfMicroBatch(ir::RuleOf(*facts.graph, op), use, facts.micro_batches));
      facts.rule_of[op.id] = found->second;
    }
  }
}

Role ForwardRole(const GraphFacts& facts, const ir::Op& op) {
  if (op.kind == ir::OpKind::kInput) return Role::kInput;
  // A state of the forward pass (generation) is stored as its reader wants it, as a parameter is.
  if (op.kind == ir::OpKind::kParameter || op.kind == ir::OpKind::kState) return Role::kParameter;
  if (facts.classes[op.id] == ir::OpClass::kSource) return Role::kConstant;
  if (op.kind == ir::OpKind::kCast && facts.roles[op.inputs[0]] == Role::kParameter) return Role::kCopy;
  const bool only_data = std::all_of(op.inputs.begin(), op.inputs.end(), [&](ir::OpId input) {
    const Role role = facts.roles[input];
    return role == Role::kInput || role == Role::kConstant || role == Role::kData;
  });
  if (facts.classes[op.id] == ir::OpClass::kProduct) return Role::kProduct;
  return only_data ? Role::kData : Role::kLight;
}

// The ops that are aside: neither the loss nor an update depends on them, only metrics or looks. Sources are never
// aside, because they exist whatever reads them.
IdVector<ir::OpId, uint8_t> AsideOf(const ir::Graph& graph) {
  IdVector<ir::OpId, uint8_t> is_end(graph.ops.size(), 1), looked_at(graph.ops.size()), needed(graph.ops.size());
  for (const ir::Op& op : graph.ops) {
    for (ir::OpId input : op.inputs) is_end[input] = 0;
  }
  for (const ir::Look& look : graph.looks) {
    // Outputs to files are the purpose of such a program.
    (look.kind == ir::LookKind::kOutput ? needed : looked_at)[look.value] = 1;
  }
  if (graph.loss.has_value()) needed[*graph.loss] = 1;
  for (const ir::StateUpdate& update : graph.updates) needed[update.value] = 1;
  for (auto i = static_cast<int64_t>(graph.ops.size()) - 1; i >= 0; --i) {
    const ir::Op& op = graph.op(ir::OpId(i));
    // An op of the model that nothing reads or looks at is there because a pin names it.
    if (is_end[op.id] && !looked_at[op.id] && op.phase != ir::Phase::kMetric) needed[op.id] = 1;
    if (!needed[op.id]) continue;
    for (ir::OpId input : op.inputs) needed[input] = 1;
  }
  IdVector<ir::OpId, uint8_t> aside;
  for (const ir::Op& op : graph.ops) aside.push_back(!needed[op.id] && !op.inputs.empty());
  return aside;
}

// Backward ops that only give a parameter's gradient another shape: they cost nothing, and partial sums pass through
// them, so that the gradient is reduced where the update reads it.
IdVector<ir::OpId, uint8_t> ReshapedGradients(const ir::Graph& graph) {
  IdVector<ir::OpId, uint8_t> only_for_update(graph.ops.size(), 1);
  IdVector<ir::OpId, uint8_t> reshaped(graph.ops.size());
  for (size_t i = graph.ops.size(); i-- > 0;) {
    const ir::Op& op = graph.op(ir::OpId(static_cast<int64_t>(i)));
    const bool moves = op.phase == ir::Phase::kBackward && ir::DefinitionOf(op).is_alias;
    reshaped[op.id] = moves && only_for_update[op.id] != 0;
    if (op.phase == ir::Phase::kUpdate || reshaped[op.id] != 0) continue;
    for (ir::OpId input : op.inputs) only_for_update[input] = 0;
  }
  return reshaped;
}

Role RoleOf(const GraphFacts& facts, const ir::Op& op, bool is_reshaped_gradient) {
  switch (op.phase) {
    case ir::Phase::kForward:
    case ir::Phase::kMetric:  // A source: all others are aside.
      return ForwardRole(facts, op);
    case ir::Phase::kBackward:
      if (op.inherits.has_value() && !is_reshaped_gradient) return Role::kInherits;
      return op.inputs.empty() ? Role::kConstant : Role::kSum;
    case ir::Phase::kWeights:  // Of steps only.
    case ir::Phase::kUpdate:
      return Role::kUpdate;
  }
  return Role::kLight;
}

// The operations of the heaviest product that reads `value` forward, itself or as a copy.
double MostWork(const GraphFacts& facts, ir::OpId value) {
  double most = 0;
  for (const Read& read : facts.reads[value]) {
    const ir::Op& reader = facts.op(read.reader);
    if (reader.phase != ir::Phase::kForward) continue;
    if (facts.roles[read.reader] == Role::kCopy) most = std::max(most, MostWork(facts, read.reader));
    most = std::max(most, facts.product_flops[read.reader]);
  }
  return most;
}

// The read that decides a parameter's storage: the product with the most work, else the first forward reader.
Read LeaderOf(const GraphFacts& facts, ir::OpId parameter) {
  Read leader{.reader = parameter, .input = -1};
  double most = -1;
  for (const Read& read : facts.reads[parameter]) {
    const ir::Op& reader = facts.op(read.reader);
    if (reader.phase != ir::Phase::kForward) continue;
    const bool is_copy = facts.roles[read.reader] == Role::kCopy;
    const double work = is_copy ? MostWork(facts, read.reader) : facts.product_flops[read.reader];
    if (work > most) std::tie(leader, most) = std::tuple(read, work);
  }
  return leader;
}

// Joins each parameter with the states and update ops of its shape that are connected to it through update ops.
void FindUpdateGroups(GraphFacts& facts) {
  const ir::Graph& graph = *facts.graph;
  DisjointSets<ir::OpId> together(graph.ops.size());
  const auto belongs = [&](ir::OpId id) {
    const Role role = facts.roles[id];
    return (role == Role::kParameter || role == Role::kUpdate) && graph.op(id).type.rank() > 0;
  };
  for (const ir::Op& op : graph.ops) {
    if (facts.roles[op.id] != Role::kUpdate) continue;
    for (ir::OpId input : op.inputs) {
      if (!belongs(op.id) || graph.op(input).type.shape != op.type.shape) continue;
      // What is computed from a gradient alone, such as its square, has the parameter's layout too.
      const std::optional<ir::OpId>& parameter = graph.op(input).gradient_of;
      if (belongs(input)) together.Join(op.id, input);
      if (parameter.has_value() && facts.roles[*parameter] == Role::kParameter) together.Join(op.id, *parameter);
    }
  }
  for (const ir::StateUpdate& update : graph.updates) {
    if (belongs(update.state) && belongs(update.value)) together.Join(update.state, update.value);
  }
  std::map<ir::OpId, ir::OpId> parameter_of;
  for (const ir::Op& op : graph.ops) {
    if (facts.roles[op.id] == Role::kParameter) parameter_of.emplace(together.Of(op.id), op.id);
  }
  for (const ir::Op& op : graph.ops) {
    if (facts.roles[op.id] != Role::kUpdate || !belongs(op.id)) continue;
    const auto found = parameter_of.find(together.Of(op.id));
    if (found == parameter_of.end()) continue;
    facts.update_groups[found->second].push_back(op.id);
    facts.updated_parameters[op.id] = found->second;
  }
}

void FindTouchedRows(GraphFacts& facts) {
  for (const ir::RowUpdate& update : ir::RowUpdatesOf(*facts.graph)) {
    facts.touched_rows[update.gradient] = update.places;
    for (const ir::OpId op : update.ops) facts.touched_rows[op] = update.places;
    for (const ir::OpId op : update.sums) facts.touched_rows[op] = update.places;
  }
}

bool ContinuesOtherSum(const GraphFacts& facts, const ir::Op& sum) {
  if (sum.inputs.size() == 1) return false;  // A reshaped gradient keeps its layout.
  const std::optional<ir::OpId>& value = facts.op(facts.whole_sums[sum.id]).gradient_of;
  if (!value.has_value() || facts.op(*value).type.rank() != sum.type.rank()) return false;
  return std::any_of(sum.inputs.begin(), sum.inputs.end(), [&](ir::OpId input) {
    return facts.roles[input] == Role::kSum && facts.whole_sums[input] != facts.whole_sums[sum.id];
  });
}

// A chain of sums ends in the gradient of one value; the whole chain has the layout of that value.
void FindSums(GraphFacts& facts) {
  for (const ir::Op& op : facts.graph->ops) {
    if (facts.roles[op.id] != Role::kSum) continue;
    ir::OpId whole = op.id;
    while (!facts.op(whole).gradient_of.has_value() && !facts.reads[whole].empty() &&
           facts.roles[facts.reads[whole][0].reader] == Role::kSum) {
      whole = facts.reads[whole][0].reader;
    }
    facts.whole_sums[op.id] = whole;
    if (facts.op(whole).gradient_of.has_value()) facts.sums[*facts.op(whole).gradient_of].push_back(op.id);
  }
  for (const ir::Op& op : facts.graph->ops) {
    facts.continues_other_sum[op.id] = facts.roles[op.id] == Role::kSum && ContinuesOtherSum(facts, op);
  }
}

bool HasInnerFactor(const ir::Rule& rule) {
  return std::any_of(rule.factors.begin(), rule.factors.end(),
                     [](const ir::Factor& factor) { return factor.kind == ir::FactorKind::kInner; });
}

std::vector<ir::OpId> InnerGroupOf(const GraphFacts& facts, ir::OpId root) {
  std::vector<ir::OpId> group;
  if (facts.roles[root] == Role::kInherits || facts.roles[root] == Role::kAside) return group;
  // What attention reads of its scores is computed with it.
  if (facts.op(root).kind == ir::OpKind::kAttentionLogsumexp) return group;
  if (HasInnerFactor(facts.rule(root))) group.push_back(root);
  for (ir::OpId heir : facts.inheritors[root]) {
    if (HasInnerFactor(facts.rule(heir))) group.push_back(heir);
  }
  return group;
}

// The same for groups whose prices are equal functions of their members' strategies.
std::string InnerGroupText(const GraphFacts& facts, const std::vector<ir::OpId>& group) {
  std::map<ir::OpId, int> numbers;
  std::string text;
  for (ir::OpId member : group) {
    absl::StrAppend(&text, facts.rule_of[member], ir::PhaseName(facts.op(member).phase), "(");
    for (ir::OpId input : facts.op(member).inputs) {
      absl::StrAppend(&text, numbers.emplace(input, static_cast<int>(numbers.size())).first->second, ",");
    }
    absl::StrAppend(&text, ")", numbers.emplace(member, static_cast<int>(numbers.size())).first->second);
  }
  return text;
}

void FindInnerGroups(GraphFacts& facts) {
  std::map<std::string, int> kinds;
  for (const ir::Op& op : facts.graph->ops) {
    std::vector<ir::OpId>& group = facts.inner_groups[op.id];
    group = InnerGroupOf(facts, op.id);
    facts.inner_kinds[op.id] = -1;
    if (group.empty()) continue;
    const std::string text = InnerGroupText(facts, group);
    facts.inner_kinds[op.id] = kinds.emplace(text, static_cast<int>(kinds.size())).first->second;
  }
}

// A backward value is a summand of a parameter's gradient when it is that gradient, or only sums and updates read it.
void FindGradients(GraphFacts& facts) {
  const ir::Graph& graph = *facts.graph;
  for (auto i = static_cast<int64_t>(graph.ops.size()) - 1; i >= 0; --i) {
    const ir::Op& op = graph.op(ir::OpId(i));
    if (op.phase == ir::Phase::kUpdate) facts.gradient[op.id] = true;
    if (op.phase != ir::Phase::kBackward) continue;
    if (op.gradient_of.has_value() && facts.roles[*op.gradient_of] == Role::kParameter) {
      facts.gradient[op.id] = true;
      continue;
    }
    const std::vector<Read>& reads = facts.reads[op.id];
    facts.gradient[op.id] = !reads.empty() && std::all_of(reads.begin(), reads.end(), [&](const Read& read) {
      const Role role = facts.roles[read.reader];
      return role == Role::kUpdate || (role == Role::kSum && facts.gradient[read.reader]);
    });
  }
}

// Gradients as the update reads them, and the parameters that it makes.
void FindSentTogether(GraphFacts& facts) {
  const ir::Graph& graph = *facts.graph;
  // In a shortened graph gradients are as large as messages.
  if (std::any_of(facts.times.begin(), facts.times.end(), [](int64_t times) { return times > 1; })) return;
  IdVector<ir::OpId, uint8_t> is_sent(graph.ops.size(), false);
  for (const ir::Op& op : graph.ops) {
    const std::vector<Read>& reads = facts.reads[op.id];
    is_sent[op.id] = op.phase == ir::Phase::kBackward && std::any_of(reads.begin(), reads.end(), [&](const Read& read) {
                       return facts.roles[read.reader] == Role::kUpdate;
                     });
  }
  for (const ir::StateUpdate& update : graph.updates) {
    if (facts.roles[update.state] == Role::kParameter) is_sent[update.value] = true;
  }
  std::map<ir::Phase, Bytes> of_phase;
  std::map<int, int64_t> of_rule;
  for (const ir::Op& op : graph.ops) {
    is_sent[op.id] = is_sent[op.id] && facts.priced[op.id] && op.type.bytes() > Bytes(0);
    if (!is_sent[op.id]) continue;
    ++of_rule[facts.rule_of[op.id]];
    of_phase[op.phase] += op.type.bytes();
  }
  for (const ir::Op& op : graph.ops) {
    if (!is_sent[op.id]) continue;
    const int64_t equal = of_rule[facts.rule_of[op.id]];
    const int64_t all = of_phase[op.phase].value() / op.type.bytes().value();
    facts.sent_together[op.id] = {.equal = equal, .all = std::max(equal, all)};
  }
}

}  // namespace

GraphFacts FactsOf(const ir::Graph& graph, int64_t micro_batches, OpTimes times) {
  const size_t count = graph.ops.size();
  if (times.empty()) times = OpTimes(count, 1);
  GraphFacts facts{.graph = &graph,
                   .micro_batches = micro_batches,
                   .times = std::move(times),
                   .uses = micro_batches == 1 ? IdVector<ir::OpId, ir::BatchUse>(count) : ir::FindBatchUses(graph).ops,
                   .rules = {},
                   .rule_of = IdVector<ir::OpId, int>(count),
                   .roles = IdVector<ir::OpId, Role>(count),
                   .classes = IdVector<ir::OpId, ir::OpClass>(count),
                   .set_ops = {},
                   .product_flops = IdVector<ir::OpId, double>(count),
                   .reads = IdVector<ir::OpId, std::vector<Read>>(count),
                   .inheritors = IdVector<ir::OpId, std::vector<ir::OpId>>(count),
                   .leaders = IdVector<ir::OpId, Read>(count),
                   .led = IdVector<ir::OpId, std::vector<ir::OpId>>(count),
                   .whole_sums = IdVector<ir::OpId, ir::OpId>(count),
                   .sums = IdVector<ir::OpId, std::vector<ir::OpId>>(count),
                   .continues_other_sum = IdVector<ir::OpId, uint8_t>(count),
                   .update_groups = IdVector<ir::OpId, std::vector<ir::OpId>>(count),
                   .updated_parameters = {},
                   .touched_rows = IdVector<ir::OpId, int64_t>(count),
                   .priced = IdVector<ir::OpId, uint8_t>(count),
                   .gradient = IdVector<ir::OpId, uint8_t>(count),
                   .sent_together = IdVector<ir::OpId, SentTogether>(count),
                   .inner_groups = IdVector<ir::OpId, std::vector<ir::OpId>>(count),
                   .inner_kinds = IdVector<ir::OpId, int>(count)};
  const IdVector<ir::OpId, uint8_t> aside = AsideOf(graph);
  const IdVector<ir::OpId, uint8_t> reshaped = ReshapedGradients(graph);
  NumberRules(aside, facts);
  for (const ir::Op& op : graph.ops) {
    const ir::OpDefinition& definition = ir::DefinitionOf(op);
    facts.classes[op.id] = definition.op_class;
    facts.roles[op.id] = aside[op.id] ? Role::kAside : RoleOf(facts, op, reshaped[op.id] != 0);
    facts.updated_parameters.push_back(op.id);
    if (facts.is_set(op.id)) facts.set_ops.push_back(op.id);
    if (facts.roles[op.id] == Role::kProduct) {
      facts.product_flops[op.id] = definition.flops(ir::InputTypes(graph, op), op.type, op.attributes).value();
    }
    for (size_t i = 0; !aside[op.id] && i < op.inputs.size(); ++i) {
      facts.reads[op.inputs[i]].push_back({.reader = op.id, .input = static_cast<int>(i)});
    }
    if (facts.roles[op.id] == Role::kInherits) facts.inheritors[op.inherits->op].push_back(op.id);
  }
  for (const ir::Op& op : graph.ops) {
    const Role role = facts.roles[op.id];
    if (role != Role::kParameter && role != Role::kCopy) continue;
    facts.leaders[op.id] = LeaderOf(facts, op.id);
    if (facts.leaders[op.id].reader != op.id) facts.led[facts.leaders[op.id].reader].push_back(op.id);
  }
  FindSums(facts);
  FindUpdateGroups(facts);
  FindTouchedRows(facts);
  FindGradients(facts);
  for (const ir::Op& op : graph.ops) {
    const bool is_small_gradient = op.type.rank() == 1 && facts.gradient[op.id];
    facts.priced[op.id] = op.type.rank() >= 1 && !is_small_gradient && !aside[op.id];
  }
  FindSentTogether(facts);
  FindInnerGroups(facts);
  return facts;
}

int64_t GraphFacts::TimesOf(const std::vector<ir::OpId>& ops) const {
  int64_t sum = 0;
  for (const ir::OpId op : ops) sum += times[op];
  return sum;
}

ir::TensorType GraphFacts::value_type(ir::OpId id) const {
  return TypeOfMicroBatch(op(id).type, rule(id).output, uses[id], micro_batches);
}

ir::TensorType GraphFacts::input_type(ir::OpId id, size_t input) const {
  return TypeOfMicroBatch(op(op(id).inputs[input]).type, rule(id).inputs[input], uses[id], micro_batches);
}

bool GraphFacts::HasSamples(ir::OpId value) const {
  if (uses[value].kind != ir::BatchUse::Kind::kEach) return false;
  return rule(value).factors[static_cast<size_t>(uses[value].index)].kind == ir::FactorKind::kParallel;
}

std::vector<Read> GraphFacts::parameter_reads(ir::OpId op) const {
  const ir::OpId parameter = roles[op] == Role::kCopy ? graph->op(op).inputs[0] : op;
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

int64_t ReadTimes(const GraphFacts& facts, ir::OpId value, ir::OpId reader, bool gathered_again) {
  const bool takes_parts = facts.uses[reader].kind == ir::BatchUse::Kind::kPass;
  const bool is_gathered = gathered_again && facts.uses[value].kind == ir::BatchUse::Kind::kOnce;
  const bool each_time = !facts.HasSamples(value) && (takes_parts || is_gathered);
  return each_time ? facts.runs(reader) : 1;
}

double ReadWeight(const GraphFacts& facts, ir::OpId value, ir::OpId reader, double gradient_weight) {
  if (!facts.priced[value]) return 0;
  const bool update = facts.op(reader).phase == ir::Phase::kUpdate;
  return facts.gradient[value] || update ? gradient_weight : 1;
}

}  // namespace cleave::search
