#include "ir/graph/ops/communicating.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "base/text/text.h"
#include "ir/graph/manual/manual.h"

namespace cleave::ir {
namespace {

// Whether attributes hold sizes or places along the dimension. For messages it is the only dimension of x.
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

}  // namespace cleave::ir
