#include "ir/transforms/differentiate/inherit.h"

#include <map>

namespace cleave::ir {
namespace {

// For each dimension factors of the forward op, major first; empty where nothing is known.
using Labels = std::vector<FactorList>;

class Labeller {
 public:
  Labeller(const Graph& graph, const GradientOps& made, RuleTable& rules)
      : graph_(graph), made_(made), forward_rule_(rules.Of(graph, graph.op(made.forward))) {
    const Op& forward = graph.op(made.forward);
    // A value that is read twice has one label per use.
    for (size_t i = 0; i < forward.inputs.size(); ++i) labels_[forward.inputs[i]].push_back(forward_rule_.inputs[i]);
    labels_[made.forward] = {forward_rule_.output};
    labels_[made.output_gradient] = {forward_rule_.output};
    for (size_t i = 0; i < made.gradients.size(); ++i) {
      const std::optional<OpId>& gradient = made.gradients[i];
      if (gradient.has_value() && *gradient >= made.first) labels_[*gradient] = {forward_rule_.inputs[i]};
    }
    for (OpId op = made.first; op < made.end; op = OpId(op.value() + 1)) {
      rules_[op] = &rules.Of(graph, graph.op(op));
      maps_[op] = std::vector<int>(rules_[op]->factors.size(), -1);
    }
  }

  // Labels flow from inputs to outputs, then back from the gradients, then forward again with what the way back has
  // added.
  std::map<OpId, std::vector<int>> Run() {
    for (auto& [op, map] : maps_) Visit(op);
    for (auto it = maps_.rbegin(); it != maps_.rend(); ++it) Visit(it->first);
    for (auto& [op, map] : maps_) Visit(op);
    return maps_;
  }

 private:
  void Visit(OpId id) {
    const Rule& rule = *rules_[id];
    std::vector<int>& map = maps_[id];
    const std::vector<OpId>& inputs = graph_.op(id).inputs;
    // Values with one label first: they tell which label of the others is meant.
    for (bool ambiguous : {false, true}) {
      for (size_t i = 0; i < inputs.size(); ++i) {
        const auto found = labels_.find(inputs[i]);
        if (found != labels_.end() && (found->second.size() > 1) == ambiguous) {
          Unify(rule, rule.inputs[i], BestOf(rule, rule.inputs[i], found->second, map), map);
        }
      }
    }
    const auto own = labels_.find(id);
    if (own != labels_.end()) Unify(rule, rule.output, own->second[0], map);
    Fill(id, LabelsFrom(rule.output, map));
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] >= made_.first) Fill(inputs[i], LabelsFrom(rule.inputs[i], map));
    }
  }

  // The first of those `candidates` that contradict `map` least.
  const Labels& BestOf(const Rule& rule, const std::vector<FactorList>& dimensions,
                       const std::vector<Labels>& candidates, const std::vector<int>& map) const {
    size_t best = 0;
    int least = -1;
    for (size_t c = 0; c < candidates.size(); ++c) {
      std::vector<int> fresh(map.size(), -1);
      Unify(rule, dimensions, candidates[c], fresh);
      int contradictions = 0;
      for (size_t f = 0; f < map.size(); ++f) contradictions += fresh[f] >= 0 && map[f] >= 0 && fresh[f] != map[f];
      if (least < 0 || contradictions < least) {
        best = c;
        least = contradictions;
      }
    }
    return candidates[best];
  }

  // Gives factors without a counterpart the factor of the dimension in which they stand: one by one where both lists
  // agree in sizes, else the most major one, which is the first to be cut.
  void Unify(const Rule& rule, const std::vector<FactorList>& dimensions, const Labels& labels,
             std::vector<int>& map) const {
    for (size_t d = 0; d < dimensions.size() && d < labels.size(); ++d) {
      const FactorList& own = dimensions[d];
      const FactorList& forward = labels[d];
      if (own.empty() || forward.empty()) continue;
      bool agree = own.size() == forward.size();
      for (size_t n = 0; agree && n < own.size(); ++n) {
        agree = rule.factors[static_cast<size_t>(own[n])].size ==
                forward_rule_.factors[static_cast<size_t>(forward[n])].size;
      }
      const size_t count = agree ? own.size() : 1;
      for (size_t n = 0; n < count; ++n) {
        int& mapped = map[static_cast<size_t>(own[n])];
        if (mapped < 0) mapped = forward[n];
      }
    }
  }

  static Labels LabelsFrom(const std::vector<FactorList>& dimensions, const std::vector<int>& map) {
    Labels labels;
    for (const FactorList& dimension : dimensions) {
      FactorList label;
      for (int factor : dimension) {
        if (map[static_cast<size_t>(factor)] >= 0) label.push_back(map[static_cast<size_t>(factor)]);
      }
      labels.push_back(label.size() == dimension.size() ? label : FactorList{});
    }
    return labels;
  }

  // Adds what `labels` says about the value of a gradient op.
  void Fill(OpId value, const Labels& labels) {
    std::vector<Labels>& known = labels_[value];
    if (known.empty()) known.push_back(Labels(labels.size()));
    for (size_t d = 0; d < labels.size(); ++d) {
      if (known[0][d].empty()) known[0][d] = labels[d];
    }
  }

  const Graph& graph_;
  const GradientOps& made_;
  const Rule& forward_rule_;
  std::map<OpId, std::vector<Labels>> labels_;
  std::map<OpId, const Rule*> rules_;
  std::map<OpId, std::vector<int>> maps_;
};

}  // namespace

void SetInheritance(Graph& graph, const GradientOps& made, RuleTable& rules) {
  const std::map<OpId, std::vector<int>> maps = Labeller(graph, made, rules).Run();
  for (const auto& [op, factors] : maps) {
    graph.ops[op].inherits = Inheritance{.op = made.forward, .factors = factors};
  }
}

}  // namespace cleave::ir
