// A number for each rank.

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/ops/communicating.h"
#include "ir/ops/define.h"

namespace cleave {
namespace {

InferResult InferRankValue(Types, const Attributes& attributes) {
  const std::vector<double>& values = attributes.Get(attribute::kValues);
  for (size_t rank = 0; rank < values.size(); ++rank) {
    if (std::isfinite(values[rank])) continue;
    return OpError{.code = Code::kE0409,
                   .message = absl::StrCat("the value of rank ", rank, " is ", FormatDouble(values[rank])),
                   .about = {},
                   .notes = {"it must be a finite number"}};
  }
  return TensorType{DType::kF32, {}};
}

void EvaluateRankValue(const Evaluation& evaluation) {
  evaluation.output.values[0] = evaluation.attributes.Get(attribute::kValues)[static_cast<size_t>(evaluation.rank)];
}

}  // namespace

OpDefinition DefineRankValue() {
  return OpDefinition{.op_class = OpClass::kSource,
                      .rank_use = RankUse::kNumber,
                      .callable = false,
                      .signature = {RequiredAttribute(attribute::kValues)},
                      .summary = "a number for each rank",
                      .infer = InferRankValue,
                      .rule = WholeRule,
                      .flops = FlopsPerElement<0>,
                      .evaluate = EvaluateRankValue};
}

}  // namespace cleave
