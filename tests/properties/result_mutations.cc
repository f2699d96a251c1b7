#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "tests/properties/mutations.h"

namespace cleave::tests::properties {
namespace {

// Mutations of results do not belong to a step: each is applied once per place, and `at` is the number of the place.
bool IsPlace(size_t at, size_t count) { return at < count; }

ir::Value* WrittenAt(ir::Program& program, size_t at) {
  const ir::StepValues written = ir::Writes(program.steps[at]);
  return written.empty() ? nullptr : &program.values[written.front()];
}

bool LayoutNotCut(ir::Program& program, size_t at) {
  ir::Value* value = WrittenAt(program, at);
  if (value == nullptr) return false;
  const ir::Layout before = value->layout;
  for (ir::AxisList& axes : value->layout.dimensions) axes.clear();
  return !(value->layout == before);
}

bool LayoutRotated(ir::Program& program, size_t at) {
  ir::Value* value = WrittenAt(program, at);
  if (value == nullptr || value->layout.dimensions.size() < 2) return false;
  const ir::Layout before = value->layout;
  std::rotate(value->layout.dimensions.begin(), value->layout.dimensions.begin() + 1, value->layout.dimensions.end());
  return !(value->layout == before);
}

bool PartialForgotten(ir::Program& program, size_t at) {
  ir::Value* value = WrittenAt(program, at);
  if (value == nullptr || !value->layout.is_partial()) return false;
  value->layout.partial.pop_back();
  return true;
}

bool PartialInvented(ir::Program& program, size_t at) {
  ir::Value* value = WrittenAt(program, at);
  if (value == nullptr || value->layout.is_partial() || program.mesh.axis_count() == 0) return false;
  for (ir::AxisId axis : program.mesh.AxisIds()) {
    const bool is_used = std::any_of(
        value->layout.dimensions.begin(), value->layout.dimensions.end(),
        [axis](const ir::AxisList& axes) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); });
    if (is_used) continue;
    value->layout.partial.push_back({.axis = axis});
    return true;
  }
  return false;
}

bool WindowsForgotten(ir::Program& program, size_t at) {
  ir::Value* value = WrittenAt(program, at);
  if (value == nullptr || value->layout.windows.empty()) return false;
  value->layout.windows.clear();
  return true;
}

// Changes the origin of a value to another tensor.
bool AnotherOrigin(ir::Program& program, size_t at) {
  ir::Value* value = WrittenAt(program, at);
  if (value == nullptr) return false;
  for (const ir::Value& other : program.values) {
    if (other.type != value->type || other.origin == value->origin) continue;
    value->origin = other.origin;
    return true;
  }
  return false;
}

bool AnotherType(ir::Program& program, size_t at) {
  ir::Value* value = WrittenAt(program, at);
  if (value == nullptr || value->type.shape.empty()) return false;
  ++value->type.shape.front();
  return true;
}

bool UpdateLost(ir::Program& program, size_t at) {
  if (!IsPlace(at, program.updates.size())) return false;
  program.updates.erase(program.updates.begin() + static_cast<ptrdiff_t>(at));
  return true;
}

bool UpdateRepeated(ir::Program& program, size_t at) {
  if (!IsPlace(at, program.updates.size())) return false;
  program.updates.push_back(program.updates[at]);
  return true;
}

bool UpdateTakesOldValue(ir::Program& program, size_t at) {
  if (!IsPlace(at, program.updates.size())) return false;
  program.updates[at].value = program.updates[at].state;
  return true;
}

// Exchanges the new values of two states of one type.
bool UpdatesExchanged(ir::Program& program, size_t at) {
  if (!IsPlace(at, program.updates.size())) return false;
  for (size_t other = at + 1; other < program.updates.size(); ++other) {
    ir::ProgramUpdate& a = program.updates[at];
    ir::ProgramUpdate& b = program.updates[other];
    if (program.value(a.state).type != program.value(b.state).type) continue;
    std::swap(a.value, b.value);
    return true;
  }
  return false;
}

// Updates one state twice and another one never.
bool UpdateOfAnotherState(ir::Program& program, size_t at) {
  if (!IsPlace(at, program.updates.size())) return false;
  for (size_t other = 0; other < program.updates.size(); ++other) {
    if (other == at) continue;
    program.updates[at] = program.updates[other];
    return true;
  }
  return false;
}

// The new value goes to a copy of the state, which the next step makes again from the old one.
bool UpdateOfACopy(ir::Program& program, size_t at) {
  for (ir::ProgramUpdate& update : program.updates) {
    const ir::StepValues written = ir::Writes(program.steps[at]);
    if (written.empty() || written.front() != update.state) continue;
    ir::Value value = program.value(update.state);
    value.name += ".copy";
    const ir::Step copy{.action = ir::Slice{update.state, program.values.push_back(value)},
                        .name = value.name,
                        .phase = program.steps[at].phase};
    update.state = std::get<ir::Slice>(copy.action).output;
    program.steps.insert(program.steps.begin() + static_cast<ptrdiff_t>(at) + 1, copy);
    return true;
  }
  return false;
}

bool LossLost(ir::Program& program, size_t at) {
  if (at != 0 || !program.loss.has_value()) return false;
  program.loss.reset();
  return true;
}

bool AnotherScalarAsLoss(ir::Program& program, size_t at) {
  if (!program.loss.has_value()) return false;
  const ir::StepValues written = ir::Writes(program.steps[at]);
  const ir::Value& loss = program.value(*program.loss);
  for (ir::ValueId value : written) {
    if (program.value(value).type != loss.type || program.value(value).origin == loss.origin) continue;
    program.loss = value;
    return true;
  }
  return false;
}

// Returns the loss or metric before it was reduced over the ranks.
bool LossNotReduced(ir::Program& program, size_t at) {
  if (!program.loss.has_value()) return false;
  const ir::Collective* collective = CollectiveAt(program, at);
  if (collective == nullptr) return false;
  for (const ir::Transfer& transfer : collective->transfers) {
    if (!(transfer.output == *program.loss)) continue;
    program.loss = transfer.input;
    return true;
  }
  return false;
}

bool MetricNotReduced(ir::Program& program, size_t at) {
  const ir::Collective* collective = CollectiveAt(program, at);
  if (collective == nullptr) return false;
  for (ir::ProgramMetric& metric : program.metrics) {
    if (!(metric.value == collective->transfers.front().output)) continue;
    metric.value = collective->transfers.front().input;
    return true;
  }
  return false;
}

bool MetricLost(ir::Program& program, size_t at) {
  if (!IsPlace(at, program.metrics.size())) return false;
  program.metrics.erase(program.metrics.begin() + static_cast<ptrdiff_t>(at));
  return true;
}

bool MetricIsTheLoss(ir::Program& program, size_t at) {
  if (!IsPlace(at, program.metrics.size()) || !program.loss.has_value()) return false;
  program.metrics[at].value = *program.loss;
  return true;
}

}  // namespace

std::vector<Mutation> ResultMutations() {
  return {
      {"a cut value said to be whole", LayoutNotCut},
      {"a value said to be cut elsewhere", LayoutRotated},
      {"a partial value said to be whole", PartialForgotten},
      {"a whole value said to be partial", PartialInvented},
      {"windows said to be pieces", WindowsForgotten},
      {"a value said to be another tensor", AnotherOrigin},
      {"a value said to have another shape", AnotherType},
      {"an update lost", UpdateLost},
      {"an update repeated", UpdateRepeated},
      {"an update with the old value", UpdateTakesOldValue},
      {"two updates exchanged", UpdatesExchanged},
      {"an update of another state", UpdateOfAnotherState},
      {"an update of a copy", UpdateOfACopy},
      {"the loss lost", LossLost},
      {"another scalar as the loss", AnotherScalarAsLoss},
      {"the loss not brought together", LossNotReduced},
      {"a metric not brought together", MetricNotReduced},
      {"a metric lost", MetricLost},
      {"the loss as a metric", MetricIsTheLoss},
  };
}

}  // namespace cleave::tests::properties
