// Ops without inputs, whose strategy is the layout in which their value is stored.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"
#include "ir/graph/scalar/scalar.h"

namespace cleave::ir {
namespace {

Rule SourceRule(Types, const TensorType& output, const Attributes&) {
  Rule rule;
  rule.output = AddDimensions(rule, output.shape);
  return rule;
}

// Inference of a source by its attributes `shape` and `dtype`, f32 where there is none.
InferResult InferSource(Types, const Attributes& attributes) {
  TensorType type;
  if (attributes.Has(attribute::kDType)) {
    type.dtype = attributes.Get(attribute::kDType);
    if (Is16Bit(type.dtype)) {
      return OpError{.code = Code::kE0409,
                     .message = absl::StrCat("`dtype` is `", DTypeName(type.dtype), "`"),
                     .help = {"use `f32` or `i32`"}};
    }
    if (type.dtype == DType::kI8 && !attributes.Has(attribute::kStores)) {
      return OpError{.code = Code::kE0409,
                     .message = "`dtype` is `i8`",
                     .notes = {"only what is stored of a matrix has this type"}};
    }
  }
  type.shape = attributes.Get(attribute::kShape);
  if (auto error = CheckSizes(type.shape, "shape")) return *error;
  return type;
}

// A definition with one parallel factor per dimension, attribute `shape`, and `dtype` where `has_dtype`; f32 otherwise.
// Not callable: the language has its own words for sources.
OpDefinition SourceOp(bool has_dtype, std::string summary) {
  OpDefinition definition{.op_class = OpClass::kSource,
                          .callable = false,
                          .signature = {RequiredAttribute(attribute::kShape)},
                          .summary = std::move(summary),
                          .infer = InferSource,
                          .rule = SourceRule,
                          .flops = FlopsPerElement<0>,
                          .resize = ResizeShape};
  if (has_dtype) {
    definition.signature.push_back(OptionalAttribute(attribute::kDType, DType::kF32));
  }
  return definition;
}

// The same for what may be stored in another type, `result`, than f32 (ir/transforms/precision).
InferResult InferStored(Types inputs, const Attributes& attributes) {
  InferResult type = InferSource(inputs, attributes);
  if (auto* stored = std::get_if<TensorType>(&type); stored != nullptr && attributes.Has(attribute::kResult)) {
    stored->dtype = attributes.Get(attribute::kResult);
  }
  return type;
}

// Nullopt unless the text is that of a formula in no variable but `step`.
std::optional<Scalar> FormulaOf(const Attributes& attributes) {
  std::optional<Scalar> formula = ParseScalar(attributes.Get(attribute::kFormula));
  if (!formula.has_value()) return std::nullopt;
  for (const Scalar& node : NodesOf(*formula)) {
    if (node.Is(Primitive::kVariable) && node.variable() != "step") return std::nullopt;
  }
  return formula;
}

// A trained tensor, or a state, which may be i32 (`dtype`). Its initial values, by `init`:
//   constant  first; `formula` is the same of numbers that flags of the program change
//   uniform   in [first, second)
//   normal    with mean first and deviation second
//   npy       what the .npy file `file` holds; its path starts from the folder of the model file
// `stores`, where nothing changes it: the matrix of real numbers of which it has the rows' numbers, in i8 (`dtype`), or
// their scales [.., 1]. `size` elements of the matrix are a row; `init` and what belongs to it are of the matrix.
// `result`: the type in which one that nothing changes is stored, where that is not f32 (ir/transforms/precision).
// `local`: in a manual model, each rank has its own values. `trained`: false for what the model calls a state, which
// gradients do not reach. The frontend computes bounds that depend on the fans of the
// tensor (he_uniform and the like).

InferResult InferParameter(Types inputs, const Attributes& attributes) {
  if (auto error = CheckWord(attributes, attribute::kInit, {"constant", "uniform", "normal", "npy"})) return *error;
  const std::string& init = attributes.Get(attribute::kInit);
  const double first = attributes.Get(attribute::kFirst);
  const double second = attributes.Get(attribute::kSecond);
  if (init == "uniform" && first > second) {
    return OpError{.code = Code::kE0409,
                   .message = absl::StrCat("uniform values from ", FormatDouble(first), " to ", FormatDouble(second)),
                   .notes = {"the first bound is not above the second"}};
  }
  if ((init == "npy") == attributes.Get(attribute::kFile).empty()) {
    return OpError{.code = Code::kE0409,
                   .message = absl::StrCat("`", init, "` values ", init == "npy" ? "without a file" : "and a file"),
                   .notes = {"`file` goes with `npy`, and only with it"}};
  }
  if (attributes.Has(attribute::kFormula) &&
      (init != "constant" || !FormulaOf(attributes).has_value() || ReadsStep(attributes))) {
    return OpError{
        .code = Code::kE0409,
        .message = absl::StrCat("`", init, "` values with the formula `", attributes.Get(attribute::kFormula), "`"),
        .notes = {"a constant may be computed from numbers"}};
  }
  if (attributes.Has(attribute::kDType) && attributes.Get(attribute::kDType) == DType::kI32) {
    const bool is_whole = first == std::trunc(first) && first >= std::numeric_limits<int32_t>::min() &&
                          first <= std::numeric_limits<int32_t>::max();
    if (attributes.Get(attribute::kTrained)) {
      return OpError{.code = Code::kE0409, .message = "`dtype` is `i32`", .notes = {"what is trained is f32"}};
    }
    if (init != "npy" && (init != "constant" || !is_whole)) {
      return OpError{.code = Code::kE0409,
                     .message = absl::StrCat("`", init, "` values that i32 does not have"),
                     .notes = {"whole numbers from -2147483648 to 2147483647, all equal or from a file"}};
    }
  }
  if (init == "normal" && second < 0) {
    return OpError{.code = Code::kE0409,
                   .message = absl::StrCat("normal values with deviation ", FormatDouble(second)),
                   .notes = {"a deviation is not negative"}};
  }
  return InferStored(inputs, attributes);
}

void EvaluateConstant(const Evaluation& evaluation) {
  std::fill(evaluation.output.values.begin(), evaluation.output.values.end(),
            evaluation.attributes.Get(attribute::kValue));
}

// A number that depends on the training step, counted from 1; such a one is 0 in testing, which updates nothing. It is
// computed in double, because formulas such as 1 - 0.999^step lose most of their digits in f32.

InferResult InferStepScalar(Types, const Attributes& attributes) {
  if (FormulaOf(attributes).has_value()) return TensorType{DType::kF32, {}};
  return OpError{.code = Code::kE0409,
                 .message = absl::StrCat("`formula` is `", attributes.Get(attribute::kFormula), "`"),
                 .notes = {"a formula is made of numbers, `step` and functions of them: `div(0.1, sqrt(step))`"}};
}

void EvaluateStepScalar(const Evaluation& evaluation) {
  const auto step = static_cast<double>(evaluation.step);
  const bool is_nothing = evaluation.step == 0 && ReadsStep(evaluation.attributes);
  evaluation.output.values[0] = is_nothing ? 0 : Calculation(*FormulaOf(evaluation.attributes), {"step"})({step});
}

}  // namespace

bool ReadsStep(const Attributes& attributes) {
  const std::vector<Scalar> nodes = NodesOf(*ParseScalar(attributes.Get(attribute::kFormula)));
  return std::any_of(nodes.begin(), nodes.end(), [](const Scalar& node) { return node.Is(Primitive::kVariable); });
}

// With `file` it is no batch, but what stands in this .npy file, whose path is as that of a parameter; with `per_step`
// too, the file has a record of it for each step.
OpDefinition DefineInput() {
  OpDefinition definition = SourceOp(true, "a batch of data, by the name of the model's input");
  definition.signature.push_back(RequiredAttribute(attribute::kData));
  definition.signature.push_back({.name = "file", .kind = ArgumentKind::kString, .internal = true});
  definition.signature.push_back({.name = "per_step", .kind = ArgumentKind::kBool, .internal = true});
  return definition;
}

OpDefinition DefineParameter() {
  OpDefinition definition = SourceOp(false, "a tensor that is trained, or that an update of the model changes");
  definition.signature.push_back(OptionalAttribute(attribute::kInit, "constant"));
  definition.signature.push_back(OptionalAttribute(attribute::kFirst, 0.0));
  definition.signature.push_back(OptionalAttribute(attribute::kSecond, 0.0));
  definition.signature.push_back(OptionalAttribute(attribute::kFile, ""));
  definition.signature.push_back(OptionalAttribute(attribute::kLocal, false));
  definition.signature.push_back(OptionalAttribute(attribute::kTrained, true));
  definition.signature.push_back(OptionalAttribute(attribute::kInParams, false));
  definition.signature.push_back({.name = "formula", .kind = ArgumentKind::kString, .internal = true});
  definition.signature.push_back({.name = "stores", .kind = ArgumentKind::kString, .internal = true});
  definition.signature.push_back({.name = "size", .kind = ArgumentKind::kInt, .internal = true});
  definition.signature.push_back({.name = "dtype", .kind = ArgumentKind::kDType, .internal = true});
  definition.signature.push_back(ResultArgument());
  definition.infer = InferParameter;
  return definition;
}

OpDefinition DefineState() {
  OpDefinition definition = SourceOp(false, "a slot of the optimizer, or what is remembered; zeros at first");
  // It is that of the parameter to which the slot belongs.
  definition.signature.push_back(OptionalAttribute(attribute::kLocal, false));
  definition.signature.push_back(ResultArgument());
  definition.infer = InferStored;
  return definition;
}

OpDefinition DefineConstant() {
  OpDefinition definition = SourceOp(true, "a tensor filled with one value");
  definition.signature[0].default_value = std::vector<int64_t>{};
  definition.signature.push_back(RequiredAttribute(attribute::kValue));
  definition.evaluate = EvaluateConstant;
  return definition;
}

OpDefinition DefineStepScalar() {
  OpDefinition definition = SourceOp(false, "a number that depends on the training step");
  definition.signature = {RequiredAttribute(attribute::kFormula)};
  definition.infer = InferStepScalar;
  definition.evaluate = EvaluateStepScalar;
  definition.resize = nullptr;
  return definition;
}

}  // namespace cleave::ir
