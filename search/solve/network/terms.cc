// Reading guide: Builder::NodeOf makes a node for an op, with the formula of its strategy (FormulaOf). AddTerm collects
// the nodes on which a value's price depends, and Instantiate writes them over local variables, so that KindOf finds
// equal kinds. AddParts makes the parts into which a large term may be split.
#include "search/solve/network/terms.h"

#include <algorithm>
#include <utility>

#include "search/price/cost/inner_cost.h"

namespace cleave::search {
namespace {

class Builder {
 public:
  Builder(StrategyTable& table, const OpDemands& demands, const AssignmentOptions& assignment, const Folding* folding)
      : table_(table),
        facts_(table.facts()),
        demands_(demands),
        assignment_(assignment),
        folding_(folding),
        node_of_(facts_.graph->ops.size(), -1) {}

  Terms Build() {
    FindVariables();
    AddTerms();
    return std::move(terms_);
  }

 private:
  // A formula whose inputs are other nodes, before it becomes a formula of a term.
  struct Node {
    StrategyFormula formula;
    std::vector<int> scope;  // Variables, ascending.
  };

  void FindVariables() {
    terms_.variable_of = IdVector<ir::OpId, int>(facts_.graph->ops.size(), -1);
    std::map<int, int> of_class;
    for (ir::OpId op : facts_.set_ops) {
      int& variable = terms_.variable_of[op];
      variable = static_cast<int>(terms_.variables.size());
      if (folding_ != nullptr) {
        variable = of_class.emplace(folding_->variables[op], variable).first->second;
      }
      if (variable < static_cast<int>(terms_.variables.size())) continue;
      terms_.variables.push_back(op);
      terms_.fixed.push_back(Demanded(op) != nullptr);
    }
  }

  const ir::Strategy* Demanded(ir::OpId op) const {
    const auto found = demands_.find(op);
    return found == demands_.end() || !found->second.strategy.has_value() ? nullptr : &*found->second.strategy;
  }

  int SeenOf(ir::OpId op) const {
    const auto found = demands_.find(op);
    if (found == demands_.end() || !found->second.output.has_value()) return -1;
    return table_.prices().Intern(*found->second.output);
  }

  int NodeOf(ir::OpId op) {
    if (node_of_[op] >= 0) return node_of_[op];
    StrategyFormula formula = FormulaOf(op);
    formula.op = op;
    formula.seen = SeenOf(op);
    node_of_[op] = AddNode(std::move(formula));
    return node_of_[op];
  }

  int AddNode(StrategyFormula formula) {
    Node node{.formula = std::move(formula), .scope = {}};
    if (node.formula.kind == StrategyFormula::Kind::kVariable) node.scope.push_back(node.formula.number);
    for (int input : node.formula.inputs) Join(nodes_[static_cast<size_t>(input)].scope, node.scope);
    nodes_.push_back(std::move(node));
    return static_cast<int>(nodes_.size()) - 1;
  }

  static void Join(const std::vector<int>& more, std::vector<int>& scope) {
    std::vector<int> joined;
    std::set_union(scope.begin(), scope.end(), more.begin(), more.end(), std::back_inserter(joined));
    scope = std::move(joined);
  }

  StrategyFormula FormulaOf(ir::OpId op) {
    const Role role = facts_.roles[op];
    if (const ir::Strategy* demanded = Demanded(op)) {
      return {.kind = StrategyFormula::Kind::kNumber, .op = op, .number = table_.Intern(op, *demanded)};
    }
    switch (role) {
      case Role::kProduct:
      case Role::kLight:
        return {.kind = StrategyFormula::Kind::kVariable, .op = op, .number = terms_.variable_of[op]};
      case Role::kInherits:
        return {.kind = StrategyFormula::Kind::kInherited, .op = op, .inputs = {NodeOf(facts_.op(op).inherits->op)}};
      case Role::kParameter:
      case Role::kCopy: {
        const Read& leader = facts_.leaders[op];
        if (leader.reader == op) return {.kind = StrategyFormula::Kind::kNumber, .op = op};
        return {.kind = StrategyFormula::Kind::kStored,
                .op = op,
                .inputs = {NodeOf(leader.reader)},
                .slots = {leader.input}};
      }
      case Role::kUpdate:
        if (facts_.updated_parameters[op] == op) return {.kind = StrategyFormula::Kind::kNumber, .op = op};
        return {.kind = StrategyFormula::Kind::kUpdated, .op = op, .inputs = {NodeOf(facts_.updated_parameters[op])}};
      case Role::kSum:
        return SumFormula(op);
      case Role::kData:
      case Role::kInput:
        return DataFormula(op);
      case Role::kConstant:
      case Role::kAside:
        return {.kind = StrategyFormula::Kind::kNumber, .op = op};
    }
    return {};
  }

  StrategyFormula SumFormula(ir::OpId op) {
    if (facts_.continues_other_sum[op]) {
      const ir::OpId value = *facts_.op(facts_.whole_sums[op]).gradient_of;
      return {.kind = StrategyFormula::Kind::kUpdated, .op = op, .inputs = {NodeOf(value)}};
    }
    StrategyFormula formula{.kind = StrategyFormula::Kind::kSum, .op = op};
    for (ir::OpId input : facts_.op(op).inputs) formula.inputs.push_back(NodeOf(input));
    if (const std::optional<ir::OpId>& value = facts_.op(facts_.whole_sums[op]).gradient_of) {
      formula.has_value = true;
      formula.inputs.push_back(NodeOf(*value));
    }
    return formula;
  }

  StrategyFormula DataFormula(ir::OpId op) {
    if (assignment_.dataset.has_value()) {
      if (facts_.roles[op] == Role::kInput) {
        const bool cut = *assignment_.dataset == ir::DatasetLayout::kDataParallel;
        return {.kind = cut ? StrategyFormula::Kind::kBatchCut : StrategyFormula::Kind::kNumber, .op = op};
      }
      if (facts_.op(op).inputs.empty()) return {.kind = StrategyFormula::Kind::kNumber, .op = op};
      return {.kind = StrategyFormula::Kind::kDataFrom, .op = op, .inputs = {NodeOf(facts_.op(op).inputs[0])}};
    }
    // Behind so many ops of data in a chain, data is priced as replicated, because the formulas of a chain take memory
    // quadratic in its length.
    constexpr int kLongestChain = 256;
    if (data_chain_ == kLongestChain) return {.kind = StrategyFormula::Kind::kNumber, .op = op};
    ++data_chain_;
    StrategyFormula formula{.kind = StrategyFormula::Kind::kData, .op = op};
    for (const Read& read : facts_.reads[op]) {
      formula.inputs.push_back(NodeOf(read.reader));
      formula.slots.push_back(read.input);
    }
    --data_chain_;
    return formula;
  }

  // Whether the op is data that no demand and no setting fixes: it is made in the layout in which it is read.
  bool IsFreeData(ir::OpId op) const {
    const Role role = facts_.roles[op];
    return (role == Role::kInput || role == Role::kData) && !assignment_.dataset.has_value() && demands_.count(op) == 0;
  }

  void AddTerms() {
    std::map<int, int64_t> members;  // By class, the number of its values; 0 once its term is added.
    if (folding_ != nullptr) {
      for (const ir::Op& op : facts_.graph->ops) members[folding_->values[op.id]] += facts_.times[op.id];
    }
    for (const ir::Op& op : facts_.graph->ops) {
      const size_t before = terms_.terms.size();
      int64_t count = facts_.times[op.id];
      if (folding_ != nullptr) count = std::exchange(members[folding_->values[op.id]], 0);
      if (count == 0) continue;
      AddTerm(op.id);
      if (terms_.terms.size() > before) terms_.terms.back().count = count;
    }
  }

  void AddTerm(ir::OpId op) {
    const std::vector<ir::OpId>& inner = facts_.inner_groups[op];
    bool moves = facts_.priced[op] && facts_.roles[op] != Role::kConstant && !IsFreeData(op) &&
                 facts_.updated_parameters[op] == op;
    std::vector<std::pair<int, TermRead>> reads;  // (node, read)
    if (moves) {
      for (const Read& read : facts_.reads[op]) {
        const double weight = ReadWeight(facts_, op, read.reader, assignment_.gradient_weight);
        if (weight == 0) continue;
        reads.push_back({NodeOf(read.reader), {.formula = 0, .slot = read.input, .weight = weight}});
      }
      moves = !reads.empty() || SeenOf(op) >= 0;
    }
    if (!moves && inner.empty() && terms_.variable_of[op] < 0 && table_.local_kind(op) == 0) return;
    Term term = Instantiate(op, {.made = NodeOf(op), .local = true, .moves = moves, .reads = reads, .inner = inner});
    if (term.scope.size() > assignment_.tuning.whole_term_variables) AddParts(op, reads, inner, term);
    terms_.terms.push_back(std::move(term));
  }

  // Makes one part for each reader, with its share of the weight, because readers often agree and are then served
  // together. The sum of the parts is a lower bound: serving all costs at least as much as serving the most expensive
  // one alone, which is at least the mean.
  void AddParts(ir::OpId op, const std::vector<std::pair<int, TermRead>>& reads, const std::vector<ir::OpId>& inner,
                Term& term) {
    const auto add = [&](Term part, bool never_more) {
      part.never_more = never_more;
      term.parts.push_back(static_cast<int>(terms_.parts.size()));
      terms_.parts.push_back(std::move(part));
    };
    const int made = SimpleNode(NodeOf(op));
    const bool is_same = made == NodeOf(op);
    add(Instantiate(op, {.made = made, .local = true, .moves = false, .reads = {}, .inner = inner}), is_same);
    const double share = 1 / static_cast<double>(reads.size());
    const bool equal_weights = std::all_of(
        reads.begin(), reads.end(), [&](const auto& read) { return read.second.weight == reads[0].second.weight; });
    for (const auto& [node, read] : reads) {
      TermRead own = read;
      own.weight *= share;
      const int simple = SimpleNode(node);
      add(Instantiate(op, {.made = made, .local = false, .moves = true, .reads = {{simple, own}}, .inner = {}}),
          is_same && simple == node && equal_weights);
    }
  }

  // A node that stands for a sum without its summands: it has the layout of the value whose gradient it is.
  int SimpleNode(int node) {
    const StrategyFormula& formula = nodes_[static_cast<size_t>(node)].formula;
    if (formula.kind != StrategyFormula::Kind::kSum || !formula.has_value) return node;
    const int value = formula.inputs.back();
    return AddNode({.kind = StrategyFormula::Kind::kUpdated, .op = formula.op, .inputs = {SimpleNode(value)}});
  }

  // What a term prices, over nodes.
  struct PricedNodes {
    int made = 0;
    bool local = true;
    bool moves = true;
    std::vector<std::pair<int, TermRead>> reads;  // (node, read)
    std::vector<ir::OpId> inner;
  };

  Term Instantiate(ir::OpId op, const PricedNodes& priced) {
    Term term;
    Join(nodes_[static_cast<size_t>(priced.made)].scope, term.scope);
    for (const auto& [node, read] : priced.reads) Join(nodes_[static_cast<size_t>(node)].scope, term.scope);
    TermKind kind{.id = 0,
                  .formulas = {},
                  .variables = static_cast<int>(term.scope.size()),
                  .value = op,
                  .made = 0,
                  .local = priced.local,
                  .moves = priced.moves,
                  .reads = {},
                  .inner = {},
                  .inner_kind = -1};
    std::map<int, int> formula_of;
    kind.made = Localize(priced.made, term.scope, formula_of, kind);
    for (const auto& [node, read] : priced.reads) {
      kind.reads.push_back(read);
      kind.reads.back().formula = Localize(node, term.scope, formula_of, kind);
    }
    for (ir::OpId member : priced.inner) kind.inner.push_back(Localize(NodeOf(member), term.scope, formula_of, kind));
    if (!priced.inner.empty()) kind.inner_kind = facts_.inner_kinds[op];
    term.kind = KindOf(std::move(kind));
    return term;
  }

  // Copies a node and those it uses into `kind`'s formulas, over the scope's local variables; the index of its formula.
  int Localize(int node, const std::vector<int>& scope, std::map<int, int>& formula_of, TermKind& kind) {
    if (const auto found = formula_of.find(node); found != formula_of.end()) return found->second;
    StrategyFormula formula = nodes_[static_cast<size_t>(node)].formula;
    for (int& input : formula.inputs) input = Localize(input, scope, formula_of, kind);
    if (formula.kind == StrategyFormula::Kind::kVariable) {
      formula.number = static_cast<int>(std::lower_bound(scope.begin(), scope.end(), formula.number) - scope.begin());
    }
    kind.formulas.push_back(std::move(formula));
    const int index = static_cast<int>(kind.formulas.size()) - 1;
    formula_of.emplace(node, index);
    return index;
  }

  // Equal kinds get one number.
  int KindOf(TermKind kind) {
    std::vector<int> key = {kind.local,
                            kind.moves,
                            kind.made,
                            kind.inner_kind,
                            table_.type(kind.value),
                            facts_.gradient[kind.value],
                            table_.local_kind(kind.value)};
    for (const StrategyFormula& formula : kind.formulas) {
      key.insert(key.end(), {static_cast<int>(formula.kind), facts_.rule_of[formula.op], formula.number,
                             formula.has_value, formula.seen});
      if (formula.kind == StrategyFormula::Kind::kInherited) key.push_back(table_.inheritance_kind(formula.op));
      key.insert(key.end(), formula.inputs.begin(), formula.inputs.end());
      key.push_back(-2);
      key.insert(key.end(), formula.slots.begin(), formula.slots.end());
      key.push_back(-3);
    }
    for (const TermRead& read : kind.reads) {
      const int weight = weights_.emplace(read.weight, static_cast<int>(weights_.size())).first->second;
      key.insert(key.end(), {read.formula, read.slot, weight});
    }
    key.push_back(-4);
    key.insert(key.end(), kind.inner.begin(), kind.inner.end());
    const auto [found, is_new] = kind_index_.emplace(std::move(key), static_cast<int>(terms_.kinds.size()));
    if (is_new) {
      kind.id = found->second;
      terms_.kinds.push_back(std::move(kind));
    }
    return found->second;
  }

  StrategyTable& table_;
  const GraphFacts& facts_;
  const OpDemands& demands_;
  const AssignmentOptions& assignment_;
  const Folding* folding_;
  Terms terms_;
  std::vector<Node> nodes_;
  IdVector<ir::OpId, int> node_of_;
  int data_chain_ = 0;  // Of the op whose formula is being made: those that it is made for.
  std::map<double, int> weights_;
  absl::flat_hash_map<std::vector<int>, int> kind_index_;
};

}  // namespace

Terms TermsOf(StrategyTable& table, const OpDemands& demands, const AssignmentOptions& assignment,
              const Folding* folding) {
  return Builder(table, demands, assignment, folding).Build();
}

}  // namespace cleave::search
