#include "ir/testing/op_forms.h"

#include <utility>

namespace cleave::ir {
namespace {

// Samples are random as well. This many draws of each op show most of its forms.
constexpr int kDraws = 6;

std::vector<OpForm> FormsOf(const OpDefinition& op) {
  Random random(0);
  std::vector<OpForm> forms;
  for (int draw = 0; draw < kDraws; ++draw) {
    for (Sample& sample : SamplesOf(op.kind, random)) {
      forms.push_back({.op = &op,
                       .attributes = std::move(sample.attributes),
                       .types = std::move(sample.types),
                       .fills = std::move(sample.fills),
                       .output = std::move(sample.output),
                       .rule = std::move(sample.rule)});
    }
  }
  return forms;
}

Shape SizesOf(const std::vector<FactorList>& dimensions, const std::vector<int64_t>& sizes) {
  Shape shape;
  for (const FactorList& factors : dimensions) {
    int64_t size = 1;
    for (int factor : factors) size *= sizes[static_cast<size_t>(factor)];
    shape.push_back(size);
  }
  return shape;
}

}  // namespace

const std::vector<std::vector<OpForm>>& OpForms() {
  static const auto* forms = [] {
    auto* all = new std::vector<std::vector<OpForm>>;
    for (const OpDefinition* op : AllOps()) {
      if (!op->callable || op->op_class == OpClass::kSource) continue;
      std::vector<OpForm> of_op = FormsOf(*op);
      if (!of_op.empty()) all->push_back(std::move(of_op));
    }
    return all;
  }();
  return *forms;
}

std::vector<int64_t> RandomSizes(const OpForm& form, int64_t largest, Random& random) {
  std::vector<int64_t> sizes;
  for (const Factor& factor : form.rule.factors) {
    const int64_t least = random() % 12 == 0 ? 1 : 2;
    sizes.push_back(factor.fixed_size ? factor.size : RandomInt(random, least, largest));
  }
  return sizes;
}

std::optional<std::vector<int64_t>> SizesThatFit(const OpForm& form, size_t input, const Shape& shape,
                                                 std::vector<int64_t> sizes) {
  const std::vector<FactorList>& dimensions = form.rule.inputs[input];
  if (dimensions.size() != shape.size()) return std::nullopt;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (dimensions[d].size() != 1 || form.rule.WindowOf(static_cast<int>(input), d) != nullptr) return std::nullopt;
    const size_t factor = static_cast<size_t>(dimensions[d].front());
    if (form.rule.factors[factor].fixed_size && form.rule.factors[factor].size != shape[d]) return std::nullopt;
    sizes[factor] = shape[d];
  }
  if (SizesOf(dimensions, sizes) != shape) return std::nullopt;  // One factor in two dimensions of different sizes.
  return sizes;
}

OpForm Resized(const OpForm& form, const std::vector<int64_t>& sizes) {
  OpForm resized = form;
  for (size_t input = 0; input < form.types.size(); ++input) {
    Shape shape = SizesOf(form.rule.inputs[input], sizes);
    for (size_t d = 0; d < shape.size(); ++d) {
      if (form.rule.WindowOf(static_cast<int>(input), d) != nullptr) shape[d] = form.types[input].shape[d];
    }
    resized.types[input].shape = std::move(shape);
  }
  if (form.op->resize != nullptr) resized.attributes = form.op->resize(form.attributes, form.rule, sizes);
  return resized;
}

}  // namespace cleave::ir
