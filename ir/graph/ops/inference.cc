#include "ir/graph/ops/inference.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/check/check.h"
#include "base/text/text.h"

namespace cleave::ir {

std::string GradientName(const Op& op, const std::string& argument) {
  return absl::StrCat(op.name, ".grad_", argument);
}

std::optional<OpError> CheckDType(Types inputs, int index, DType expected, const std::string& argument) {
  const DType found = inputs[static_cast<size_t>(index)].dtype;
  if (found == expected) return std::nullopt;
  return OpError{.code = Code::kE0406,
                 .message = absl::StrCat("expected ", DTypeName(expected), ", found ", DTypeName(found)),
                 .about = {{index, absl::StrCat("holds ", DTypeName(found))}},
                 .help = {absl::StrCat("cast(", argument, ", ", DTypeName(expected), ")")}};
}

std::optional<OpError> CheckFloat(Types inputs, int index, const std::string& argument) {
  if (Is16Bit(inputs[static_cast<size_t>(index)].dtype)) return std::nullopt;
  return CheckDType(inputs, index, DType::kF32, argument);
}

std::optional<OpError> CheckOneFloat(Types inputs, int a, const std::string& name_a, int b, const std::string& name_b) {
  if (auto error = CheckFloat(inputs, a, name_a)) return error;
  if (auto error = CheckFloat(inputs, b, name_b)) return error;
  const TensorType& first = inputs[static_cast<size_t>(a)];
  const TensorType& second = inputs[static_cast<size_t>(b)];
  if ((first.rank() == 0) != (second.rank() == 0)) return std::nullopt;
  return CheckDType(inputs, b, first.dtype, name_b);
}

DType ElementwiseDType(Types inputs) {
  for (const TensorType& input : inputs) {
    if (input.rank() > 0) return input.dtype;
  }
  return inputs[0].dtype;
}

Argument ResultArgument() { return {.name = "result", .kind = ArgumentKind::kDType, .internal = true}; }

Argument BatchArgument() { return {.name = "batch", .kind = ArgumentKind::kInt, .internal = true}; }

size_t BatchOf(const Attributes& attributes) {
  return attributes.Has(attribute::kBatch) ? static_cast<size_t>(attributes.Get(attribute::kBatch)) : 0;
}

std::variant<DType, OpError> ResultDType(Types inputs, const Attributes& attributes) {
  const DType factors = inputs[0].dtype;
  if (!attributes.Has(attribute::kResult)) return factors;
  const DType result = attributes.Get(attribute::kResult);
  if (Is16Bit(factors) && result == DType::kF32) return DType::kF32;
  return OpError{.code = Code::kE0409,
                 .message = absl::StrCat("`result` is `", DTypeName(result), "` for factors of ", DTypeName(factors))};
}

std::optional<OpError> CheckRank(Types inputs, int index, int rank) {
  const int found = inputs[static_cast<size_t>(index)].rank();
  if (found >= rank) return std::nullopt;
  return OpError{.code = Code::kE0408,
                 .message = absl::StrCat("expected at least ", Plural(rank, "dimension"), ", found ", found),
                 .about = {{index, absl::StrCat("has ", Plural(found, "dimension"))}}};
}

std::optional<OpError> CheckSameShape(Types inputs, int a, int b, const std::string& argument_b) {
  const TensorType& first = inputs[static_cast<size_t>(a)];
  const TensorType& second = inputs[static_cast<size_t>(b)];
  if (first.shape == second.shape) return std::nullopt;
  OpError error{
      .code = Code::kE0411,
      .message = absl::StrCat("shapes ", ShapeText(first.shape), " and ", ShapeText(second.shape), " must be the same"),
      .about = {{b, absl::StrCat("is ", ShapeText(second.shape))}, {a, absl::StrCat("is ", ShapeText(first.shape))}}};
  if (CountUpToLimit(first.shape) == CountUpToLimit(second.shape)) {
    error.help.push_back(absl::StrCat("reshape(", argument_b, ", ", ShapeTupleText(first.shape), ")"));
  }
  return error;
}

std::optional<OpError> CheckMask(Types inputs, int index) {
  if (static_cast<size_t>(index) >= inputs.size()) return std::nullopt;
  if (auto error = CheckDType(inputs, index, DType::kF32, kSampleWeight)) return error;
  if (auto error = CheckRank(inputs, 0, 1)) return error;
  const Shape expected = {inputs[0].shape[0]};
  const Shape& found = inputs[static_cast<size_t>(index)].shape;
  if (found == expected) return std::nullopt;
  return OpError{
      .code = Code::kE0411,
      .message = absl::StrCat("`sample_weight` of ", ShapeText(found), " for ", Plural(expected[0], "sample")),
      .about = {{index, absl::StrCat("is ", ShapeText(found), " instead of ", ShapeText(expected))}}};
}

std::optional<OpError> CheckSizes(const Shape& shape, const std::string& attribute) {
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] >= 1) continue;
    return OpError{.code = Code::kE0409,
                   .message = absl::StrCat("dimension ", d, " of `", attribute, "` is ", shape[d]),
                   .notes = {"a dimension has at least 1 element"}};
  }
  return std::nullopt;
}

std::optional<OpError> CheckFinite(const Attributes& attributes, Attribute<double> key) {
  const double value = attributes.Get(key);
  if (std::isfinite(value)) return std::nullopt;
  return OpError{.code = Code::kE0409,
                 .message = absl::StrCat("`", key.name, "` is ", FormatDouble(value)),
                 .notes = {"it must be a finite number"}};
}

std::variant<std::vector<int>, OpError> NormalizeAxes(const std::vector<int64_t>& axes, int rank) {
  std::vector<int> result;
  for (int64_t axis : axes) {
    if (axis < -rank || axis >= rank) {
      OpError error{.code = Code::kE0404,
                    .message = absl::StrCat("axis ", axis, " of a tensor with ", Plural(rank, "dimension")),
                    .about = {{0, absl::StrCat("has ", Plural(rank, "dimension"))}}};
      if (rank > 0) {
        error.help.push_back(absl::StrCat("axes are 0 to ", rank - 1, ", or -1 to ", -rank, " from the last"));
      }
      return error;
    }
    const int normal = static_cast<int>(axis < 0 ? axis + rank : axis);
    if (std::find(result.begin(), result.end(), normal) != result.end()) {
      return OpError{.code = Code::kE0404, .message = absl::StrCat("axis ", normal, " is given twice"), .about = {}};
    }
    result.push_back(normal);
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<int> AxesOf(const Attributes& attributes, int rank) {
  const std::vector<int64_t>& axes = attributes.Get(attribute::kAxes);
  if (axes.empty()) {
    std::vector<int> all;
    for (int d = 0; d < rank; ++d) all.push_back(d);
    return all;
  }
  auto result = NormalizeAxes(axes, rank);
  CLEAVE_CHECK(std::holds_alternative<std::vector<int>>(result)) << "axes were not checked";
  return std::get<std::vector<int>>(result);
}

size_t AxisOf(const Attributes& attributes, int rank) {
  const int64_t axis = attributes.Get(attribute::kAxis);
  return static_cast<size_t>(axis < 0 ? axis + rank : axis);
}

int64_t CountUpToLimit(const Shape& shape) {
  int64_t count = 1;
  for (int64_t size : shape) {
    if (size == 0) return 0;
    if (count > kMaxElements / size) return kMaxElements + 1;
    count *= size;
  }
  return count;
}

std::string ShapeTupleText(const Shape& shape) {
  std::string text = "(";
  for (size_t d = 0; d < shape.size(); ++d) absl::StrAppend(&text, d > 0 ? ", " : "", shape[d]);
  return absl::StrCat(text, shape.size() == 1 ? ",)" : ")");
}

namespace {

// `infer` as if the op read and gave f32 only.
InferResult InferInF32(const OpDefinition& definition, Types inputs, const Attributes& attributes) {
  std::vector<TensorType> types(inputs.begin(), inputs.end());
  for (const int input : definition.reads_16_bits) {
    if (static_cast<size_t>(input) >= types.size()) continue;
    TensorType& type = types[static_cast<size_t>(input)];
    if (Is16Bit(type.dtype)) type.dtype = DType::kF32;
  }
  InferResult result = definition.infer(types, attributes);
  TensorType* const type = std::get_if<TensorType>(&result);
  if (type == nullptr || !definition.gives_16_bits || !attributes.Has(attribute::kResult)) return result;
  const DType rounded = attributes.Get(attribute::kResult);
  if (!Is16Bit(rounded)) {
    return OpError{.code = Code::kE0409,
                   .message = absl::StrCat("`result` is `", DTypeName(rounded), "`, and none of 16 bits")};
  }
  type->dtype = rounded;
  return result;
}

}  // namespace

InferResult InferType(const OpDefinition& definition, Types inputs, const Attributes& attributes) {
  InferResult result = definition.reads_16_bits.empty() && !definition.gives_16_bits
                           ? definition.infer(inputs, attributes)
                           : InferInF32(definition, inputs, attributes);
  const TensorType* type = std::get_if<TensorType>(&result);
  if (type == nullptr || CountUpToLimit(type->shape) <= kMaxElements) return result;
  return OpError{.code = Code::kE0410,
                 .message = absl::StrCat("`", definition.name(), "` gives ", ShapeText(type->shape), ", more than ",
                                         kMaxElements, " elements"),
                 .about = {},
                 .notes = {"up to 2^53 - 1 the number of an element is exact in 64-bit integers and in doubles"}};
}

namespace {

bool HasType(const AttributeValue& value, ArgumentKind kind) {
  switch (kind) {
    case ArgumentKind::kTensor:
    case ArgumentKind::kOptionalTensor:
    case ArgumentKind::kTensorList:
    case ArgumentKind::kTensors:
      return false;
    case ArgumentKind::kBool:
      return std::holds_alternative<bool>(value);
    case ArgumentKind::kInt:
      return std::holds_alternative<int64_t>(value);
    case ArgumentKind::kFloat:
      return std::holds_alternative<double>(value);
    case ArgumentKind::kInts:
      return std::holds_alternative<std::vector<int64_t>>(value);
    case ArgumentKind::kFloats:
      return std::holds_alternative<std::vector<double>>(value);
    case ArgumentKind::kDType:
    case ArgumentKind::kString:
      return std::holds_alternative<std::string>(value);
  }
  CLEAVE_UNREACHABLE();
}

bool IsDType(const AttributeValue& value) {
  const std::string* name = std::get_if<std::string>(&value);
  return name != nullptr && ParseDType(*name).has_value();
}

OpError AttributeError(std::string message) {
  return OpError{.code = Code::kE0409, .message = std::move(message), .about = {}};
}

}  // namespace

std::optional<OpError> CompleteAttributes(const OpDefinition& definition, size_t input_count, Attributes& attributes) {
  size_t least = 0;
  size_t most = 0;
  std::vector<absl::string_view> known;
  Attributes::Values missing;
  const Attributes::Values& values = attributes.values();
  for (const Argument& argument : definition.signature) {
    switch (argument.kind) {
      case ArgumentKind::kTensor:
        ++least;
        ++most;
        continue;
      case ArgumentKind::kOptionalTensor:
        ++most;
        continue;
      case ArgumentKind::kTensorList:
      case ArgumentKind::kTensors:
        ++least;
        most = SIZE_MAX;
        continue;
      case ArgumentKind::kBool:
      case ArgumentKind::kInt:
      case ArgumentKind::kFloat:
      case ArgumentKind::kInts:
      case ArgumentKind::kFloats:
      case ArgumentKind::kDType:
      case ArgumentKind::kString:
        break;
    }
    known.push_back(argument.name);
    const auto found = values.find(argument.name);
    if (found == values.end()) {
      if (!argument.default_value.has_value()) {
        if (argument.internal) continue;
        return AttributeError(absl::StrCat("`", definition.name(), "` needs `", argument.name, "`"));
      }
      missing[argument.name] = *argument.default_value;
    } else if (argument.kind == ArgumentKind::kDType && !IsDType(found->second)) {
      OpError error =
          AttributeError(absl::StrCat("`", argument.name, "` of `", definition.name(), "` is no element type"));
      error.help = {"element types are f32, bf16, f16 and i32"};
      return error;
    } else if (!HasType(found->second, argument.kind)) {
      return AttributeError(absl::StrCat("`", argument.name, "` of `", definition.name(), "` has another type"));
    }
  }
  for (const auto& [name, value] : values) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return AttributeError(absl::StrCat("`", definition.name(), "` has no `", name, "`"));
    }
  }
  if (input_count < least || input_count > most) {
    return AttributeError(absl::StrCat("`", definition.name(), "` takes ", most == SIZE_MAX ? "at least " : "",
                                       Plural(static_cast<int64_t>(input_count < least ? least : most), "tensor"),
                                       ", found ", input_count));
  }
  if (!missing.empty()) {
    missing.insert(values.begin(), values.end());
    attributes = Attributes(std::move(missing));
  }
  return std::nullopt;
}

std::optional<OpError> CheckWord(const Attributes& attributes, Attribute<std::string> key,
                                 const std::vector<std::string>& words) {
  const std::string& word = attributes.Get(key);
  if (std::find(words.begin(), words.end(), word) != words.end()) return std::nullopt;
  return OpError{.code = Code::kE0409,
                 .message = absl::StrCat("`", key.name, "` is `", word, "`"),
                 .help = {absl::StrCat("use ", QuotedList(words, "or"))}};
}

}  // namespace cleave::ir
