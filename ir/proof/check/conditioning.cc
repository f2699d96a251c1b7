#include "ir/proof/check/conditioning.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <vector>

#include "ir/graph/ops/ops.h"

namespace cleave::ir {
namespace {

constexpr int kDraws = 8;

double LargestElement(const Tensor& tensor) {
  double largest = 0;
  for (double value : tensor.values) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  return largest;
}

// By how much a rounding error changes what the op computed. Sources, integers and whole numbers are exact. So is what
// the op has only picked from its inputs, perhaps with another sign: a maximum, a slice.
void Disturb(const Op& op, const std::vector<const Tensor*>& inputs, double disturbance, std::mt19937_64& random,
             Tensor& tensor) {
  if (op.inputs.empty() || IsInteger(op.type.dtype)) return;
  std::set<double> picked;
  for (const Tensor* input : inputs) {
    for (double value : input->values) picked.insert(std::abs(value));
  }
  const double most = disturbance * LargestElement(tensor);
  std::uniform_real_distribution<double> change(-most, most);
  for (double& value : tensor.values) {
    if (value != std::floor(value) && picked.count(std::abs(value)) == 0) value += change(random);
  }
}

// Values that differ in their last bits only become equal, except for a few on two sides of a boundary. Random changes
// never make values equal, although the result of a comparison may depend on that.
void DropLastBits(const Op& op, Tensor& tensor) {
  if (op.inputs.empty() || IsInteger(op.type.dtype)) return;
  constexpr int kBits = 44;
  for (double& value : tensor.values) {
    if (!std::isfinite(value)) continue;
    int exponent = 0;
    const double fraction = std::frexp(value, &exponent);
    value = std::ldexp(std::nearbyint(std::ldexp(fraction, kBits)), exponent - kBits);
  }
}

// `change` is applied to the value of an op, given what the value was computed from.
template <typename Change>
IdVector<OpId, Tensor> InterpretChanged(const Graph& graph, const SourceValues& sources, int64_t step,
                                        const Change& change) {
  IdVector<OpId, Tensor> values(graph.ops.size());
  for (const Op& op : graph.ops) {
    if (const auto source = sources.find(op.id); source != sources.end()) {
      values[op.id] = source->second;
      continue;
    }
    std::vector<const Tensor*> inputs;
    for (OpId input : op.inputs) inputs.push_back(&values[input]);
    const std::vector<FactorRange> ranges = WholeRanges(RuleOf(graph, op));
    values[op.id] = Zeros(op.type.shape);
    DefinitionOf(op).evaluate(Evaluation{
        .attributes = op.attributes, .inputs = inputs, .ranges = ranges, .output = values[op.id], .step = step});
    change(op, inputs, values[op.id]);
  }
  return values;
}

double Movement(const Tensor& calm, const Tensor& moved) {
  const double scale = std::max(1.0, LargestElement(calm));
  double largest = 0;
  for (size_t i = 0; i < calm.values.size(); ++i) {
    const double a = calm.values[i], b = moved.values[i];
    if (std::isfinite(a) != std::isfinite(b)) return INFINITY;
    if (std::isfinite(a)) largest = std::max(largest, std::abs(a - b) / scale);
  }
  return largest;
}

}  // namespace

IdVector<OpId, Tensor> InterpretDisturbed(double disturbance, const Graph& graph, const SourceValues& sources,
                                          int64_t step, std::mt19937_64& random, double of_16_bits) {
  return InterpretChanged(graph, sources, step,
                          [&](const Op& op, const std::vector<const Tensor*>& inputs, Tensor& tensor) {
                            const bool is_narrow = Is16Bit(op.type.dtype) && of_16_bits > 0;
                            // A cast to 16 bits rounds, so its result is not only picked from its input.
                            const bool rounds = is_narrow && op.kind == OpKind::kCast;
                            Disturb(op, rounds ? std::vector<const Tensor*>() : inputs,
                                    is_narrow ? of_16_bits : disturbance, random, tensor);
                          });
}

IdVector<OpId, double> MovementUnder(double disturbance, const Graph& graph, const SourceValues& sources,
                                     int64_t step) {
  const IdVector<OpId, Tensor> calm = InterpretGraph(graph, sources, step);
  IdVector<OpId, double> result(graph.ops.size(), 0);
  std::mt19937_64 random(1);
  for (int draw = 0; draw < kDraws; ++draw) {
    const IdVector<OpId, Tensor> moved = InterpretDisturbed(disturbance, graph, sources, step, random);
    for (const Op& op : graph.ops) result[op.id] = std::max(result[op.id], Movement(calm[op.id], moved[op.id]));
  }
  return result;
}

IdVector<OpId, char> HangOnRounding(const Graph& graph, const SourceValues& sources, int64_t step) {
  const IdVector<OpId, double> movement = MovementUnder(kDisturbance, graph, sources, step);
  const IdVector<OpId, Tensor> calm = InterpretGraph(graph, sources, step);
  const IdVector<OpId, Tensor> shortened = InterpretChanged(
      graph, sources, step,
      [](const Op& op, const std::vector<const Tensor*>&, Tensor& tensor) { DropLastBits(op, tensor); });
  IdVector<OpId, char> result(graph.ops.size(), false);
  for (const Op& op : graph.ops) {
    result[op.id] = std::max(movement[op.id], Movement(calm[op.id], shortened[op.id])) > kAmplified;
  }
  return result;
}

}  // namespace cleave::ir
