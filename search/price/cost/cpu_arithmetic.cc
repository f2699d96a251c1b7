#include "search/price/cost/cpu_arithmetic.h"

#include <algorithm>
#include <map>
#include <vector>

#include "ir/graph/ops/attention.h"
#include "ir/graph/scalar/scalar.h"

namespace cleave::search {
namespace {

// Floats side by side in a vector.
constexpr int64_t kLanes = 16;

// For each row, besides those of its elements: 10 ns for the way into its loops and the sums of their lanes, and half
// of that where the loop is one.
constexpr double kOperationsOfRow = 400, kOperationsOfSum = 200;

// What calls of the C library, which takes one element at a time, count beyond ir::FlopsOf: 2.2 ns for a logarithm, 4.3
// for a sine, 12.4 for a hyperbolic tangent, 3.1 for a power.
double OperationsOfCall(ir::Primitive primitive) {
  switch (primitive) {
    case ir::Primitive::kLog:
      return 80;
    case ir::Primitive::kSin:
    case ir::Primitive::kCos:
      return 150;
    case ir::Primitive::kTanh:
      return 480;
    case ir::Primitive::kPow:
      return 100;
    default:
      return 0;
  }
}

double OperationsOfCalls(const ir::ScalarFunction& function) {
  double operations = 0;
  for (const ir::Scalar& node : ir::NodesOf(ir::WithoutCalls(function.value))) {
    // What is computed of numbers only is computed once, and whole powers are products.
    const bool is_whole_power = node.Is(ir::Primitive::kPow) && node.operands()[1].Is(ir::Primitive::kNumber) &&
                                node.operands()[1].number() == static_cast<int>(node.operands()[1].number());
    const bool is_constant = std::all_of(node.operands().begin(), node.operands().end(),
                                         [](const ir::Scalar& operand) { return operand.Is(ir::Primitive::kNumber); });
    if (!is_whole_power && !is_constant) operations += OperationsOfCall(node.primitive());
  }
  return operations;
}

// By op, the operations of one element's calls; for those that have any.
const std::map<ir::OpKind, double>& CallsOfOps() {
  static const auto* const kCalls = [] {
    auto* const calls = new std::map<ir::OpKind, double>();
    for (const ir::OpDefinition* definition : ir::AllOps()) {
      if (!definition->element.has_value()) continue;
      const double operations = OperationsOfCalls(definition->element->function);
      if (operations > 0) calls->emplace(definition->kind, operations);
    }
    return calls;
  }();
  return *kCalls;
}

// How the call of an op takes its first input, row by row.
struct RowWork {
  double passes = 0;  // How many times so many operations as `flops` says it does; 0: it does not go by rows.
  double of_row = 0;
  size_t dimensions = 1;  // The last ones, which are a row.
};

// How many of the last dimensions are reduced together.
size_t ReducedAtEnd(const ir::TensorType& input, const std::vector<int64_t>& axes) {
  size_t count = 0;
  for (auto axis = static_cast<int64_t>(input.shape.size()) - 1; axis >= 0; --axis, ++count) {
    if (!axes.empty() && std::find(axes.begin(), axes.end(), axis) == axes.end()) break;
  }
  return count;
}

// The gradient of a cross-entropy computes the exponentials twice, for their sum and for the result; that of a norm
// normalizes once what both of its parts count.
RowWork RowWorkOf(const ir::OpDefinition& definition, const ir::TensorType& input, const ir::Attributes& attributes) {
  switch (definition.kind) {
    case ir::OpKind::kCrossEntropyGradient:
      return {.passes = 1.7, .of_row = kOperationsOfRow};
    case ir::OpKind::kLayerNormGradientInput:
      return {.passes = 0.6, .of_row = kOperationsOfRow};
    case ir::OpKind::kSoftmax:
    case ir::OpKind::kSoftmaxGradient:
    case ir::OpKind::kLogSoftmax:
    case ir::OpKind::kLogSoftmaxGradient:
    case ir::OpKind::kCrossEntropy:
    case ir::OpKind::kLabelLossGradient:
    case ir::OpKind::kLayerNorm:
    case ir::OpKind::kRmsNorm:
      return {.passes = 1, .of_row = kOperationsOfRow};
    case ir::OpKind::kReduceMax:
    case ir::OpKind::kReduceMean:
    case ir::OpKind::kReduceMin:
    case ir::OpKind::kReduceSum: {
      const size_t reduced = ReducedAtEnd(input, attributes.Get(ir::attribute::kAxes));
      if (reduced == 0) return {};
      return {.passes = 1, .of_row = kOperationsOfSum, .dimensions = reduced};
    }
    default:
      return {};
  }
}

// Elements of a row that do not fill a vector are computed one by one, each in the time of a vector.
double FlopsOfRows(double flops, const RowWork& work, const ir::TensorType& rows) {
  int64_t columns = 1;
  for (size_t i = 0; i < std::min(work.dimensions, rows.shape.size()); ++i) {
    columns *= rows.shape[rows.shape.size() - 1 - i];
  }
  if (columns == 0) return flops;
  const double vectors = static_cast<double>(columns / kLanes + columns % kLanes);
  return work.passes * flops * vectors * kLanes / static_cast<double>(columns) +
         work.of_row * static_cast<double>(rows.elements() / columns);
}

// Of bench/kernels: attention with heads of 16 to 128 elements and 32 to 2,048 keys reaches, by least squares of the
// logarithms, this share of the rate of products, as if each query saw so many more keys, whose time is that of
// packing; behind a causal mask the tiles at its edge are computed whole. It is within a factor of 1.4 of all of them.
constexpr double kAttentionShare = 0.6;
constexpr double kKeysOfPacking = 40;
constexpr double kAttentionTile = 64;

// How many are computed of so many queries or keys, and of one: as many as blocks have.
double PaddingOf(int64_t count) {
  constexpr int64_t kFewest = 16, kStep = 32;
  const int64_t computed = count <= kFewest ? kFewest : (count + kStep - 1) / kStep * kStep;
  return static_cast<double>(computed) / static_cast<double>(count);
}

}  // namespace

Flops CpuLoopFlops(const ir::OpDefinition& definition, absl::Span<const ir::TensorType> inputs,
                   const ir::TensorType& output, const ir::Attributes& attributes) {
  const Flops flops = definition.flops(inputs, output, attributes);
  if (definition.element.has_value()) {
    const auto calls = CallsOfOps().find(definition.kind);
    if (calls == CallsOfOps().end()) return flops;
    return flops + Flops(calls->second * static_cast<double>(output.elements()));
  }
  if (inputs.empty()) return flops;
  const RowWork work = RowWorkOf(definition, inputs[0], attributes);
  return work.passes == 0 ? flops : Flops(FlopsOfRows(flops.value(), work, inputs[0]));
}

double CpuAttentionEfficiency(absl::Span<const ir::TensorType> inputs, const ir::Attributes& attributes) {
  const auto rows_of = [&](size_t input) {
    const ir::Shape& shape = inputs[input].shape;
    const bool heads_inside = attributes.Get(ir::attribute::kHeadsInside)[input] != 0;
    return shape[ir::AttentionDimensions(shape.size(), heads_inside).rows];
  };
  const int64_t queries = rows_of(0), keys = rows_of(1);
  if (queries == 0 || keys == 0) return kAttentionShare;
  const auto columns = static_cast<double>(keys);
  double seen = columns, with_edges = columns;
  if (attributes.Get(ir::attribute::kCausal)) {
    const auto window = static_cast<double>(attributes.Get(ir::attribute::kWindow));
    seen = window > 0 ? std::min(window, columns / 2) : columns / 2;
    with_edges = std::min(columns, seen + kAttentionTile / 2);
  }
  return kAttentionShare * seen / (with_edges + kKeysOfPacking) / (PaddingOf(queries) * PaddingOf(keys));
}

}  // namespace cleave::search
