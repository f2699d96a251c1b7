// Products of rows, each with the matrix of its group: the experts of a mixture, on as many rows as each gets. A row
// whose group has no matrix gives zeros, so a rank that holds some of the matrices gives the rows of these, and the sum
// over all ranks is the result. Rows may stand in any order.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"
#include "ir/graph/ops/lift.h"
#include "ir/graph/ops/need.h"
#include "ir/graph/ops/products.h"

namespace cleave::ir {
namespace {

// Dimensions of a matrix in weights [groups, .., ..].
struct WeightSides {
  size_t contracted;
  size_t kept;
};

WeightSides SidesOf(const Attributes& attributes) {
  return attributes.Get(attribute::kTransposeB) ? WeightSides{.contracted = 2, .kept = 1}
                                                : WeightSides{.contracted = 1, .kept = 2};
}

// An error unless input `groups` is i32, with one number for each row of input 0.
std::optional<OpError> CheckRowGroups(Types inputs, int groups) {
  if (auto error = CheckDType(inputs, groups, DType::kI32, "groups")) return error;
  if (auto error = CheckRank(inputs, 0, 1)) return error;
  const Shape& rows = inputs[0].shape;
  const Shape& numbers = inputs[static_cast<size_t>(groups)].shape;
  if (Shape(rows.begin(), rows.end() - 1) == numbers) return std::nullopt;
  return OpError{
      .code = Code::kE0411,
      .message = absl::StrCat("rows ", ShapeText(rows), " by groups ", ShapeText(numbers)),
      .about = {{groups, absl::StrCat("is ", ShapeText(numbers))}, {0, absl::StrCat("is ", ShapeText(rows))}},
      .notes = {"`groups` has one number for each row"}};
}

// (x [.., k], weights [g, k, j], or [g, j, k] with transpose_b, groups [..]) -> [.., j].

InferResult InferGroupedMatmul(Types inputs, const Attributes& attributes) {
  if (auto error = CheckFloat(inputs, 0, "x")) return *error;
  if (auto error = CheckDType(inputs, 1, inputs[0].dtype, "weights")) return *error;
  if (auto error = CheckRowGroups(inputs, 2)) return *error;
  const Shape& x = inputs[0].shape;
  const Shape& weights = inputs[1].shape;
  const WeightSides sides = SidesOf(attributes);
  if (weights.size() != 3 || weights[sides.contracted] != x.back()) {
    return OpError{.code = Code::kE0401,
                   .message = absl::StrCat("rows ", ShapeText(x), " by the matrices of ", ShapeText(weights)),
                   .about = {{1, absl::StrCat("is ", ShapeText(weights))}},
                   .notes = {absl::StrCat("there is a matrix for each group: three dimensions, ", x.back(),
                                          " elements in dimension ", sides.contracted)}};
  }
  const auto dtype = ResultDType(inputs, attributes);
  if (const OpError* error = std::get_if<OpError>(&dtype)) return *error;
  Shape shape = x;
  shape.back() = weights[sides.kept];
  return TensorType{std::get<DType>(dtype), shape};
}

// "d0 k, g k j, d0 -> d0 j".
Rule GroupedMatmulRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  Rule rule;
  const std::vector<FactorList> rows = AddDimensions(rule, inputs[2].shape);
  const int group = AddFactor(rule, "g", inputs[1].shape[0], FactorKind::kReduced);
  const int k = AddFactor(rule, "k", inputs[0].shape.back(), FactorKind::kReduced);
  const int j = AddFactor(rule, "j", output.shape.back());
  const auto with = [&rows](int column) {
    std::vector<FactorList> dimensions = rows;
    dimensions.push_back({column});
    return dimensions;
  };
  std::vector<FactorList> weights = {{group}, {k}, {j}};
  if (attributes.Get(attribute::kTransposeB)) std::swap(weights[1], weights[2]);
  rule.inputs = {with(k), std::move(weights), rows};
  rule.output = with(j);
  rule.linear = {{0}, {1}};
  return rule;
}

// By the rows as for any product, with the other side of the matrices; by a matrix from the rows of its group.
Gradients GroupedMatmulGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const OpId x = op.inputs[0];
  const OpId groups = op.inputs[2];
  const bool transpose_b = op.attributes.Get(attribute::kTransposeB);
  const int64_t count = builder.type(op.inputs[1]).shape[0];
  const OpId dx = builder.Add(OpKind::kGroupedMatmul, {dy, op.inputs[1], groups},
                              {{attribute::kTransposeB, !transpose_b}}, GradientName(op, "x"));
  const std::vector<OpId> factors = transpose_b ? std::vector<OpId>{dy, x, groups} : std::vector<OpId>{x, dy, groups};
  const OpId dw =
      builder.Add(OpKind::kGroupedMatmulSum, factors, {{attribute::kSize, count}}, GradientName(op, "weights"));
  return {dx, dw, std::nullopt};
}

Flops GroupedMatmulFlops(Types inputs, const TensorType& output, const Attributes&) {
  return Flops(2.0 * static_cast<double>(output.elements()) * static_cast<double>(inputs[0].shape.back()));
}

// Calls visit(row, its group in the piece that the rank holds) for the rows that have a matrix there.
template <typename Visit>
void ForEachGrouped(const Tensor& groups, const FactorRange& held, Visit visit) {
  for (size_t row = 0; row < groups.values.size(); ++row) {
    const int64_t group = static_cast<int64_t>(groups.values[row]) - held.begin;
    if (group >= 0 && group < held.size) visit(static_cast<int64_t>(row), group);
  }
}

void EvaluateGroupedMatmul(const Evaluation& evaluation) {
  const Tensor& x = *evaluation.inputs[0];
  const Tensor& weights = *evaluation.inputs[1];
  const Tensor& groups = *evaluation.inputs[2];
  const WeightSides sides = SidesOf(evaluation.attributes);
  const Shape strides = Strides(weights.shape);
  const ProductSizes sizes{.i = 1, .k = x.shape.back(), .j = weights.shape[sides.kept]};
  ForEachGrouped(groups, evaluation.ranges[groups.shape.size()], [&](int64_t row, int64_t group) {
    AddProduct(sizes, {.values = x.values.data() + row * sizes.k, .row = 0, .column = 1},
               {.values = weights.values.data() + group * strides[0],
                .row = strides[sides.contracted],
                .column = strides[sides.kept]},
               evaluation.output.values.data() + row * sizes.j);
  });
}

int64_t GroupedMatmulChoices(Types inputs, const Attributes&, int input) { return input == 2 ? inputs[1].shape[0] : 0; }

// Elements that share the matrices are more rows. Where each has matrices of its own, these are more groups, numbered
// behind those of the elements before; a row without a matrix keeps none.
OpId BatchGroupedMatmul(Lift& lift) {
  if (!lift.mapped(1)) return lift.Main({lift.Whole(0), lift.value(1), lift.Whole(2)});
  const OpId groups = lift.Whole(2);
  Shape matrices = lift.element(1);
  const auto count = static_cast<double>(matrices[0]);
  matrices[0] *= lift.size();
  Shape elements(lift.shape(groups).size(), 1);
  elements[0] = lift.size();
  const auto number = [&](double value) {
    return lift.Step(OpKind::kConstant, {}, {{attribute::kValue, value}, {attribute::kDType, DType::kI32}});
  };
  const OpId counted = lift.Step(OpKind::kCumsum, {lift.Constant(count, elements)}, {{attribute::kAxis, int64_t{0}}});
  const OpId first = lift.Step(OpKind::kSub, {counted, lift.Constant(count)});
  const OpId behind =
      lift.Step(OpKind::kAdd, {groups, lift.Step(OpKind::kCast, {first}, {{attribute::kDType, DType::kI32}})});
  const OpId exists = lift.Step(OpKind::kMul, {lift.Step(OpKind::kGreaterEqual, {groups, number(0)}),
                                               lift.Step(OpKind::kLess, {groups, number(count)})});
  const OpId numbered = lift.Step(OpKind::kWhere, {exists, behind, number(-1)});
  return lift.Main({lift.Whole(0), lift.Reshape(lift.value(1), matrices), numbered});
}

// GroupedMatMul(shape, x, weights, groups, y)
BracedList ProductOfGroups(const LocalSize& rows, const LocalDimension& groups, const LocalDimension& k,
                           const LocalDimension& n) {
  return {{{rows, "rows"},
           {LocalSize{{k}}, "k"},
           {LocalSize{{n}}, "n"},
           {LocalSize{{groups}}, "groups"},
           {FirstIndex{groups}, "first_group", 0}}};
}

std::vector<KernelCall> GroupedMatmulCalls(const CallSite& site) {
  BracedList shape = ProductOfGroups(site.Rows(0), {1, 0}, site.Last(0), site.Last(kResult));
  if (site.attributes.Get(attribute::kTransposeB)) shape.fields.push_back({true, "transpose_b"});
  return {{"GroupedMatMul", {shape, Pointer{0}, Pointer{1}, Pointer{2}, Pointer{kResult}}}};
}

// Of both tensors of rows a block, in which those of a group stand together (kMostRows in
// runtime/math/onednn/grouped.cc).
Need BlockNeed(const TensorType& a, const TensorType& b) {
  static constexpr int64_t kMostRows = 512;
  const auto of_rows = [](const TensorType& tensor) {
    const int64_t rows = ElementCount(Shape(tensor.shape.begin(), tensor.shape.end() - 1));
    TensorType block = tensor;
    block.shape = {std::min(rows, kMostRows), tensor.shape.back()};
    return block.bytes();
  };
  return {.temporary = of_rows(a) + of_rows(b)};
}

Need GroupedMatmulNeed(Types inputs, const TensorType& output, const Attributes&) {
  return BlockNeed(inputs[0], output);
}

Need GroupedMatmulSumNeed(Types inputs, const TensorType&, const Attributes&) {
  return BlockNeed(inputs[0], inputs[1]);
}

// (a [.., i], b [.., j], groups [..]; size = g) -> [g, i, j]: for each group the sum of a[row, i] b[row, j] over its
// rows. The gradient by the matrices.

InferResult InferGroupedMatmulSum(Types inputs, const Attributes& attributes) {
  if (auto error = CheckFloat(inputs, 0, "a")) return *error;
  if (auto error = CheckDType(inputs, 1, inputs[0].dtype, "b")) return *error;
  if (auto error = CheckRowGroups(inputs, 2)) return *error;
  const Shape& a = inputs[0].shape;
  const Shape& b = inputs[1].shape;
  if (b.empty() || Shape(a.begin(), a.end() - 1) != Shape(b.begin(), b.end() - 1)) {
    return OpError{.code = Code::kE0401,
                   .message = absl::StrCat("rows of ", ShapeText(a), " and ", ShapeText(b), " differ"),
                   .about = {{1, absl::StrCat("is ", ShapeText(b))}}};
  }
  if (auto error = CheckSizes({attributes.Get(attribute::kSize)}, "size")) return *error;
  const auto dtype = ResultDType(inputs, attributes);
  if (const OpError* error = std::get_if<OpError>(&dtype)) return *error;
  return TensorType{std::get<DType>(dtype), {attributes.Get(attribute::kSize), a.back(), b.back()}};
}

// "d0 i, d0 j, d0 -> g i j".
Rule GroupedMatmulSumRule(Types inputs, const TensorType& output, const Attributes&) {
  Rule rule;
  const std::vector<FactorList> rows = AddDimensions(rule, inputs[2].shape, FactorKind::kReduced);
  const int group = AddFactor(rule, "g", output.shape[0]);
  const int i = AddFactor(rule, "i", output.shape[1]);
  const int j = AddFactor(rule, "j", output.shape[2]);
  rule.inputs = {rows, rows, rows};
  rule.inputs[0].push_back({i});
  rule.inputs[1].push_back({j});
  rule.output = {{group}, {i}, {j}};
  rule.linear = {{0}, {1}};
  return rule;
}

Flops GroupedMatmulSumFlops(Types inputs, const TensorType& output, const Attributes&) {
  return Flops(2.0 * static_cast<double>(inputs[0].elements()) * static_cast<double>(output.shape[2]));
}

void EvaluateGroupedMatmulSum(const Evaluation& evaluation) {
  const Tensor& a = *evaluation.inputs[0];
  const Tensor& b = *evaluation.inputs[1];
  const Tensor& groups = *evaluation.inputs[2];
  const ProductSizes sizes{.i = a.shape.back(), .k = 1, .j = b.shape.back()};
  ForEachGrouped(groups, evaluation.ranges[groups.shape.size()], [&](int64_t row, int64_t group) {
    AddProduct(sizes, {.values = a.values.data() + row * sizes.i, .row = 1, .column = 0},
               {.values = b.values.data() + row * sizes.j, .row = 0, .column = 1},
               evaluation.output.values.data() + group * sizes.i * sizes.j);
  });
}

Attributes ResizeGroupedMatmulSum(const Attributes& attributes, const Rule& resized) {
  Attributes result = attributes;
  result.Set(attribute::kSize, resized.OutputShape()[0]);
  return result;
}

int64_t GroupedMatmulSumChoices(Types, const Attributes& attributes, int input) {
  return input == 2 ? attributes.Get(attribute::kSize) : 0;
}

std::vector<KernelCall> GroupedMatmulSumCalls(const CallSite& site) {
  return {{"GroupedMatMulSum",
           {ProductOfGroups(site.Rows(0), {kResult, 0}, site.Last(0), site.Last(1)), Pointer{0}, Pointer{1}, Pointer{2},
            Pointer{kResult}}}};
}

}  // namespace

OpDefinition DefineGroupedMatmul() {
  return OpDefinition{.op_class = OpClass::kProduct,
                      .treatment = Treatment::kProduct,
                      .signature = {{.name = "x"},
                                    {.name = "weights"},
                                    {.name = "groups"},
                                    OptionalAttribute(attribute::kTransposeB, false),
                                    ResultArgument()},
                      .summary = "the product of each row with the matrix of its group",
                      .infer = InferGroupedMatmul,
                      .rule = GroupedMatmulRule,
                      .gradient = GroupedMatmulGradients,
                      .flops = GroupedMatmulFlops,
                      .evaluate = EvaluateGroupedMatmul,
                      .choices = GroupedMatmulChoices,
                      .batch = BatchGroupedMatmul,
                      .calls = GroupedMatmulCalls,
                      .need = GroupedMatmulNeed};
}

OpDefinition DefineGroupedMatmulSum() {
  return OpDefinition{.op_class = OpClass::kProduct,
                      .callable = false,
                      .treatment = Treatment::kGradient,
                      .signature = {{.name = "a"},
                                    {.name = "b"},
                                    {.name = "groups"},
                                    RequiredAttribute(attribute::kSize),
                                    ResultArgument()},
                      .summary = "for each group the product of its rows, contracted over these",
                      .infer = InferGroupedMatmulSum,
                      .rule = GroupedMatmulSumRule,
                      .flops = GroupedMatmulSumFlops,
                      .evaluate = EvaluateGroupedMatmulSum,
                      .resize = ResizeGroupedMatmulSum,
                      .choices = GroupedMatmulSumChoices,
                      .calls = GroupedMatmulSumCalls,
                      .need = GroupedMatmulSumNeed};
}

}  // namespace cleave::ir
