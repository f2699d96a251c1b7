#include "ir/ops/communicating.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "base/text/text.h"
#include "ir/manual/manual.h"

namespace cleave {
namespace {

int64_t ProductOf(Shape::const_iterator begin, Shape::const_iterator end) {
  int64_t product = 1;
  for (; begin != end; ++begin) product *= *begin;
  return product;
}

// Attributes hold sizes or places along the dimension: that of the messages is the only one that x has.
bool IsSpokenOf(const Attributes& attributes, size_t dimension) {
  if (attributes.Has(attribute::kSendSizes)) return true;
  for (const auto key : {attribute::kAxis, attribute::kSplitAxis, attribute::kConcatAxis}) {
    if (attributes.Has(key) && attributes.Get(key) == static_cast<int64_t>(dimension)) return true;
  }
  return false;
}

}  // namespace

OpDefinition GroupOp(std::string summary) {
  return OpDefinition{
      .op_class = OpClass::kMovement,
      .rank_use = RankUse::kOthers,
      .callable = false,
      .signature = {{.name = "x"}, RequiredAttribute(attribute::kGroup), RequiredAttribute(attribute::kSize)},
      .summary = std::move(summary),
      .rule = WholeRule,
      .flops = FlopsPerElement<0>};
}

OpDefinition OwnPlaceOp(std::string summary) {
  return OpDefinition{.op_class = OpClass::kMovement,
                      .rank_use = RankUse::kNumber,
                      .callable = false,
                      .signature = {{.name = "x"},
                                    RequiredAttribute(attribute::kAxis),
                                    RequiredAttribute(attribute::kSize),
                                    RequiredAttribute(attribute::kStarts)},
                      .summary = std::move(summary),
                      .rule = WholeRule,
                      .flops = FlopsPerElement<0>};
}

Gradients OwnPlaceGradients(GraphBuilder& builder, const Op& op, OpId dy, OpKind transpose) {
  const int64_t axis = op.attributes.Get(attribute::kAxis);
  const int64_t size = builder.type(op.inputs[0]).shape[static_cast<size_t>(axis)];
  return {builder.Add(
      transpose, {dy},
      {{attribute::kAxis, axis}, {attribute::kSize, size}, {attribute::kStarts, op.attributes.Get(attribute::kStarts)}},
      GradientName(op, "x"))};
}

int64_t OwnPlace(const Evaluation& evaluation) {
  return evaluation.attributes.Get(attribute::kStarts)[static_cast<size_t>(evaluation.rank)];
}

Rule WholeRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  Rule rule;
  if (inputs.empty()) {
    rule.output = AddDimensions(rule, output.shape, FactorKind::kWhole);
    return rule;
  }
  rule.inputs = {AddDimensions(rule, inputs[0].shape, FactorKind::kWhole)};
  rule.output = rule.inputs[0];
  for (size_t d = 0; d < output.shape.size(); ++d) {
    if (!IsSpokenOf(attributes, d)) continue;
    rule.factors[d].fixed_size = true;
    if (inputs[0].shape[d] == output.shape[d]) continue;
    const int factor = AddFactor(rule, absl::StrCat("e", d), output.shape[d], FactorKind::kWhole);
    rule.factors[static_cast<size_t>(factor)].fixed_size = true;
    rule.output[d] = {factor};
  }
  return rule;
}

std::optional<OpError> CheckDimension(Types inputs, const Attributes& attributes, Attribute<int64_t> key) {
  const int64_t axis = attributes.Get(key);
  const int rank = inputs[0].rank();
  if (axis >= 0 && axis < rank) return std::nullopt;
  OpError error{.code = Code::kE0404,
                .message = absl::StrCat("axis ", axis, " of a tensor with ", Plural(rank, "dimension")),
                .about = {{0, absl::StrCat("has ", Plural(rank, "dimension"))}}};
  if (rank > 0) error.help.push_back(absl::StrCat("axes are 0 to ", rank - 1));
  return error;
}

std::optional<OpError> CheckGroupSize(const Attributes& attributes) {
  const int64_t size = attributes.Get(attribute::kSize);
  if (size >= 1) return std::nullopt;
  return OpError{.code = Code::kE0409, .message = absl::StrCat("a group of ", Plural(size, "rank")), .about = {}};
}

std::optional<OpError> CheckDivides(Types inputs, const Attributes& attributes, Attribute<int64_t> key) {
  const int64_t axis = attributes.Get(key);
  const int64_t elements = inputs[0].shape[static_cast<size_t>(axis)];
  const int64_t size = attributes.Get(attribute::kSize);
  if (elements % size == 0) return std::nullopt;
  return OpError{.code = Code::kE0710,
                 .message = absl::StrCat("dimension ", axis, " with ", Plural(elements, "element"), " for a group of ",
                                         Plural(size, "rank")),
                 .about = {{0, absl::StrCat("has ", elements, " in dimension ", axis)}},
                 .notes = {"every rank of the group gets a part of the same size"}};
}

Attributes GroupAttributes(const Op& op) { return op.attributes.Only(attribute::kGroup, attribute::kSize); }

std::vector<int64_t> RankTable(const GraphBuilder& builder, const std::function<int64_t(int64_t rank)>& of) {
  CLEAVE_CHECK(builder.graph().is_manual());
  std::vector<int64_t> table;
  for (int64_t rank = 0; rank < RankCount(builder.graph().rank_axes); ++rank) table.push_back(of(rank));
  return table;
}

void CopyAlong(const AxisCopy& copy, const Tensor& x, Tensor& y) {
  const auto axis = static_cast<std::ptrdiff_t>(copy.axis);
  const int64_t inner = ProductOf(x.shape.begin() + axis + 1, x.shape.end());
  const int64_t outer = ProductOf(x.shape.begin(), x.shape.begin() + axis);
  const int64_t of_x = x.shape[copy.axis] * inner;
  const int64_t of_y = y.shape[copy.axis] * inner;
  const int64_t count = std::min(of_x, of_y);
  for (int64_t o = 0; o < outer; ++o) {
    const auto from = x.values.begin() + o * of_x + copy.x_begin * inner;
    std::copy(from, from + count, y.values.begin() + o * of_y + copy.y_begin * inner);
  }
}

}  // namespace cleave
