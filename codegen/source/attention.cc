#include "codegen/source/attention.h"

#include <utility>
#include <vector>

namespace cleave::codegen {
namespace {

// The fields of an AttentionShape (runtime/kernels), without those that keep their default.
cpp::Expr ShapeOf(Emission& emission, const ir::AttentionInputs& inputs) {
  Sizes& sizes = emission.sizes;
  const int rank = emission.value(inputs.q).type.rank();
  std::vector<cpp::Field> fields = {{"matrices", sizes.CountOf(inputs.q, 0, rank - 2).Value()},
                                    {"rows", sizes.Size(inputs.q, rank - 2).Value()},
                                    {"columns", sizes.Size(inputs.k, rank - 2).Value()},
                                    {"head", sizes.Size(inputs.q, rank - 1).Value()}};
  if (inputs.scale != 1) fields.push_back({"scale", cpp::Float(inputs.scale)});
  if (inputs.causal) {
    fields.push_back({"causal", cpp::Bool(true)});
    const cpp::Expr first = sizes.Begin(inputs.scores, rank - 2);
    if (first.number() != 0) fields.push_back({"first_row", first});
  }
  return cpp::Fields(std::move(fields));
}

}  // namespace

void EmitAttention(Emission& emission, const ir::AttentionForward& attention, cpp::Code& code) {
  const Names& names = emission.names;
  const ir::AttentionInputs& inputs = attention.inputs;
  Announce(emission, attention.steps, "", code);
  Watch(emission, attention.steps.back(), attention.output, code);
  code.Do(cpp::Call("Attention", {ShapeOf(emission, inputs), names[inputs.q], names[inputs.k], names[inputs.v],
                                  names[attention.output]}));
}

void EmitAttentionGradient(Emission& emission, const ir::AttentionBackward& attention, cpp::Code& code) {
  const Names& names = emission.names;
  const ir::AttentionInputs& inputs = attention.inputs;
  Announce(emission, attention.steps, "", code);
  Watch(emission, attention.steps.back(), attention.q_gradient, code);
  code.Do(cpp::Call("AttentionGradient", {ShapeOf(emission, inputs), names[inputs.q], names[inputs.k], names[inputs.v],
                                          names[attention.output_gradient], names[attention.q_gradient],
                                          names[attention.k_gradient], names[attention.v_gradient]}));
}

}  // namespace cleave::codegen
