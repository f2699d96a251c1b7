#include "codegen/source/attention.h"

#include <optional>
#include <utility>
#include <vector>

#include "ir/graph/attributes/keys.h"
#include "ir/graph/ops/attention.h"

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

cpp::Expr StridesOf(Sizes& sizes, const Operand& tensor) {
  const int rank = tensor.rank;
  return cpp::Call(tensor.heads_inside ? "RowsFirst" : "HeadsFirst",
                   {sizes.Size(tensor.value, rank - 3).Value(), sizes.Size(tensor.value, rank - 2).Value(),
                    sizes.Size(tensor.value, rank - 1).Value()});
}

// The fields of an AttentionShape (runtime/kernels), without those that keep their default. `step`: one of the ops.
// `output`: a tensor that lies like the result; nullopt where there is none.
cpp::Expr ShapeOf(Emission& emission, int step, const ir::AttentionInputs& inputs, std::optional<ir::ValueId> output) {
  Sizes& sizes = emission.sizes;
  const ir::Attributes& attributes = ir::ComputeOf(emission.step(step))->attributes;
  const std::vector<int64_t>& inside = attributes.Get(ir::attribute::kHeadsInside);
  const Operand q(emission, inputs.q, inside[0]);
  const Operand k(emission, inputs.k, inside[1]);
  std::vector<cpp::Field> fields = {
      {"batch", sizes.CountOf(inputs.q, 0, q.rank - 3).Value()}, {"heads", sizes.Size(inputs.q, q.heads).Value()},
      {"key_heads", sizes.Size(inputs.k, k.heads).Value()},      {"rows", sizes.Size(inputs.q, q.rows).Value()},
      {"columns", sizes.Size(inputs.k, k.rows).Value()},         {"head", sizes.Size(inputs.q, q.rank - 1).Value()}};
  if (const double scale = attributes.Get(ir::attribute::kFactor); scale != 1)
    fields.push_back({"scale", cpp::Float(scale)});
  if (attributes.Get(ir::attribute::kCausal)) {
    fields.push_back({"causal", cpp::Bool(true)});
    const cpp::Expr first = Difference(sizes.Begin(inputs.q, q.rows), 0, sizes.Begin(inputs.k, k.rows));
    if (first.number() != 0) fields.push_back({"first_row", first});
  }
  fields.push_back({"q", StridesOf(sizes, q)});
  fields.push_back({"k", StridesOf(sizes, k)});
  fields.push_back(
      {"v", inputs.v.has_value() ? StridesOf(sizes, Operand(emission, *inputs.v, inside[2])) : StridesOf(sizes, k)});
  if (output.has_value()) fields.push_back({"out", StridesOf(sizes, Operand(emission, *output, inside[3]))});
  return cpp::Fields(std::move(fields));
}

// The place of the values. Where they are not needed there are those of the keys, which lie as `ShapeOf` says.
cpp::Expr ValuesOf(const Emission& emission, const ir::AttentionInputs& inputs) {
  return emission.names[inputs.v.value_or(inputs.k)];
}

// The place of a result; null where there is none, or none that is kept.
cpp::Expr PlaceOf(const Emission& emission, std::optional<ir::ValueId> value) {
  const bool is_kept = value.has_value() && !emission.fusion.inside.contains(*value);
  return is_kept ? emission.names[*value] : cpp::Name("nullptr");
}

}  // namespace

void EmitAttention(Emission& emission, const ir::AttentionForward& attention, cpp::Code& code) {
  const ir::AttentionInputs& inputs = attention.inputs;
  Announce(emission, attention.steps, "", code);
  Watch(emission, attention.steps.back(), attention.output.has_value() ? *attention.output : *attention.logsumexp,
        code);
  code.Do(cpp::Call("Attention", {ShapeOf(emission, attention.steps[0], inputs, attention.output),
                                  emission.names[inputs.q], emission.names[inputs.k], ValuesOf(emission, inputs),
                                  PlaceOf(emission, attention.output), PlaceOf(emission, attention.logsumexp)}));
}

void EmitAttentionGradient(Emission& emission, const ir::AttentionBackward& attention, cpp::Code& code) {
  const ir::AttentionInputs& inputs = attention.inputs;
  const std::optional<ir::ValueId> result = attention.q_gradient.has_value()   ? attention.q_gradient
                                            : attention.k_gradient.has_value() ? attention.k_gradient
                                                                               : attention.v_gradient;
  Announce(emission, attention.steps, "", code);
  Watch(emission, attention.steps.back(), *result, code);
  code.Do(cpp::Call(
      "AttentionGradient",
      {ShapeOf(emission, attention.steps[0], inputs, attention.output_gradient), emission.names[inputs.q],
       emission.names[inputs.k], ValuesOf(emission, inputs),
       // The gradient by the values does not read it.
       emission.names[attention.output.value_or(attention.output_gradient)], emission.names[attention.logsumexp],
       emission.names[attention.output_gradient], PlaceOf(emission, attention.q_gradient),
       PlaceOf(emission, attention.k_gradient), PlaceOf(emission, attention.v_gradient)}));
}

}  // namespace cleave::codegen
