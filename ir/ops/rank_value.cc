// A number for each rank.

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/ops/communicating.h"
#include "ir/ops/table.h"

namespace cleave {
namespace {

InferResult InferRankValue(Types, const Attributes& attributes) {
  const std::vector<double>& values = attributes.GetDoubles("values");
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
  evaluation.output.values[0] = evaluation.attributes.GetDoubles("values")[static_cast<size_t>(evaluation.rank)];
}

}  // namespace

OpDefinition DefineRankValue() {
  return OpDefinition{.name = "rank_value",
                      .op_class = OpClass::kSource,
                      .rank_use = RankUse::kNumber,
                      .callable = false,
                      .signature = {{.name = "values", .kind = ArgumentKind::kFloats}},
                      .summary = "a number for each rank",
                      .infer = InferRankValue,
                      .rule = WholeRule,
                      .flops = FlopsPerElement<0>,
                      .evaluate = EvaluateRankValue};
}

}  // namespace cleave
