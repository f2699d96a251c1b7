#include "ir/proof/check/simulation_size.h"

#include <algorithm>

namespace cleave::ir {
namespace {

// Not ElementCount: the product of sizes that are not small need not fit int64_t.
double Elements(const Shape& shape) {
  double elements = 1;
  for (int64_t size : shape) elements *= static_cast<double>(size);
  return elements;
}

}  // namespace

double SimulatedElements(const Graph& graph, const Program& program) {
  constexpr double kCopies = 4;
  double elements = 0;
  for (const Op& op : graph.ops) elements += kCopies * Elements(op.type.shape);
  for (const Step& step : program.steps) {
    for (ValueId value : Writes(step)) {
      elements += Elements(LargestLocalShape(program, value)) *
                  static_cast<double>(RanksOf(program, program.value(value).stage).size());
    }
  }
  return elements;
}

double MostElements(const Program& program) {
  constexpr double kAlways = 16e6;
  constexpr double kOfValue = 4096;
  return std::max(
      kAlways, kOfValue * static_cast<double>(program.values.size()) * static_cast<double>(program.mesh.rank_count()));
}

std::optional<LargeDimension> FindTooLarge(const Graph& graph, const Program& program) {
  LargeDimension found{.elements = SimulatedElements(graph, program), .most = MostElements(program)};
  if (found.elements <= found.most) return std::nullopt;
  const Op& largest = *std::max_element(graph.ops.begin(), graph.ops.end(), [](const Op& a, const Op& b) {
    return Elements(a.type.shape) < Elements(b.type.shape);
  });
  const Shape& shape = largest.type.shape;
  found.op = largest.id;
  found.dimension = static_cast<int>(std::max_element(shape.begin(), shape.end()) - shape.begin());
  found.size = shape[static_cast<size_t>(found.dimension)];
  return found;
}

}  // namespace cleave::ir
