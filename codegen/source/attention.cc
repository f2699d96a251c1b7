#include "codegen/source/attention.h"

#include <optional>
#include <utility>
#include <vector>

#include "base/check/check.h"
#include "codegen/source/layer_scope.h"
#include "codegen/source/parts.h"
#include "ir/graph/attributes/keys.h"
#include "ir/graph/ops/attention.h"
#include "ir/graph/ops/ring.h"
#include "ir/graph/ops/zigzag.h"

namespace cleave::codegen {
namespace {

// A tensor of attention: [.., heads, rows, head] or [.., rows, heads, head].
struct Operand {
  ir::ValueId value;
  bool heads_inside;
  int rank;
  int heads;  // Which dimension.
  int rows;

  Operand(const Emission& emission, ir::ValueId value, int64_t inside)
      : value(value), heads_inside(inside != 0), rank(emission.value(value).type.rank()) {
    const ir::AttentionDimensions dimensions(static_cast<size_t>(rank), heads_inside);
    heads = static_cast<int>(dimensions.heads);
    rows = static_cast<int>(dimensions.rows);
  }
};

cpp::Expr StridesOf(Emission& emission, const Operand& tensor) {
  const int rank = tensor.rank;
  Sizes& sizes = emission.sizes;
  if (const ir::Part* const part = PartOf(emission, tensor.value)) {
    std::vector<cpp::Field> fields;
    const auto add = [&](std::string name, int begin, int end) {
      const cpp::Expr stride = StrideOf(emission, tensor.value, *part, begin, end).Value();
      if (stride.number() != 0) fields.push_back({std::move(name), stride});
    };
    add("batch", 0, rank - 3);
    add("head", tensor.heads, tensor.heads + 1);
    add("row", tensor.rows, tensor.rows + 1);
    return cpp::Fields(std::move(fields));
  }
  return cpp::Call(tensor.heads_inside ? "RowsFirst" : "HeadsFirst",
                   {sizes.Size(tensor.value, rank - 3).Value(), sizes.Size(tensor.value, rank - 2).Value(),
                    sizes.Size(tensor.value, rank - 1).Value()});
}

// Its name in an AttentionShape, and its place in the attribute `heads_inside`.
struct StridedTensor {
  const char* name;
  ir::ValueId value;
  size_t inside;
};
constexpr size_t kQ = 0, kK = 1, kV = 2, kOut = 3;

// What both directions read. Where values are not needed the keys are given for them.
std::vector<StridedTensor> InputsOf(const ir::AttentionInputs& inputs) {
  return {{"q", inputs.q, kQ}, {"k", inputs.k, kK}, {"v", inputs.v.value_or(inputs.k), inputs.v.has_value() ? kV : kK}};
}

void AddTensor(const char* name, std::optional<ir::ValueId> value, size_t inside, std::vector<StridedTensor>& fields) {
  if (value.has_value()) fields.push_back({name, *value, inside});
}

// An AttentionDropout: the weights are a piece of [batch, heads, rows, columns], whose first dimension may be missing.
cpp::Expr DropoutOf(Emission& emission, const ir::Attributes& attributes, const Operand& q, const Operand& k) {
  Sizes& sizes = emission.sizes;
  const cpp::Expr stream = cpp::Fields({{"", cpp::Name("seed")},
                                        {"", NameCharacters(emission.layer, attributes.Get(ir::attribute::kKey))},
                                        {"", cpp::Name("step")}});
  std::vector<cpp::Field> fields = {{"rate", cpp::Float(attributes.Get(ir::attribute::kRate))},
                                    {"stream", stream},
                                    {"heads", sizes.Whole(q.value, q.heads)},
                                    {"rows", sizes.Whole(q.value, q.rows)},
                                    {"columns", sizes.Whole(k.value, k.rows)}};
  const auto begins = [&](const char* name, const Operand& tensor, int dimension) {
    const cpp::Expr begin = sizes.Begin(tensor.value, dimension);
    if (begin.number() != 0) fields.push_back({name, begin});
  };
  if (q.rank > 3) begins("first_batch", q, 0);
  begins("first_head", q, q.heads);
  begins("first_row", q, q.rows);
  begins("first_column", k, k.rows);
  return cpp::Fields(std::move(fields));
}

// The place of a result; null where there is none, or none that is kept.
cpp::Expr PlaceOfResult(Emission& emission, std::optional<ir::ValueId> value) {
  const bool is_kept = value.has_value() && !emission.fusion.inside.contains(*value);
  return is_kept ? PlaceOf(emission, *value) : cpp::Name("nullptr");
}

// An AttentionBias: of distance 0 from the first row is element `rows`, of the whole tensors.
cpp::Expr BiasOf(Emission& emission, ir::ValueId bias, std::optional<ir::ValueId> gradient, const Operand& q,
                 const Operand& k) {
  Sizes& sizes = emission.sizes;
  std::vector<cpp::Field> fields = {{"values", PlaceOf(emission, bias)}};
  if (gradient.has_value()) fields.push_back({"gradient", PlaceOfResult(emission, gradient)});
  fields.push_back({"distances", sizes.Whole(bias, 1)});
  fields.push_back(
      {"first", Difference(sizes.Begin(k.value, k.rows), sizes.Whole(q.value, q.rows), sizes.Begin(q.value, q.rows))});
  return cpp::Fields(std::move(fields));
}

// A Zigzag of the rows of the queries.
cpp::Expr ZigzagOf(Emission& emission, int64_t pairs, const Operand& q) {
  const int64_t rows = emission.value(q.value).type.shape[static_cast<size_t>(q.rows)];
  std::vector<cpp::Field> fields = {{"pairs", pairs}, {"chunk", rows / (2 * pairs)}};
  const cpp::Expr first = emission.sizes.Begin(q.value, q.rows);
  if (first.number() != 0) fields.push_back({"first", first});
  return cpp::Fields(std::move(fields));
}

// The number of the first key that the rank has. In a round of a ring it is of another rank's piece.
cpp::Expr FirstKey(Emission& emission, const ir::Attributes& attributes, const Operand& k) {
  const cpp::Expr own = emission.sizes.Begin(k.value, k.rows);
  const int64_t pieces = ir::RingPieces(attributes);
  if (pieces == 0) return own;
  const ir::Value& value = emission.value(k.value);
  const int64_t columns = emission.sizes.Whole(k.value, k.rows);
  CLEAVE_CHECK(ir::CutCounts(value.layout, emission.program.mesh)[static_cast<size_t>(k.rows)] == pieces) << value.name;
  const int64_t moved = columns / pieces * attributes.Get(ir::attribute::kTurn);
  if (own.number().has_value()) return (*own.number() + moved) % columns;
  return moved == 0 ? own : (own + moved) % columns;
}

// An AttentionShape (runtime/kernels), without the fields that keep their default. `step`: one of the ops;
// `like_values`: a tensor with heads of values.
cpp::Expr ShapeOf(Emission& emission, int step, const ir::AttentionInputs& inputs, ir::ValueId like_values,
                  std::optional<ir::ValueId> bias_gradient, const std::vector<StridedTensor>& tensors) {
  Sizes& sizes = emission.sizes;
  const ir::Attributes& attributes = ir::ComputeOf(emission.step(step))->attributes;
  const std::vector<int64_t>& inside = attributes.Get(ir::attribute::kHeadsInside);
  const Operand q(emission, inputs.q, inside[kQ]);
  const Operand k(emission, inputs.k, inside[kK]);
  std::vector<cpp::Field> fields = {
      {"batch", sizes.CountOf(inputs.q, 0, q.rank - 3).Value()}, {"heads", sizes.Size(inputs.q, q.heads).Value()},
      {"key_heads", sizes.Size(inputs.k, k.heads).Value()},      {"rows", sizes.Size(inputs.q, q.rows).Value()},
      {"columns", sizes.Size(inputs.k, k.rows).Value()},         {"head", sizes.Size(inputs.q, q.rank - 1).Value()}};
  if (const int64_t of_values = emission.value(like_values).type.shape.back();
      of_values != emission.value(inputs.q).type.shape.back())
    fields.push_back({"value_head", of_values});
  if (const double scale = attributes.Get(ir::attribute::kFactor); scale != 1)
    fields.push_back({"scale", cpp::Float(scale)});
  if (const double cap = attributes.Get(ir::attribute::kCap); cap != 0) fields.push_back({"cap", cpp::Float(cap)});
  if (attributes.Get(ir::attribute::kCausal)) {
    fields.push_back({"causal", cpp::Bool(true)});
    if (const int64_t window = attributes.Get(ir::attribute::kWindow); window != 0)
      fields.push_back({"window", window});
    const int64_t pairs = ir::PairsOf(attributes);
    if (pairs > 0) fields.push_back({"zigzag", ZigzagOf(emission, pairs, q)});
    // In zigzag order the place of a query is found without it.
    const cpp::Expr first =
        Difference(pairs > 0 ? cpp::Expr(0) : sizes.Begin(inputs.q, q.rows), 0, FirstKey(emission, attributes, k));
    if (first.number() != 0) fields.push_back({"first_row", first});
  }
  if (!inputs.ranges.empty()) {
    fields.push_back({"first", PlaceOf(emission, inputs.ranges[0])});
    fields.push_back({"end", PlaceOf(emission, inputs.ranges[1])});
    const cpp::Expr first = FirstKey(emission, attributes, k);
    if (first.number() != 0) fields.push_back({"first_column", first});
  }
  if (attributes.Get(ir::attribute::kRate) > 0) fields.push_back({"dropout", DropoutOf(emission, attributes, q, k)});
  if (inputs.bias.has_value()) fields.push_back({"bias", BiasOf(emission, *inputs.bias, bias_gradient, q, k)});
  for (const StridedTensor& tensor : tensors) {
    fields.push_back({tensor.name, StridesOf(emission, Operand(emission, tensor.value, inside[tensor.inside]))});
  }
  return cpp::Fields(std::move(fields));
}

}  // namespace

void EmitAttention(Emission& emission, const ir::AttentionForward& attention, cpp::Code& code) {
  const ir::AttentionInputs& inputs = attention.inputs;
  std::vector<StridedTensor> tensors = InputsOf(inputs);
  std::vector<cpp::Expr> arguments;
  for (const StridedTensor& tensor : tensors) arguments.push_back(PlaceOf(emission, tensor.value));
  AddTensor("out", attention.output, kOut, tensors);
  for (const std::optional<ir::ValueId>& result : {attention.output, attention.logsumexp}) {
    arguments.push_back(PlaceOfResult(emission, result));
  }
  arguments.insert(arguments.begin(),
                   ShapeOf(emission, attention.steps[0], inputs, inputs.v.value_or(inputs.k), std::nullopt, tensors));
  Announce(emission, attention.steps, "", code);
  Watch(emission, attention.steps.back(), attention.output.has_value() ? *attention.output : *attention.logsumexp,
        code);
  code.Do(cpp::Call("Attention", std::move(arguments)));
}

void EmitAttentionGradient(Emission& emission, const ir::AttentionBackward& attention, cpp::Code& code) {
  const ir::AttentionInputs& inputs = attention.inputs;
  const std::optional<ir::ValueId> result = attention.q_gradient.has_value()   ? attention.q_gradient
                                            : attention.k_gradient.has_value() ? attention.k_gradient
                                            : attention.v_gradient.has_value() ? attention.v_gradient
                                                                               : attention.bias_gradient;
  std::vector<StridedTensor> tensors = InputsOf(inputs);
  // The gradient by the values does not read the result.
  AddTensor("out", attention.output.value_or(attention.output_gradient), kOut, tensors);
  std::vector<cpp::Expr> arguments;
  for (const StridedTensor& tensor : tensors) arguments.push_back(PlaceOf(emission, tensor.value));
  arguments.push_back(emission.names[attention.logsumexp]);
  arguments.push_back(PlaceOf(emission, attention.output_gradient));
  AddTensor("dout", attention.output_gradient, kOut, tensors);
  AddTensor("dq", attention.q_gradient, kQ, tensors);
  AddTensor("dk", attention.k_gradient, kK, tensors);
  AddTensor("dv", attention.v_gradient, kV, tensors);
  for (const std::optional<ir::ValueId>& gradient : {attention.q_gradient, attention.k_gradient, attention.v_gradient})
    arguments.push_back(PlaceOfResult(emission, gradient));
  arguments.insert(arguments.begin(), ShapeOf(emission, attention.steps[0], inputs, attention.output_gradient,
                                              attention.bias_gradient, tensors));
  Announce(emission, attention.steps, "", code);
  Watch(emission, attention.steps.back(), *result, code);
  code.Do(cpp::Call("AttentionGradient", std::move(arguments)));
}

}  // namespace cleave::codegen
