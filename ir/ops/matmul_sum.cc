// The product of a transposed and a second matrix, summed over leading dimensions: a [.., k, i] and b [.., k, j] to [i,
// j].
//
// This is the gradient of a weight that all leading dimensions share. Everything but the last dimension is contracted,
// so on contiguous tensors it is one matrix product.

#include "absl/strings/str_cat.h"
#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"
#include "ir/ops/products.h"

namespace cleave {
namespace {

InferResult InferMatmulSum(Types inputs, const Attributes& attributes) {
  if (auto error = CheckFloat(inputs, 0, "a")) return *error;
  if (auto error = CheckDType(inputs, 1, inputs[0].dtype, "b")) return *error;
  if (auto error = CheckRank(inputs, 0, 2)) return *error;
  if (auto error = CheckRank(inputs, 1, 2)) return *error;
  const Shape& a = inputs[0].shape;
  const Shape& b = inputs[1].shape;
  if (Shape(a.begin(), a.end() - 1) != Shape(b.begin(), b.end() - 1)) {
    return OpError{.code = Code::kE0401,
                   .message = absl::StrCat("contracted dimensions of ", ShapeText(a), " and ", ShapeText(b), " differ"),
                   .about = {{1, absl::StrCat("is ", ShapeText(b))}}};
  }
  const auto dtype = ResultDType(inputs, attributes);
  if (const OpError* error = std::get_if<OpError>(&dtype)) return *error;
  return TensorType{std::get<DType>(dtype), {a.back(), b.back()}};
}

Rule MatmulSumRule(Types inputs, const TensorType& output, const Attributes&) {
  Rule rule;
  std::vector<FactorList> a;
  const int leading = inputs[0].rank() - 2;
  for (int d = 0; d <= leading; ++d) {
    const std::string name = d < leading ? absl::StrCat("b", d) : "k";
    a.push_back({AddFactor(rule, name, inputs[0].shape[static_cast<size_t>(d)], FactorKind::kReduced)});
  }
  std::vector<FactorList> b = a;
  const int i = AddFactor(rule, "i", output.shape[0]);
  const int j = AddFactor(rule, "j", output.shape[1]);
  a.push_back({i});
  b.push_back({j});
  rule.inputs = {std::move(a), std::move(b)};
  rule.output = {{i}, {j}};
  rule.linear = {{0}, {1}};
  return rule;
}

Flops MatmulSumFlops(Types inputs, const TensorType& output, const Attributes&) {
  return Flops(2.0 * static_cast<double>(inputs[0].elements()) * static_cast<double>(output.shape[1]));
}

void EvaluateMatmulSum(const Evaluation& evaluation) {
  const Tensor& a = *evaluation.inputs[0];
  const Tensor& b = *evaluation.inputs[1];
  int64_t contracted = 1;
  for (size_t d = 0; d + 1 < a.shape.size(); ++d) contracted *= a.shape[d];
  const ProductSizes sizes{.i = a.shape.back(), .k = contracted, .j = b.shape.back()};
  AddProduct(sizes, {.values = a.values.data(), .row = 1, .column = sizes.i},
             {.values = b.values.data(), .row = sizes.j, .column = 1}, evaluation.output.values.data());
}

}  // namespace

OpDefinition DefineMatmulSum() {
  return OpDefinition{.op_class = OpClass::kProduct,
                      .callable = false,
                      .signature = {{.name = "a"}, {.name = "b"}, ResultArgument()},
                      .summary = "product contracted over all but the last dimensions",
                      .infer = InferMatmulSum,
                      .rule = MatmulSumRule,
                      .flops = MatmulSumFlops,
                      .evaluate = EvaluateMatmulSum};
}

}  // namespace cleave
