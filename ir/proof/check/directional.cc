#include "ir/proof/check/directional.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <utility>

#include "base/status/status_macros.h"
#include "ir/proof/interpret/interpret.h"

namespace cleave::ir {
namespace {

// The program up to its loss.
Program ForwardOf(const Program& program) {
  Program forward = program;
  forward.steps.clear();
  for (const Step& step : program.steps) {
    if (step.phase == Phase::kForward) forward.steps.push_back(step);
  }
  return forward;
}

bool IsLocal(const Op& op) { return op.attributes.IsSet(attribute::kLocal); }

// For each parameter the value that is its gradient.
std::map<OpId, ValueId> GradientsOf(const Graph& graph, const Program& program) {
  std::map<OpId, ValueId> gradients;
  for (const Step& step : program.steps) {
    for (ValueId value : Writes(step)) {
      const Op& op = graph.op(program.value(value).origin);
      // An op's value comes after the views and collectives that make it.
      if (op.gradient_of.has_value() && graph.op(*op.gradient_of).kind == OpKind::kParameter)
        gradients[*op.gradient_of] = value;
    }
  }
  return gradients;
}

RankSources Moved(const RankSources& sources, const RankSources& direction, double length) {
  RankSources moved = sources;
  for (const auto& [op, by_rank] : direction) {
    for (size_t rank = 0; rank < by_rank.size(); ++rank) {
      std::vector<double>& values = moved[op][rank].values;
      for (size_t i = 0; i < values.size(); ++i) values[i] += length * by_rank[rank].values[i];
    }
  }
  return moved;
}

absl::StatusOr<double> LossOf(const Program& forward, const RankSources& sources, int64_t step) {
  CLEAVE_ASSIGN_OR_RETURN(const auto values, InterpretProgram(forward, sources, step));
  return values[*forward.loss][0].values[0];
}

// A direction for every parameter that has a gradient: the same on all ranks, except for local parameters.
RankSources RandomDirection(const Graph& graph, const std::map<OpId, ValueId>& gradients, int ranks, uint64_t seed) {
  RankSources direction;
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  for (const auto& [parameter, value] : gradients) {
    TensorOnRanks& by_rank = direction[parameter];
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank > 0 && !IsLocal(graph.op(parameter))) {
        by_rank.push_back(by_rank.front());
        continue;
      }
      by_rank.push_back(Zeros(graph.op(parameter).type.shape));
      for (double& number : by_rank.back().values) number = normal(random);
    }
  }
  return direction;
}

}  // namespace

bool DirectionalDerivative::agrees() const { return std::abs(gradient - measured) <= tolerance; }

bool DirectionalDerivative::differs() const { return std::abs(gradient - measured) > tolerance + roughness; }

absl::StatusOr<DirectionalDerivative> DerivativeAlong(uint64_t seed, double length, const Graph& graph,
                                                      const Program& program, const RankSources& sources,
                                                      const ProgramValues& values, int64_t step) {
  const std::map<OpId, ValueId> gradients = GradientsOf(graph, program);
  const int ranks = program.mesh.rank_count();
  const RankSources direction = RandomDirection(graph, gradients, ranks, seed);
  DirectionalDerivative derivative{.parameters = static_cast<int>(gradients.size())};
  const Op* const loss_gradient = LossGradientOf(graph);
  const double scale = loss_gradient == nullptr ? 1 : loss_gradient->attributes.Get(attribute::kValue);
  double squares = 0;
  for (const auto& [parameter, gradient] : gradients) {
    const int contributors = IsLocal(graph.op(parameter)) ? ranks : 1;
    for (int rank = 0; rank < contributors; ++rank) {
      const Tensor& local = values[gradient][static_cast<size_t>(rank)];
      const Tensor& along = direction.at(parameter)[static_cast<size_t>(rank)];
      for (size_t i = 0; i < local.values.size(); ++i) {
        const double part = local.values[i] / scale * along.values[i];
        derivative.gradient += part;
        squares += part * part;
      }
    }
  }

  const Program forward = ForwardOf(program);
  const auto loss_at = [&](double steps) { return LossOf(forward, Moved(sources, direction, steps * length), step); };
  CLEAVE_ASSIGN_OR_RETURN(const double ahead, loss_at(1));
  CLEAVE_ASSIGN_OR_RETURN(const double behind, loss_at(-1));
  derivative.measured = (ahead - behind) / (2 * length);
  // Terms of random signs add up to about the root of the sum of their squares. The loss is known to about 1e-15 of
  // itself.
  constexpr double kRelative = 1e-5;
  const double rounding = 1e-14 * std::max({1.0, std::abs(ahead), std::abs(behind)}) / length;
  derivative.tolerance = kRelative * std::sqrt(squares) + rounding;
  if (derivative.agrees()) return derivative;
  // The fourth difference of a smooth function is far smaller than its first.
  const double here = values[*program.loss][0].values[0];
  CLEAVE_ASSIGN_OR_RETURN(const double far_ahead, loss_at(2));
  CLEAVE_ASSIGN_OR_RETURN(const double far_behind, loss_at(-2));
  derivative.roughness = std::abs(far_ahead - 4 * ahead + 6 * here - 4 * behind + far_behind) / length;
  return derivative;
}

const Op* LossGradientOf(const Graph& graph) {
  if (!graph.loss.has_value()) return nullptr;
  const auto found = std::find_if(graph.ops.begin(), graph.ops.end(), [&](const Op& op) {
    return op.kind == OpKind::kConstant && op.gradient_of == graph.loss;
  });
  return found == graph.ops.end() ? nullptr : &*found;
}

}  // namespace cleave::ir
