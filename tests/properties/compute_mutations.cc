#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "ir/graph/ops/ops.h"
#include "tests/properties/mutations.h"

namespace cleave::tests::properties {
namespace {

bool StepLost(ir::Program& program, size_t at) {
  program.steps.erase(program.steps.begin() + static_cast<ptrdiff_t>(at));
  return true;
}

bool StepTwice(ir::Program& program, size_t at) {
  program.steps.insert(program.steps.begin() + static_cast<ptrdiff_t>(at), program.steps[at]);
  return true;
}

// Moves a step before the one whose value it reads. Independent steps may change places.
bool DependentStepsExchanged(ir::Program& program, size_t at) {
  if (at + 1 >= program.steps.size()) return false;
  const ir::StepValues written = ir::Writes(program.steps[at]);
  const ir::StepValues read = ir::Reads(program.steps[at + 1]);
  if (std::find_first_of(read.begin(), read.end(), written.begin(), written.end()) == read.end()) return false;
  std::swap(program.steps[at], program.steps[at + 1]);
  return true;
}

bool InputsExchanged(ir::Program& program, size_t at) {
  ir::Compute* compute = ComputeAt(program, at);
  if (compute == nullptr || compute->inputs.size() < 2 || compute->inputs[0] == compute->inputs[1]) return false;
  if (program.value(compute->inputs[0]).type != program.value(compute->inputs[1]).type) return false;
  std::swap(compute->inputs[0], compute->inputs[1]);
  return true;
}

// The first value that `wanted` accepts among those written before step `at`.
template <typename Wanted>
bool ReadAnother(ir::Program& program, size_t at, const Wanted& wanted) {
  ir::Compute* compute = ComputeAt(program, at);
  if (compute == nullptr) return false;
  for (ir::ValueId& input : compute->inputs) {
    for (size_t earlier = 0; earlier < at; ++earlier) {
      for (ir::ValueId value : ir::Writes(program.steps[earlier])) {
        if (value == input || program.value(value).type != program.value(input).type) continue;
        if (!wanted(program.steps[earlier], program.value(value), program.value(input))) continue;
        input = value;
        return true;
      }
    }
  }
  return false;
}

bool WrongInput(ir::Program& program, size_t at) {
  return ReadAnother(program, at, [](const ir::Step&, const ir::Value& other, const ir::Value& right) {
    return other.layout == right.layout && !(other.origin == right.origin);
  });
}

bool SameValueInAnotherLayout(ir::Program& program, size_t at) {
  return ReadAnother(program, at, [](const ir::Step&, const ir::Value& other, const ir::Value& right) {
    return !(other.layout == right.layout) && other.origin == right.origin;
  });
}

bool ValueOfAnotherPhase(ir::Program& program, size_t at) {
  return ReadAnother(program, at, [&](const ir::Step& step, const ir::Value& other, const ir::Value& right) {
    return step.phase != program.steps[at].phase && other.layout == right.layout && !(other.origin == right.origin);
  });
}

// The op of step `at`, if an earlier step computes it too; else null.
ir::Compute* AgainAt(ir::Program& program, size_t at) {
  ir::Compute* again = ComputeAt(program, at);
  if (again == nullptr) return nullptr;
  for (size_t earlier = 0; earlier < at; ++earlier) {
    const ir::Compute* first = ComputeAt(program, earlier);
    if (first != nullptr && first->op == again->op) return again;
  }
  return nullptr;
}

// What is computed again reads a value that was in its place before.
bool AgainFromAStaleValue(ir::Program& program, size_t at) {
  if (AgainAt(program, at) == nullptr) return false;
  return ReadAnother(program, at, [](const ir::Step&, const ir::Value& other, const ir::Value& right) {
    return other.layout == right.layout && !(other.origin == right.origin);
  });
}

bool AgainWithAnotherSeed(ir::Program& program, size_t at) {
  ir::Compute* again = AgainAt(program, at);
  if (again == nullptr || again->kind != ir::OpKind::kDropout) return false;
  again->attributes.Set(ir::attribute::kKey, again->attributes.Get(ir::attribute::kKey) + " again");
  return true;
}

// Readers of a value that is computed again read what the last layer of the same shape computes again.
bool AgainMixedUp(ir::Program& program, size_t at) {
  const ir::Compute* own = AgainAt(program, at);
  if (own == nullptr) return false;
  const ir::ValueId output = own->output;
  for (size_t other = at; other-- > 0;) {
    const ir::Compute* before = AgainAt(program, other);
    if (before == nullptr || program.value(before->output).type != program.value(output).type) continue;
    if (before->op == own->op || !(program.value(before->output).layout == program.value(output).layout)) continue;
    ReplaceReads(program, output, before->output, at + 1);
    return true;
  }
  return false;
}

// Moves the axes of one factor to another.
bool AnotherFactorCut(ir::Program& program, size_t at) {
  ir::Compute* compute = ComputeAt(program, at);
  if (compute == nullptr) return false;
  std::vector<ir::AxisList>& cuts = compute->strategy.cuts;
  for (size_t factor = 0; factor < cuts.size(); ++factor) {
    const size_t other = (factor + 1) % cuts.size();
    if (cuts[factor] == cuts[other]) continue;
    std::swap(cuts[factor], cuts[other]);
    return true;
  }
  return false;
}

bool FactorNotCut(ir::Program& program, size_t at) {
  ir::Compute* compute = ComputeAt(program, at);
  if (compute == nullptr) return false;
  for (ir::AxisList& axes : compute->strategy.cuts) {
    if (axes.empty()) continue;
    axes.pop_back();
    return true;
  }
  return false;
}

bool CutAxesReversed(ir::Program& program, size_t at) {
  ir::Compute* compute = ComputeAt(program, at);
  if (compute == nullptr) return false;
  for (ir::AxisList& axes : compute->strategy.cuts) {
    if (axes.size() < 2) continue;
    std::reverse(axes.begin(), axes.end());
    return true;
  }
  return false;
}

// A partial sum passes through an op that is not linear in it: the op reads the parts, and the sum is made after the
// op.
bool PassWhereNotLinear(ir::Program& program, size_t at) {
  const ir::Collective* collective = CollectiveAt(program, at);
  if (collective == nullptr || collective->kind != ir::CollectiveKind::kAllReduce || at + 1 >= program.steps.size()) {
    return false;
  }
  const ir::Transfer transfer = collective->transfers.front();
  ir::Compute* compute = ComputeAt(program, at + 1);
  if (compute == nullptr) return false;
  const auto input = std::find(compute->inputs.begin(), compute->inputs.end(), transfer.output);
  if (input == compute->inputs.end()) return false;
  const int place = static_cast<int>(input - compute->inputs.begin());
  for (const std::vector<int>& group : ir::RuleOf(program, *compute).linear) {
    if (std::find(group.begin(), group.end(), place) != group.end()) return false;
  }
  *input = transfer.input;
  for (ir::AxisId axis : collective->axes) compute->strategy.passes.push_back({.axis = axis, .group = 0});
  return true;
}

bool PassForgotten(ir::Program& program, size_t at) {
  ir::Compute* compute = ComputeAt(program, at);
  if (compute == nullptr || compute->strategy.passes.empty()) return false;
  compute->strategy.passes.pop_back();
  return true;
}

// Changes a number of an op, such as the number of rows by which a loss divides, or the factor of a scale.
bool AnotherNumber(ir::Program& program, size_t at) {
  ir::Compute* compute = ComputeAt(program, at);
  if (compute == nullptr) return false;
  for (const auto& [name, value] : compute->attributes.values()) {
    const double* const number = std::get_if<double>(&value);
    if (number == nullptr) continue;
    compute->attributes.SetNamed(name, *number * 1.5 + 0.25);
    return true;
  }
  return false;
}

bool AnotherOp(ir::Program& program, size_t at) {
  static const auto* others = new std::map<ir::OpKind, ir::OpKind>{{ir::OpKind::kAdd, ir::OpKind::kSub},
                                                                   {ir::OpKind::kSub, ir::OpKind::kAdd},
                                                                   {ir::OpKind::kMul, ir::OpKind::kDiv},
                                                                   {ir::OpKind::kDiv, ir::OpKind::kMul},
                                                                   {ir::OpKind::kTanh, ir::OpKind::kSigmoid},
                                                                   {ir::OpKind::kSigmoid, ir::OpKind::kTanh},
                                                                   {ir::OpKind::kRelu, ir::OpKind::kAbs},
                                                                   {ir::OpKind::kAbs, ir::OpKind::kNeg},
                                                                   {ir::OpKind::kNeg, ir::OpKind::kAbs},
                                                                   {ir::OpKind::kExp, ir::OpKind::kSquare},
                                                                   {ir::OpKind::kSquare, ir::OpKind::kExp},
                                                                   {ir::OpKind::kSqrt, ir::OpKind::kLog},
                                                                   {ir::OpKind::kLog, ir::OpKind::kSqrt},
                                                                   {ir::OpKind::kMse, ir::OpKind::kMae},
                                                                   {ir::OpKind::kMae, ir::OpKind::kMse},
                                                                   {ir::OpKind::kSoftmax, ir::OpKind::kLogSoftmax},
                                                                   {ir::OpKind::kReduceSum, ir::OpKind::kReduceMean},
                                                                   {ir::OpKind::kReduceMean, ir::OpKind::kReduceSum}};
  ir::Compute* compute = ComputeAt(program, at);
  if (compute == nullptr) return false;
  const auto other = others->find(compute->kind);
  if (other == others->end()) return false;
  compute->kind = other->second;
  return true;
}

// Makes two ops write each other's values.
bool OutputsExchanged(ir::Program& program, size_t at) {
  ir::Compute* first = ComputeAt(program, at);
  for (size_t other = at + 1; first != nullptr && other < program.steps.size(); ++other) {
    ir::Compute* second = ComputeAt(program, other);
    if (second == nullptr || program.value(second->output).type != program.value(first->output).type) continue;
    std::swap(first->output, second->output);
    return true;
  }
  return false;
}

// Lets a step that makes a value for others run only where metrics are computed.
bool OnlyWithMetrics(ir::Program& program, size_t at) {
  ir::Step& step = program.steps[at];
  if (step.phase == ir::Phase::kMetric) return false;
  const ir::StepValues written = ir::Writes(step);
  const bool is_read = std::any_of(
      program.steps.begin() + static_cast<ptrdiff_t>(at) + 1, program.steps.end(), [&](const ir::Step& later) {
        const ir::StepValues read = ir::Reads(later);
        return later.phase != ir::Phase::kMetric &&
               std::find_first_of(read.begin(), read.end(), written.begin(), written.end()) != read.end();
      });
  step.phase = ir::Phase::kMetric;
  return is_read;
}

// Gives a step an earlier phase than the steps before it, or a later one than those after it.
bool InAnotherPhase(ir::Program& program, size_t at) {
  ir::Step& step = program.steps[at];
  if (at == 0 || at + 1 >= program.steps.size() || program.steps[at + 1].phase != step.phase) return false;
  step.phase = step.phase == ir::Phase::kUpdate ? ir::Phase::kForward : ir::Phase::kUpdate;
  return program.steps[at - 1].phase > step.phase || program.steps[at + 1].phase < step.phase;
}

}  // namespace

std::vector<Mutation> ComputeMutations() {
  return {
      {"a step lost", StepLost},
      {"a step twice", StepTwice},
      {"a step before the one that it reads", DependentStepsExchanged},
      {"inputs of an op exchanged", InputsExchanged},
      {"a wrong input", WrongInput},
      {"the right input in another layout", SameValueInAnotherLayout},
      {"an input of another phase", ValueOfAnotherPhase},
      {"another factor cut", AnotherFactorCut},
      {"a factor not cut", FactorNotCut},
      {"a factor cut by axes in another order", CutAxesReversed},
      {"a partial sum through an op that is not linear", PassWhereNotLinear},
      {"a partial sum that passes taken for whole", PassForgotten},
      {"another number in an op", AnotherNumber},
      {"another op", AnotherOp},
      {"values of two ops exchanged", OutputsExchanged},
      {"a needed step in the metric phase", OnlyWithMetrics},
      {"a step in another phase", InAnotherPhase},
  };
}

std::vector<Mutation> RecomputationMutations() {
  return {
      {"computed again from a stale value", AgainFromAStaleValue},
      {"computed again with another seed", AgainWithAnotherSeed},
      {"one value computed again taken for another", AgainMixedUp},
  };
}

}  // namespace cleave::tests::properties
