#include "ir/testing/value_maker.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"

namespace cleave::ir {
namespace {

using Ints = std::vector<int64_t>;

bool Broadcasts(const Shape& from, const Shape& to) {
  if (from.size() > to.size()) return false;
  for (size_t d = 0; d < from.size(); ++d) {
    const int64_t wanted = to[to.size() - from.size() + d];
    if (from[d] != wanted && from[d] != 1) return false;
  }
  return true;
}

// The permutation that makes `to` from `from`; nullopt where there is none.
std::optional<Ints> PermutationBetween(const Shape& from, const Shape& to) {
  if (from.size() != to.size()) return std::nullopt;
  Ints permutation;
  std::vector<bool> used(from.size(), false);
  for (int64_t size : to) {
    size_t d = 0;
    while (d < from.size() && (used[d] || from[d] != size)) ++d;
    if (d == from.size()) return std::nullopt;
    used[d] = true;
    permutation.push_back(static_cast<int64_t>(d));
  }
  return permutation;
}

}  // namespace

void ValueMaker::SetPhase(Phase phase) {
  phase_ = phase;
  builder_.SetPhase(phase);
}

OpId ValueMaker::Real(const Shape& shape, Fill fill) {
  switch (fill) {
    case Fill::kSigned:
    case Fill::kDistinct:
      return OfShape(shape);
    case Fill::kPositive: {
      const OpId least = Add(OpKind::kConstant, {}, {{attribute::kValue, 0.3}});
      return Add(OpKind::kAdd, {Add(OpKind::kAbs, {OfShape(shape)}), least});
    }
    case Fill::kMask:
      return Add(OpKind::kRelu, {Add(OpKind::kSign, {Source(OpKind::kInput, DType::kF32, shape)})});
    case Fill::kLabels:
      return Labels(shape);
    case Fill::kNumbers:
      return Source(OpKind::kParameter, DType::kI8, shape);
    case Fill::kFactors: {
      const OpId whole = Add(OpKind::kCast, {Labels(shape)}, {{attribute::kDType, DType::kF32}});
      const OpId unit = Add(OpKind::kConstant, {}, {{attribute::kValue, 0.5}});
      return Add(OpKind::kQuantize, {whole, unit}, {{attribute::kDType, DType::kF8E4M3}});
    }
  }
  return OfShape(shape);
}

OpId ValueMaker::Labels(const Shape& shape) {
  std::vector<OpId> candidates;
  for (const Op& op : builder_.graph().ops) {
    if (op.kind == OpKind::kInput && op.type == TensorType{DType::kI32, shape}) candidates.push_back(op.id);
  }
  if (!candidates.empty() && Chance(0.6)) return OneOf(candidates);
  return Source(OpKind::kInput, DType::kI32, shape);
}

std::vector<OpId> ValueMaker::OfType(DType dtype) const {
  std::vector<OpId> values;
  for (const Op& op : builder_.graph().ops) {
    // Values of metric ops are read by metrics only.
    if (op.type.dtype == dtype && op.phase == Phase::kForward) values.push_back(op.id);
  }
  return values;
}

OpId ValueMaker::OfShape(const Shape& shape) {
  const std::vector<OpId> values = OfType(DType::kF32);
  if (values.empty() || Chance(0.1)) return RealSource(shape);
  std::vector<OpId> equal;
  for (OpId value : values) {
    if (type(value).shape == shape) equal.push_back(value);
  }
  if (!equal.empty() && Chance(0.85)) return Chance(0.5) ? equal.back() : OneOf(equal);
  if (Chance(0.35)) return RealSource(shape);
  // Later values are tried first, so that chains become long.
  const size_t reach = Chance(0.6) ? std::min<size_t>(4, values.size()) : values.size();
  return Adapted(values[values.size() - 1 - random_() % reach], shape);
}

OpId ValueMaker::Adapted(OpId value, const Shape& shape) {
  const Shape& from = type(value).shape;
  if (Broadcasts(from, shape)) return Add(Chance(0.5) ? OpKind::kAdd : OpKind::kMul, {value, RealSource(shape)});
  if (const std::optional<Ints> permutation = PermutationBetween(from, shape); permutation.has_value()) {
    return Add(OpKind::kTranspose, {value}, {{attribute::kPermutation, *permutation}});
  }
  const int64_t count = ElementCount(shape);
  if (ElementCount(from) == count) return Reshaped(value, shape);
  return Reshaped(OfCount(Reshaped(value, {ElementCount(from)}), count), shape);
}

OpId ValueMaker::OfCount(OpId flat, int64_t count) {
  const int64_t held = type(flat).shape[0];
  const int64_t begin = RandomInt(random_, 0, std::abs(held - count));
  if (held > count)
    return Add(OpKind::kSlice, {flat}, {{attribute::kBegin, Ints{begin}}, {attribute::kEnd, Ints{begin + count}}});
  return Add(OpKind::kPad, {flat},
             {{attribute::kBefore, Ints{begin}}, {attribute::kAfter, Ints{count - held - begin}}});
}

OpId ValueMaker::Reshaped(OpId value, const Shape& shape) {
  return type(value).shape == shape ? value : Add(OpKind::kReshape, {value}, {{attribute::kShape, shape}});
}

OpId ValueMaker::Source(OpKind kind, DType dtype, const Shape& shape) {
  Attributes attributes = {{attribute::kShape, shape}};
  if (kind == OpKind::kInput) {
    attributes.Set(attribute::kDType, dtype);
    attributes.Set(attribute::kData, absl::StrCat("data_", builder_.graph().ops.size()));
  }
  if (dtype == DType::kI8) {
    attributes.Set(attribute::kDType, dtype);
    attributes.Set(attribute::kStores, absl::StrCat("matrix_", builder_.graph().ops.size()));
    attributes.Set(attribute::kSize, shape.back());
    attributes.Set(attribute::kTrained, false);
  }
  // Sources belong to the forward phase, whichever ops read them.
  builder_.SetPhase(Phase::kForward);
  const std::string name = absl::StrCat(OpKindName(kind), "_", builder_.graph().ops.size());
  const OpId id = builder_.Add(kind, {}, std::move(attributes), name);
  builder_.SetPhase(phase_);
  Tensor tensor = Zeros(shape);
  for (double& element : tensor.values) {
    element = IsInteger(dtype) ? static_cast<double>(random_() % 2)
                               : std::uniform_real_distribution<double>(0.5, 1.5)(random_) * (Chance(0.5) ? 1 : -1);
  }
  values_.push_back(std::move(tensor));
  return id;
}

std::optional<OpId> ValueMaker::TryAdd(OpKind kind, std::vector<OpId> inputs, Attributes attributes) {
  builder_.SetLine(static_cast<int>(builder_.graph().ops.size()) + 1);
  const std::string name = absl::StrCat(OpKindName(kind), "_", builder_.graph().ops.size());
  const std::variant<OpId, OpError> result = builder_.TryAdd(kind, std::move(inputs), std::move(attributes), name);
  const OpId* id = std::get_if<OpId>(&result);
  if (id == nullptr) return std::nullopt;
  Evaluate(*id);
  return *id;
}

OpId ValueMaker::Add(OpKind kind, std::vector<OpId> inputs, Attributes attributes) {
  builder_.SetLine(static_cast<int>(builder_.graph().ops.size()) + 1);
  const std::string name = absl::StrCat(OpKindName(kind), "_", builder_.graph().ops.size());
  const OpId id = builder_.Add(kind, std::move(inputs), std::move(attributes), name);
  Evaluate(id);
  return id;
}

void ValueMaker::Evaluate(OpId id) {
  const Op& op = builder_.graph().op(id);
  std::vector<const Tensor*> inputs;
  for (OpId input : op.inputs) inputs.push_back(&values_[input]);
  Tensor output = Zeros(op.type.shape);
  const std::vector<FactorRange> ranges = WholeRanges(RuleOf(builder_.graph(), op));
  DefinitionOf(op).evaluate(
      Evaluation{.attributes = op.attributes, .inputs = inputs, .ranges = ranges, .output = output});
  values_.push_back(std::move(output));
}

OpId ValueMaker::Tamed(OpId value) {
  constexpr double kTame = 8;
  double largest = 0;
  for (double element : values_[value].values) largest = std::max(largest, std::abs(element));
  if (type(value).dtype == DType::kI32 || largest <= kTame) return value;
  if (!std::isfinite(largest) || Chance(0.5)) return Add(OpKind::kTanh, {value});
  return Add(OpKind::kScale, {value}, {{attribute::kFactor, 2 / largest}});
}

}  // namespace cleave::ir
