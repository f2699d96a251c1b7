// `normal` and `uniform`: random values, one for each element of a shape.
//
// An element is a function of the run's seed, the op's key, the training step and its place in the whole tensor, as
// what `dropout` drops is, so no cut changes it; all evaluations draw as step 0. The first values of parameters are
// drawn by the same functions of the runtime.
//
// The tensor whose shape they have is not read. It says how the draws are cut, and for how many elements of `vmap`
// there are any.

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/graph/ops/random_stream.h"

namespace cleave::ir {
namespace {

InferResult InferDraw(Types inputs, const Attributes&) { return TensorType{DType::kF32, inputs[0].shape}; }

InferResult InferNormal(Types inputs, const Attributes& attributes) {
  const double deviation = attributes.Get(attribute::kDeviation);
  if (deviation >= 0) return InferDraw(inputs, attributes);
  return OpError{.code = Code::kE0409,
                 .message = absl::StrCat("`deviation` is ", FormatDouble(deviation)),
                 .notes = {"a deviation is not negative"}};
}

InferResult InferUniform(Types inputs, const Attributes& attributes) {
  const double low = attributes.Get(attribute::kLow), high = attributes.Get(attribute::kHigh);
  if (low <= high) return InferDraw(inputs, attributes);
  return OpError{.code = Code::kE0409,
                 .message = absl::StrCat("`low` is ", FormatDouble(low), ", and `high` is ", FormatDouble(high)),
                 .notes = {"`high` must not be below `low`"}};
}

// Calls value(stream, place in the whole tensor) for each element.
template <typename Value>
void EvaluateDraw(const Evaluation& evaluation, Value value) {
  const RandomStream draws(evaluation.seed, evaluation.attributes.Get(attribute::kKey), evaluation.step);
  std::vector<double>& values = evaluation.output.values;
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = value(draws, PlaceInWhole(evaluation.ranges, static_cast<int64_t>(i)));
  }
}

void EvaluateNormal(const Evaluation& evaluation) {
  const double mean = evaluation.attributes.Get(attribute::kMean),
               deviation = evaluation.attributes.Get(attribute::kDeviation);
  EvaluateDraw(evaluation,
               [&](const RandomStream& draws, uint64_t place) { return mean + deviation * draws.Normal(place); });
}

// Rounded as generated programs do it, in f32: what is compared with a draw must come out alike.
void EvaluateUniform(const Evaluation& evaluation) {
  const auto low = static_cast<float>(evaluation.attributes.Get(attribute::kLow));
  const auto high = static_cast<float>(evaluation.attributes.Get(attribute::kHigh));
  const double width = high - low;
  const float last = low < high ? std::nextafter(high, low) : low;
  EvaluateDraw(evaluation, [&](const RandomStream& draws, uint64_t place) {
    const auto product = static_cast<float>(width * draws.Uniform(place));
    const auto value = static_cast<float>(static_cast<double>(low) + product);
    return static_cast<double>(value < last ? value : last);
  });
}

template <const Attribute<double>& first, const Attribute<double>& second>
std::vector<KernelCall> DrawCalls(const CallSite& site, const std::string& function) {
  const BracedList stream = {{{RunValue::kSeed}, {site.attributes.Get(attribute::kKey)}, {RunValue::kStep}}};
  return {{function,
           {stream, LocalRegion{kResult}, FloatNumber{site.attributes.Get(first)},
            FloatNumber{site.attributes.Get(second)}, Pointer{kResult}}}};
}

std::vector<KernelCall> NormalCalls(const CallSite& site) {
  return DrawCalls<attribute::kMean, attribute::kDeviation>(site, "InitializeNormal");
}

std::vector<KernelCall> UniformCalls(const CallSite& site) {
  return DrawCalls<attribute::kLow, attribute::kHigh>(site, "InitializeUniform");
}

OpDefinition DrawOp(std::string summary, const Argument& first, const Argument& second) {
  OpDefinition definition = UnaryOp(std::move(summary));
  definition.depends_on_place = true;
  definition.treatment = Treatment::kFloat;
  definition.reads_16_bits = {0};
  definition.gives_16_bits = true;
  definition.signature = {
      {.name = "shape", .takes_shape = true}, first, second, OptionalAttribute(attribute::kKey, "")};
  definition.gradient = ZeroGradients;
  definition.flops = FlopsPerElement<16>;
  return definition;
}

}  // namespace

OpDefinition DefineNormal() {
  OpDefinition definition =
      DrawOp("random values of the normal distribution, in a shape or in that of a tensor",
             OptionalAttribute(attribute::kMean, 0.0), OptionalAttribute(attribute::kDeviation, 1.0));
  definition.infer = InferNormal;
  definition.evaluate = EvaluateNormal;
  definition.calls = NormalCalls;
  return definition;
}

OpDefinition DefineUniform() {
  OpDefinition definition =
      DrawOp("random values, as many everywhere from `low` up to `high`, in a shape or in that of a tensor",
             OptionalAttribute(attribute::kLow, 0.0), OptionalAttribute(attribute::kHigh, 1.0));
  definition.infer = InferUniform;
  definition.evaluate = EvaluateUniform;
  definition.calls = UniformCalls;
  return definition;
}

}  // namespace cleave::ir
