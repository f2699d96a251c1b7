#include <algorithm>
#include <optional>
#include <random>

#include "ir/graph/ops/ops.h"
#include "ir/proof/interpret/interpret.h"

namespace cleave::ir {
namespace {

// The number of classes or rows from which an integer value chooses where `user` reads it as input `input`; nullopt
// where any integer will do.
std::optional<int64_t> ChoicesOf(const Graph& graph, const Op& user, size_t input) {
  const OpDefinition& definition = DefinitionOf(user);
  if (definition.choices == nullptr) return std::nullopt;
  const int64_t choices = definition.choices(InputTypes(graph, user), user.attributes, static_cast<int>(input));
  return choices > 0 ? std::optional<int64_t>(choices) : std::nullopt;
}

// The smallest number of choices over all uses of `op`, also through ops that only move integers.
int64_t SmallestRange(const Graph& graph, const IdVector<OpId, std::vector<OpId>>& users, OpId op, int64_t range) {
  for (OpId user_id : users[op]) {
    const Op& user = graph.op(user_id);
    for (size_t input = 0; input < user.inputs.size(); ++input) {
      if (user.inputs[input] != op) continue;
      if (const std::optional<int64_t> choices = ChoicesOf(graph, user, input)) {
        range = std::min(range, *choices);
      } else if (user.type.dtype == DType::kI32) {
        range = SmallestRange(graph, users, user_id, range);
      }
    }
  }
  return range;
}

}  // namespace

SourceValues RandomSources(const Graph& graph, uint64_t seed, const SourceRanges& ranges) {
  const IdVector<OpId, std::vector<OpId>> users = Users(graph);
  SourceValues sources;
  for (const Op& op : graph.ops) {
    const OpDefinition& definition = DefinitionOf(op);
    if (definition.op_class != OpClass::kSource || definition.evaluate != nullptr) continue;
    std::mt19937_64 generator(seed + 0x9E3779B97F4A7C15ull * static_cast<uint64_t>(op.id.value() + 1));
    std::uniform_real_distribution<double> magnitude(0.5, 1.5);
    Tensor tensor = Zeros(op.type.shape);
    const int64_t choices = SmallestRange(graph, users, op.id, 4);
    const auto range = ranges.find(op.id);
    const auto [center, spread] = range == ranges.end() ? SourceRange{} : range->second;
    for (double& value : tensor.values) {
      if (op.type.dtype == DType::kI32) {
        value = static_cast<double>(generator() % static_cast<uint64_t>(std::max<int64_t>(choices, 1)));
      } else if (op.type.dtype == DType::kI8) {
        // As large as other values when they are scaled.
        constexpr double kNumbers[] = {-2, -1, 1, 2};
        value = kNumbers[generator() % 4];
      } else {
        // The second moments of an optimizer are squares.
        const bool positive = op.kind == OpKind::kState || (generator() & 1) != 0;
        const double distance = spread * magnitude(generator);
        value = center + (positive ? distance : -distance);
      }
    }
    sources[op.id] = std::move(tensor);
  }
  return sources;
}

}  // namespace cleave::ir
