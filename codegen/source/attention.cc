#include "codegen/source/attention.h"

#include "absl/strings/str_cat.h"

namespace cleave::codegen {
namespace {

// The fields of an AttentionShape (runtime/kernels), without those that keep their default.
std::string ShapeText(Emission& emission, const ir::AttentionInputs& inputs) {
  Sizes& sizes = emission.sizes;
  const int rank = emission.value(inputs.q).type.rank();
  std::string text = absl::StrCat(
      "{.matrices = ", sizes.CountOf(inputs.q, 0, rank - 2).Text(), ", .rows = ", sizes.Size(inputs.q, rank - 2).Text(),
      ", .columns = ", sizes.Size(inputs.k, rank - 2).Text(), ", .head = ", sizes.Size(inputs.q, rank - 1).Text());
  if (inputs.scale != 1) absl::StrAppend(&text, ", .scale = ", FloatLiteral(inputs.scale));
  if (!inputs.causal) return absl::StrCat(text, "}");
  absl::StrAppend(&text, ", .causal = true");
  const std::string first = sizes.Begin(inputs.scores, rank - 2);
  return absl::StrCat(text, first == "0" ? "" : absl::StrCat(", .first_row = ", first), "}");
}

}  // namespace

void EmitAttention(Emission& emission, const ir::AttentionForward& attention, SourceWriter& writer) {
  const Names& names = emission.names;
  const ir::AttentionInputs& inputs = attention.inputs;
  Announce(emission, attention.steps, "", writer);
  Watch(emission, attention.steps.back(), attention.output, writer);
  writer.Call("Attention(",
              {ShapeText(emission, inputs), names[inputs.q], names[inputs.k], names[inputs.v], names[attention.output]},
              ");");
}

void EmitAttentionGradient(Emission& emission, const ir::AttentionBackward& attention, SourceWriter& writer) {
  const Names& names = emission.names;
  const ir::AttentionInputs& inputs = attention.inputs;
  Announce(emission, attention.steps, "", writer);
  Watch(emission, attention.steps.back(), attention.q_gradient, writer);
  writer.Call(
      "AttentionGradient(",
      {ShapeText(emission, inputs), names[inputs.q], names[inputs.k], names[inputs.v], names[attention.output_gradient],
       names[attention.q_gradient], names[attention.k_gradient], names[attention.v_gradient]},
      ");");
}

}  // namespace cleave::codegen
