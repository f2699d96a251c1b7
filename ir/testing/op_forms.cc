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
  for (size_t f = 0; f < form.rule.factors.size(); ++f) {
    const int64_t least = random() % 12 == 0 ? 1 : 2;
    const bool is_free = form.rule.IsFree(static_cast<int>(f));
    sizes.push_back(is_free ? RandomInt(random, least, largest) : form.rule.factors[f].size);
  }
  return sizes;
}

std::optional<std::vector<int64_t>> SizesThatFit(const OpForm& form, size_t input, const Shape& shape,
                                                 std::vector<int64_t> sizes) {
  const std::vector<FactorList>& dimensions = form.rule.inputs[input];
  if (dimensions.size() != shape.size()) return std::nullopt;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (dimensions[d].size() != 1 || form.rule.WindowOf(static_cast<int>(input), d) != nullptr) return std::nullopt;
    const int factor = dimensions[d].front();
    const int64_t size = form.rule.factors[static_cast<size_t>(factor)].size;
    if (!form.rule.IsFree(factor) && size != shape[d]) return std::nullopt;
    sizes[static_cast<size_t>(factor)] = shape[d];
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    // One factor in two dimensions of different sizes.
    if (sizes[static_cast<size_t>(dimensions[d].front())] != shape[d]) return std::nullopt;
  }
  return sizes;
}

OpForm Resized(const OpForm& form, const std::vector<int64_t>& sizes) {
  OpForm resized = form;
  for (size_t f = 0; f < sizes.size(); ++f) resized.rule.factors[f].size = sizes[f];
  for (size_t input = 0; input < form.types.size(); ++input) {
    resized.types[input].shape = resized.rule.InputShape(static_cast<int>(input));
  }
  if (form.op->resize != nullptr) resized.attributes = form.op->resize(form.attributes, resized.rule);
  return resized;
}

}  // namespace cleave::ir
