#include "ir/check/conditioning.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "ir/ops/ops.h"

namespace cleave {
namespace {

constexpr int kDraws = 3;

double LargestElement(const Tensor& tensor) {
  double largest = 0;
  for (double value : tensor.values) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  return largest;
}

// Moved by no more than a rounding error of what it was made from. Sources, integers and whole numbers are exact.
void Disturb(const Op& op, std::mt19937_64& random, Tensor& tensor) {
  if (op.inputs.empty() || op.type.dtype == DType::kI32) return;
  const double most = kDisturbance * LargestElement(tensor);
  std::uniform_real_distribution<double> change(-most, most);
  for (double& value : tensor.values) {
    if (value != std::floor(value)) value += change(random);
  }
}

IdVector<OpId, Tensor> Disturbed(const Graph& graph, const SourceValues& sources, int64_t step,
                                 std::mt19937_64& random) {
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
    Disturb(op, random, values[op.id]);
  }
  return values;
}

bool Moves(const Tensor& calm, const Tensor& moved) {
  const double scale = std::max(1.0, LargestElement(calm));
  for (size_t i = 0; i < calm.values.size(); ++i) {
    const double a = calm.values[i], b = moved.values[i];
    if (std::isfinite(a) != std::isfinite(b) || std::abs(a - b) > kAmplified * scale) return true;
  }
  return false;
}

}  // namespace

IdVector<OpId, char> HangOnRounding(const Graph& graph, const SourceValues& sources, int64_t step) {
  const IdVector<OpId, Tensor> calm = InterpretGraph(graph, sources, step);
  IdVector<OpId, char> result(graph.ops.size(), false);
  std::mt19937_64 random(1);
  for (int draw = 0; draw < kDraws; ++draw) {
    const IdVector<OpId, Tensor> moved = Disturbed(graph, sources, step, random);
    for (const Op& op : graph.ops) result[op.id] = result[op.id] || Moves(calm[op.id], moved[op.id]);
  }
  return result;
}

}  // namespace cleave
