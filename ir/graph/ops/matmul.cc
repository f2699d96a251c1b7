// Matrix product, 2-D and batched: a [.., i, k] times b [k, j] or [.., k, j]; either side may be stored transposed.
//
// The rule's letters are the same everywhere: b0 b1 … leading dimensions, i rows, k contracted, j columns.

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"
#include "ir/graph/ops/inference.h"
#include "ir/graph/ops/lift.h"
#include "ir/graph/ops/products.h"
#include "ir/tensor/formula/formula.h"

namespace cleave::ir {
namespace {

// Which dimension of a matrix is contracted, and the other one; both counted within the last two.
struct Sides {
  size_t kept;
  size_t contracted;
};

Sides SidesOfA(size_t rank, const Attributes& attributes) {
  return attributes.Get(attribute::kTransposeA) ? Sides{rank - 1, rank - 2} : Sides{rank - 2, rank - 1};
}

Sides SidesOfB(size_t rank, const Attributes& attributes) {
  return attributes.Get(attribute::kTransposeB) ? Sides{rank - 2, rank - 1} : Sides{rank - 1, rank - 2};
}

// b has no leading dimensions of its own.
bool IsShared(Types inputs) { return inputs[1].rank() == 2; }

InferResult InferMatmul(Types inputs, const Attributes& attributes) {
  if (auto error = CheckFloat(inputs, 0, "a")) return *error;
  if (auto error = CheckDType(inputs, 1, inputs[0].dtype, "b")) return *error;
  if (auto error = CheckRank(inputs, 0, 2)) return *error;
  if (auto error = CheckRank(inputs, 1, 2)) return *error;
  const Shape& a = inputs[0].shape;
  const Shape& b = inputs[1].shape;
  const Sides a_sides = SidesOfA(a.size(), attributes);
  const Sides b_sides = SidesOfB(b.size(), attributes);
  const Shape leading(a.begin(), a.end() - 2);
  if (b.size() > 2 && leading != Shape(b.begin(), b.end() - 2)) {
    return OpError{.code = Code::kE0401,
                   .message = absl::StrCat("leading dimensions of ", ShapeText(a), " and ", ShapeText(b), " differ"),
                   .about = {{1, absl::StrCat("is ", ShapeText(b))}, {0, absl::StrCat("is ", ShapeText(a))}},
                   .notes = {"the second input has the leading dimensions of the first, or none"}};
  }
  const int64_t k_of_a = a[a_sides.contracted];
  const int64_t k_of_b = b[b_sides.contracted];
  if (k_of_a != k_of_b) {
    OpError error{.code = Code::kE0401,
                  .message = absl::StrCat("inner sizes ", k_of_a, " and ", k_of_b,
                                          " of a matrix product differ: ", ShapeText(a), " by ", ShapeText(b)),
                  .about = {{1, absl::StrCat("has ", k_of_b, " in dimension ", b_sides.contracted)},
                            {0, absl::StrCat("has ", k_of_a, " in dimension ", a_sides.contracted)}}};
    if (k_of_a == b[b_sides.kept]) {
      error.help.push_back(attributes.Get(attribute::kTransposeB) ? "transpose_b = false" : "transpose_b = true");
    } else if (a[a_sides.kept] == k_of_b) {
      error.help.push_back(attributes.Get(attribute::kTransposeA) ? "transpose_a = false" : "transpose_a = true");
    }
    return error;
  }
  Shape shape = leading;
  shape.push_back(a[a_sides.kept]);
  shape.push_back(b[b_sides.kept]);
  const auto dtype = ResultDType(inputs, attributes);
  if (const OpError* error = std::get_if<OpError>(&dtype)) return *error;
  return TensorType{std::get<DType>(dtype), shape};
}

Rule MatmulRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  Rule rule;
  std::vector<FactorList> leading;
  for (int d = 0; d < output.rank() - 2; ++d) {
    leading.push_back({AddFactor(rule, absl::StrCat("b", d), output.shape[static_cast<size_t>(d)])});
  }
  const size_t rank = output.shape.size();
  const int i = AddFactor(rule, "i", output.shape[rank - 2]);
  const Sides a_sides = SidesOfA(rank, attributes);
  const int k = AddFactor(rule, "k", inputs[0].shape[a_sides.contracted], FactorKind::kReduced);
  const int j = AddFactor(rule, "j", output.shape[rank - 1]);

  auto tensor = [&](const std::vector<FactorList>& front, int row, int column) {
    std::vector<FactorList> dimensions = front;
    dimensions.push_back({row});
    dimensions.push_back({column});
    return dimensions;
  };
  const bool transpose_a = attributes.Get(attribute::kTransposeA);
  const bool transpose_b = attributes.Get(attribute::kTransposeB);
  const std::vector<FactorList> front_of_b = IsShared(inputs) ? std::vector<FactorList>{} : leading;
  rule.inputs = {tensor(leading, transpose_a ? k : i, transpose_a ? i : k),
                 tensor(front_of_b, transpose_b ? j : k, transpose_b ? k : j)};
  rule.output = tensor(leading, i, j);
  rule.linear = {{0}, {1}};
  return rule;
}

OpId Product(GraphBuilder& builder, OpId a, OpId b, bool transpose_a, bool transpose_b, const std::string& name) {
  return builder.Add(OpKind::kMatmul, {a, b},
                     {{attribute::kTransposeA, transpose_a}, {attribute::kTransposeB, transpose_b}}, name);
}

OpId SwapLastTwo(GraphBuilder& builder, OpId x, const std::string& name) {
  std::vector<int64_t> permutation;
  for (int d = 0; d < builder.type(x).rank(); ++d) permutation.push_back(d);
  std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
  return builder.Add(OpKind::kTranspose, {x}, {{attribute::kPermutation, permutation}}, name);
}

// With A and B the matrices as they enter the product, dA = dC B^T and dB = A^T dC. An input that is stored transposed
// gets the transposed gradient, (dC B^T)^T = B dC^T.
Gradients MatmulGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const OpId a = op.inputs[0];
  const OpId b = op.inputs[1];
  const bool transpose_a = op.attributes.Get(attribute::kTransposeA);
  const bool transpose_b = op.attributes.Get(attribute::kTransposeB);
  const bool summed = builder.type(a).rank() > 2 && builder.type(b).rank() == 2;
  const std::string name_a = GradientName(op, "a");
  const std::string name_b = GradientName(op, "b");

  OpId da;
  if (!transpose_a) {
    da = Product(builder, dy, b, false, !transpose_b, name_a);
  } else if (summed) {
    da = SwapLastTwo(builder, Product(builder, dy, b, false, !transpose_b, name_a), name_a);
  } else {
    da = Product(builder, b, dy, transpose_b, true, name_a);
  }

  OpId db;
  if (summed) {
    const OpId rows = transpose_a ? SwapLastTwo(builder, a, name_b) : a;
    db = transpose_b ? builder.Add(OpKind::kMatmulSum, {dy, rows}, {}, name_b)
                     : builder.Add(OpKind::kMatmulSum, {rows, dy}, {}, name_b);
  } else {
    db = transpose_b ? Product(builder, dy, a, true, transpose_a, name_b)
                     : Product(builder, a, dy, !transpose_a, false, name_b);
  }
  return {da, db};
}

Flops MatmulFlops(Types inputs, const TensorType& output, const Attributes& attributes) {
  const int64_t k = inputs[0].shape[SidesOfA(inputs[0].shape.size(), attributes).contracted];
  return Flops(2.0 * static_cast<double>(output.elements()) * static_cast<double>(k));
}

void EvaluateMatmul(const Evaluation& evaluation) {
  const Tensor& a = *evaluation.inputs[0];
  const Tensor& b = *evaluation.inputs[1];
  Tensor& c = evaluation.output;
  const Sides a_sides = SidesOfA(a.shape.size(), evaluation.attributes);
  const Sides b_sides = SidesOfB(b.shape.size(), evaluation.attributes);
  const Shape a_strides = Strides(a.shape);
  const Shape b_strides = Strides(b.shape);
  const ProductSizes sizes{.i = a.shape[a_sides.kept], .k = a.shape[a_sides.contracted], .j = b.shape[b_sides.kept]};
  if (c.values.empty()) return;
  const int64_t batch = ElementCount(c.shape) / (sizes.i * sizes.j);
  for (int64_t m = 0; m < batch; ++m) {
    const int64_t b_begin = b.shape.size() > 2 ? m * sizes.k * sizes.j : 0;
    AddProduct(
        sizes,
        {.values = a.values.data() + m * sizes.i * sizes.k,
         .row = a_strides[a_sides.kept],
         .column = a_strides[a_sides.contracted]},
        {.values = b.values.data() + b_begin, .row = b_strides[b_sides.contracted], .column = b_strides[b_sides.kept]},
        c.values.data() + m * sizes.i * sizes.j);
  }
}

// The product as a formula: any input may have the elements' index `e`.
OpId BatchByFormula(Lift& lift) {
  const auto side = [&lift](int input, bool transposed, const char* row, const char* column) {
    Formula::Term term;
    if (lift.mapped(input)) term.push_back({"e"});
    for (int d = 0; d + 2 < lift.rank(input); ++d) term.push_back({absl::StrCat("b", d)});
    term.push_back({transposed ? column : row});
    term.push_back({transposed ? row : column});
    return term;
  };
  Formula formula;
  formula.inputs = {side(0, lift.op().attributes.Get(attribute::kTransposeA), "i", "k"),
                    side(1, lift.op().attributes.Get(attribute::kTransposeB), "k", "j")};
  formula.output.push_back({"e"});
  for (int d = 0; d + 2 < lift.rank(0); ++d) formula.output.push_back({absl::StrCat("b", d)});
  formula.output.push_back({"i"});
  formula.output.push_back({"j"});
  return lift.Instead(OpKind::kEinsum, lift.Inputs(), {{attribute::kEquation, LettersText(formula)}});
}

OpId BatchMatmul(Lift& lift) {
  const bool shared = lift.mapped(0) && !lift.mapped(1) && lift.rank(1) == 2;
  const bool alike = lift.mapped(0) && lift.mapped(1) && lift.rank(0) == lift.rank(1);
  if (shared || alike) return lift.Main(lift.Inputs());
  return BatchByFormula(lift);
}

// Whether its call is one for each of the first matrices.
bool IsRepeated(const CallSite& site) {
  return IsShared(site.inputs) && site.type(0).rank() > 2 && site.attributes.Get(attribute::kTransposeA);
}

// The call of a product may add a bias to it, and compute gelu of that, or multiply it by the slope of gelu elsewhere.

constexpr int kBiasAdd = 0, kGeluOfSum = 1, kGeluOfProduct = 2, kGeluGradient = 3;  // Companions.

// Tensors of the call, behind the op's inputs.
int BiasOf(const CallSite& site) { return static_cast<int>(site.inputs.size()); }
int BeforeGeluOf(const CallSite& site) { return BiasOf(site) + 1; }

// All of one type, or bf16 where factors have 8 bits.
bool IsGeluOfProduct(const CallSite& op, const CallSite& gelu) {
  const DType dtype = op.output.dtype;
  const auto is_alike = [&](const TensorType& type) { return type.dtype == dtype; };
  const bool reads_it = is_alike(op.type(0)) || (Is8Bit(op.type(0).dtype) && dtype == DType::kBf16);
  return !IsRepeated(op) && reads_it && is_alike(gelu.output) &&
         std::all_of(gelu.inputs.begin(), gelu.inputs.end(), is_alike);
}

std::vector<Companion> MatmulCompanions() {
  constexpr int kBias = 2, kBeforeGelu = 3;
  return {{.kind = OpKind::kBiasAdd, .inputs = {kResult, kBias}, .hides = kResult},
          {.kind = OpKind::kGelu, .inputs = {ResultOf(kBiasAdd)}, .fits = IsGeluOfProduct},
          {.kind = OpKind::kGelu, .inputs = {kResult}, .fits = IsGeluOfProduct},
          {.kind = OpKind::kGeluGradient, .inputs = {kResult, kBeforeGelu}, .fits = IsGeluOfProduct, .hides = kResult}};
}

// `call`: that of the product alone.
KernelCall WithCompanions(const CallSite& site, KernelCall call) {
  CallArgument& result = call.arguments.back();
  if (site.Has(kGeluOfSum) || site.Has(kGeluOfProduct)) {
    call.function = "MatMulGelu";
    result = site.Has(kBiasAdd) ? CallArgument(Pointer{BiasOf(site)}) : CallArgument(NoTensor());
    call.arguments.push_back(FirstPointer{{ResultOf(kBiasAdd), kResult}});
    call.arguments.push_back(Pointer{ResultOf(site.Has(kGeluOfSum) ? kGeluOfSum : kGeluOfProduct)});
  } else if (site.companions.size() > kGeluGradient && site.Has(kGeluGradient)) {
    call.function = "MatMulGeluGradient";
    result = Pointer{BeforeGeluOf(site)};
    call.arguments.push_back(Pointer{ResultOf(kGeluGradient)});
  } else if (site.Has(kBiasAdd)) {
    std::get<Pointer>(result).tensor = ResultOf(kBiasAdd);
    call.arguments.push_back(Pointer{BiasOf(site)});
  }
  return call;
}

// Of the product alone.
KernelCall ProductCall(const CallSite& site) {
  const int rank = site.type(0).rank();
  const Sides a = SidesOfA(static_cast<size_t>(rank), site.attributes);
  const Sides b = SidesOfB(site.type(1).shape.size(), site.attributes);
  const LocalSize leading = site.Elements(0, 0, rank - 2);
  MatrixProduct product = {.m = {{{0, static_cast<int>(a.kept)}}},
                           .n = {{{1, static_cast<int>(b.kept)}}},
                           .k = {{{0, static_cast<int>(a.contracted)}}},
                           .transpose_a = site.attributes.Get(attribute::kTransposeA),
                           .transpose_b = site.attributes.Get(attribute::kTransposeB)};
  if (IsRepeated(site)) {
    KernelCall call =
        MatMulCall(product, Pointer{0, product.k * product.m}, Pointer{1}, Pointer{kResult, product.m * product.n});
    call.repetitions = leading;
    return call;
  }
  if (!IsShared(site.inputs) || rank == 2) {
    product.batch = leading;
  } else {
    // All share one second matrix: the rows of all first matrices form one matrix.
    product.m = leading * product.m;
  }
  return MatMulCall(product, Pointer{0}, Pointer{1}, Pointer{kResult});
}

std::vector<KernelCall> MatmulCalls(const CallSite& site) { return {WithCompanions(site, ProductCall(site))}; }

// The product of a transposed and a second matrix, summed over leading dimensions: a [.., k, i] and b [.., k, j] to [i,
// j].
//
// This is the gradient of a weight that all leading dimensions share. Everything but the last dimension is contracted,
// so on contiguous tensors it is one matrix product.

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

// Its call may also add up the rows of either factor, which is the gradient of a bias where the factor is that of what
// the bias was added to.
bool SumsRows(const CallSite& op, const CallSite& sum) {
  const int rank = sum.type(0).rank();
  std::vector<int> leading(static_cast<size_t>(rank - 1));
  std::iota(leading.begin(), leading.end(), 0);
  return AxesOf(sum.attributes, rank) == leading && sum.output.rank() == 1 && sum.output.dtype == DType::kF32 &&
         op.output.dtype == DType::kF32;
}

std::vector<Companion> MatmulSumCompanions() {
  return {{.kind = OpKind::kReduceSum, .inputs = {0}, .fits = SumsRows},
          {.kind = OpKind::kReduceSum, .inputs = {1}, .fits = SumsRows}};
}

// Contracts all dimensions but the last: a is stored as k x m.
KernelCall SumOfProductsCall(const CallSite& site) {
  const MatrixProduct product = {.m = site.Columns(0), .n = site.Columns(1), .k = site.Rows(0), .transpose_a = true};
  return MatMulCall(product, Pointer{0}, Pointer{1}, Pointer{kResult});
}

std::vector<KernelCall> MatmulSumCalls(const CallSite& site) {
  KernelCall call = SumOfProductsCall(site);
  if (site.Has(0) || site.Has(1)) {
    call.function = "MatMulAndSums";
    call.arguments.push_back(Pointer{ResultOf(0)});
    call.arguments.push_back(Pointer{ResultOf(1)});
  }
  return {call};
}

// Products of factors of 8 bits, each with its unit: inputs a, b, unit_a, unit_b. The value is that of the product of
// what the factors stand for. A unit is one number, or has one for each of equal runs of the first dimension of its
// factor, [runs, 1, …]: those of micro-batches, of which each moment has one alone.

constexpr size_t kUnitA = 2, kUnitB = 3;

bool IsUnitOf(const TensorType& unit, const TensorType& factor) {
  if (unit.dtype != DType::kF32 || unit.rank() == 0) return unit.dtype == DType::kF32;
  return unit.elements() == unit.shape[0] && factor.shape[0] % unit.shape[0] == 0;
}

using Inference = InferResult (*)(Types inputs, const Attributes& attributes);

// `infer`: of the product of factors of f32.
InferResult InferScaled(Inference infer, Types inputs, const Attributes& attributes) {
  std::vector<TensorType> factors = {inputs[0], inputs[1]};
  for (TensorType& factor : factors) {
    if (!Is8Bit(factor.dtype)) {
      return OpError{.code = Code::kE0406,
                     .message = absl::StrCat("expected real numbers of 8 bits, found ", DTypeName(factor.dtype))};
    }
    factor.dtype = DType::kF32;
  }
  for (const size_t unit : {kUnitA, kUnitB}) {
    if (IsUnitOf(inputs[unit], inputs[unit - kUnitA])) continue;
    return OpError{.code = Code::kE0406, .message = absl::StrCat("a unit is ", inputs[unit].ToString())};
  }
  Attributes of_product = attributes;
  of_product.Erase(attribute::kResult);
  InferResult result = infer(factors, of_product);
  TensorType* const type = std::get_if<TensorType>(&result);
  if (type == nullptr) return result;
  type->dtype = attributes.Get(attribute::kResult);
  if (type->dtype == DType::kF32 || Is16Bit(type->dtype)) return result;
  return OpError{.code = Code::kE0409, .message = absl::StrCat("`result` is `", DTypeName(type->dtype), "`")};
}

// Makes two factors of one, `runs` runs of elements, in every dimension that has it. Returns the one that counts runs.
int SplitIntoRuns(Rule& rule, int factor, int64_t runs) {
  Factor& of_run = rule.factors[static_cast<size_t>(factor)];
  of_run.size /= runs;
  const int added = AddFactor(rule, absl::StrCat(of_run.name, "_run"), runs, of_run.kind);
  const auto split = [&](std::vector<FactorList>& dimensions) {
    for (FactorList& factors : dimensions) {
      const auto found = std::find(factors.begin(), factors.end(), factor);
      if (found != factors.end()) factors.insert(found, added);
    }
  };
  for (std::vector<FactorList>& input : rule.inputs) split(input);
  split(rule.output);
  return added;
}

// `rule`: that of the product.
Rule WithUnits(Rule rule, Types inputs) {
  rule.inputs.resize(kUnitB + 1);
  std::optional<int> runs;
  for (const size_t unit : {kUnitA, kUnitB}) {
    const TensorType& type = inputs[unit];
    if (type.rank() == 0) continue;
    const FactorList of_factor = rule.inputs[unit - kUnitA].front();
    if (!runs.has_value()) runs = SplitIntoRuns(rule, of_factor.front(), type.shape[0]);
    rule.inputs[unit].resize(type.shape.size());
    rule.inputs[unit].front() = {*runs};
  }
  return rule;
}

// What the factor stands for.
Tensor TimesUnit(const Evaluation& evaluation, size_t factor) {
  Tensor product = *evaluation.inputs[factor];
  const std::vector<double>& units = evaluation.inputs[factor + kUnitA]->values;
  for (size_t i = 0; i < product.values.size(); ++i) {
    product.values[i] *= units[i * units.size() / product.values.size()];
  }
  return product;
}

// `evaluate`: the product.
void EvaluateScaled(void (*evaluate)(const Evaluation&), const Evaluation& evaluation) {
  const Tensor a = TimesUnit(evaluation, 0), b = TimesUnit(evaluation, 1);
  const Tensor* const factors[] = {&a, &b};
  evaluate({.attributes = evaluation.attributes,
            .inputs = factors,
            .ranges = evaluation.ranges,
            .output = evaluation.output,
            .step = evaluation.step,
            .seed = evaluation.seed,
            .rank = evaluation.rank});
}

// Without the slope of gelu, which cuBLASLt is not known to apply to products of 8 bits on all GPUs that have these.
std::vector<Companion> ScaledMatmulCompanions() {
  constexpr int kBias = static_cast<int>(kUnitB) + 1;
  return {{.kind = OpKind::kBiasAdd, .inputs = {kResult, kBias}, .hides = kResult},
          {.kind = OpKind::kGelu, .inputs = {ResultOf(kBiasAdd)}, .fits = IsGeluOfProduct},
          {.kind = OpKind::kGelu, .inputs = {kResult}, .fits = IsGeluOfProduct}};
}

// `call`: that of the product of the same factors.
KernelCall WithUnits(KernelCall call) {
  call.function = absl::StrCat("Scaled", call.function);
  call.accumulating = "AccumulateScaledMatMul";
  call.arguments.insert(call.arguments.begin() + 3, Pointer{kUnitB});
  call.arguments.insert(call.arguments.begin() + 2, Pointer{kUnitA});
  return call;
}

// Copies of the factors: turned, or in 16 bits where the device does not multiply those of 8.
Need ScaledNeed(Types inputs, const TensorType&, const Attributes&) {
  return {.temporary = ElementSize(DType::kBf16) * (inputs[0].elements() + inputs[1].elements())};
}

OpDefinition ScaledProduct(OpDefinition product) {
  product.callable = false;
  product.signature = {{.name = "a"}, {.name = "b"}, {.name = "unit_a"}, {.name = "unit_b"}};
  product.gradient = nullptr;
  product.batch = nullptr;
  product.companions = {};
  product.need = ScaledNeed;
  return product;
}

}  // namespace

OpDefinition DefineMatmul() {
  return OpDefinition{.op_class = OpClass::kProduct,
                      .treatment = Treatment::kProduct,
                      .writes_runs = true,
                      .signature = {{.name = "a", .takes_runs = true},
                                    {.name = "b"},
                                    OptionalAttribute(attribute::kTransposeA, false),
                                    OptionalAttribute(attribute::kTransposeB, false),
                                    ResultArgument()},
                      .summary = "matrix product over the last two dimensions",
                      .infer = InferMatmul,
                      .rule = MatmulRule,
                      .gradient = MatmulGradients,
                      .flops = MatmulFlops,
                      .evaluate = EvaluateMatmul,
                      .batch = BatchMatmul,
                      .calls = MatmulCalls,
                      .companions = MatmulCompanions()};
}

OpDefinition DefineMatmulSum() {
  return OpDefinition{.op_class = OpClass::kProduct,
                      .callable = false,
                      .treatment = Treatment::kGradient,
                      .signature = {{.name = "a"}, {.name = "b"}, ResultArgument()},
                      .summary = "product contracted over all but the last dimensions",
                      .infer = InferMatmulSum,
                      .rule = MatmulSumRule,
                      .flops = MatmulSumFlops,
                      .evaluate = EvaluateMatmulSum,
                      .calls = MatmulSumCalls,
                      .companions = MatmulSumCompanions()};
}

OpDefinition DefineScaledMatmul() {
  OpDefinition definition = ScaledProduct(DefineMatmul());
  for (const Attribute<bool> side : {attribute::kTransposeA, attribute::kTransposeB}) {
    definition.signature.push_back(OptionalAttribute(side, false));
  }
  definition.signature.push_back(RequiredAttribute(attribute::kResult));
  definition.summary = "matmul of factors of 8 bits, each with its unit";
  definition.infer = [](Types inputs, const Attributes& attributes) {
    return InferScaled(InferMatmul, inputs, attributes);
  };
  definition.rule = [](Types inputs, const TensorType& output, const Attributes& attributes) {
    return WithUnits(MatmulRule(inputs, output, attributes), inputs);
  };
  definition.evaluate = [](const Evaluation& evaluation) { EvaluateScaled(EvaluateMatmul, evaluation); };
  definition.calls = [](const CallSite& site) {
    return std::vector<KernelCall>{WithUnits(WithCompanions(site, ProductCall(site)))};
  };
  definition.companions = ScaledMatmulCompanions();
  return definition;
}

OpDefinition DefineScaledMatmulSum() {
  OpDefinition definition = ScaledProduct(DefineMatmulSum());
  definition.signature.push_back(RequiredAttribute(attribute::kResult));
  definition.summary = "matmul_sum of factors of 8 bits, each with its unit";
  definition.infer = [](Types inputs, const Attributes& attributes) {
    return InferScaled(InferMatmulSum, inputs, attributes);
  };
  definition.rule = [](Types inputs, const TensorType& output, const Attributes& attributes) {
    return WithUnits(MatmulSumRule(inputs, output, attributes), inputs);
  };
  definition.evaluate = [](const Evaluation& evaluation) { EvaluateScaled(EvaluateMatmulSum, evaluation); };
  definition.calls = [](const CallSite& site) { return std::vector<KernelCall>{WithUnits(SumOfProductsCall(site))}; };
  return definition;
}

}  // namespace cleave::ir
