#include "ir/ops/reshaping.h"

#include <numeric>

#include "absl/strings/str_cat.h"

namespace cleave {
namespace {

// What is left of one side: the dimension in work and its part that no factor covers yet.
struct Side {
  explicit Side(const Shape& side_shape) : shape(side_shape), dimensions(side_shape.size()) { SkipDone(); }

  bool done() const { return dimension == shape.size(); }
  void Cover(int factor, int64_t size) {
    dimensions[dimension].push_back(factor);
    rest /= size;
    if (rest == 1) {
      ++dimension;
      SkipDone();
    }
  }
  // Moves to the next dimension that has more than one element.
  void SkipDone() {
    while (dimension < shape.size() && shape[dimension] == 1) ++dimension;
    rest = done() ? 1 : shape[dimension];
  }

  const Shape& shape;
  std::vector<FactorList> dimensions;
  size_t dimension = 0;
  int64_t rest = 1;
};

int AddNumbered(Rule& rule, int64_t size, FactorKind kind) {
  const int factor = AddFactor(rule, absl::StrCat("f", rule.factors.size()), size, kind);
  rule.factors.back().fixed_size = kind == FactorKind::kWhole;
  return factor;
}

// Covers the rest of the dimension in work with a whole factor and returns its size.
int64_t CoverWhole(Rule& rule, Side& side) {
  const int64_t size = side.rest;
  side.Cover(AddNumbered(rule, size, FactorKind::kWhole), size);
  return size;
}

}  // namespace

Rule ReshapingRule(const Shape& input, const Shape& output) {
  Rule rule;
  Side from(input);
  Side to(output);
  while (!from.done() && !to.done()) {
    const int64_t common = std::gcd(from.rest, to.rest);
    if (common > 1) {
      const int factor = AddNumbered(rule, common, FactorKind::kParallel);
      from.Cover(factor, common);
      to.Cover(factor, common);
      continue;
    }
    int64_t covered_from = CoverWhole(rule, from);
    int64_t covered_to = CoverWhole(rule, to);
    while (covered_from != covered_to) {
      if (covered_from < covered_to) {
        covered_from *= CoverWhole(rule, from);
      } else {
        covered_to *= CoverWhole(rule, to);
      }
    }
  }
  rule.inputs = {std::move(from.dimensions)};
  rule.output = std::move(to.dimensions);
  rule.linear = {{0}};
  return rule;
}

Gradients ReshapingGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return {builder.Add(OpKind::kReshape, {dy}, {{attribute::kShape, builder.type(op.inputs[0]).shape}},
                      GradientName(op, "x"))};
}

void CopyElements(const Evaluation& evaluation) { evaluation.output.values = evaluation.inputs[0]->values; }

}  // namespace cleave
