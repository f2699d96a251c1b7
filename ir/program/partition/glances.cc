#include "ir/program/partition/glances.h"

#include <optional>
#include <utility>
#include <vector>

#include "base/check/check.h"

namespace cleave::ir {
namespace {

// A form of an op's value, and the step that writes it.
struct Form {
  ValueId value;
  size_t writer = 0;
};

// Lower is better.
int Merit(const Program& program, const Form& form, const std::optional<Layout>& demanded) {
  const Layout& layout = program.value(form.value).layout;
  if (demanded.has_value() && layout == *demanded) return 0;
  return layout.is_partial() ? 2 : 1;
}

// The form that is looked at: of equally good ones the first.
Form FormOf(const Program& program, const Op& op, const std::optional<Layout>& demanded) {
  std::optional<Form> best;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const Phase phase = program.steps[i].phase;
    if (op.phase == Phase::kForward && phase != Phase::kForward) break;
    // Metric steps run now and then.
    if (phase == Phase::kMetric && op.phase != Phase::kMetric) continue;
    for (const ValueId value : Writes(program.steps[i])) {
      if (program.value(value).origin != op.id || !program.value(value).layout.windows.empty()) continue;
      // In a manual model a collective has tensors of other shapes for the same op; they are not its value.
      if (program.value(value).type != op.type) continue;
      const Form form = {value, i};
      if (!best.has_value() || Merit(program, form, demanded) < Merit(program, *best, demanded)) best = form;
    }
  }
  CLEAVE_CHECK(best.has_value()) << "nothing makes `" << op.name << "`";
  return *best;
}

}  // namespace

void AddGlances(const Graph& graph, const Plan& plan, Program& program) {
  if (graph.looks.empty()) return;
  std::vector<std::vector<Step>> behind(program.steps.size());
  for (size_t i = 0; i < graph.looks.size(); ++i) {
    const Look& look = graph.looks[i];
    const Form form = FormOf(program, graph.op(look.value), plan.ops[look.value].output);
    behind[form.writer].push_back(
        {.action = Glance{.kind = look.kind, .input = form.value, .number = static_cast<int>(i)},
         .name = look.name,
         .phase = program.steps[form.writer].phase,
         .line = look.line});
  }
  std::vector<Step> steps;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    steps.push_back(std::move(program.steps[i]));
    for (Step& step : behind[i]) steps.push_back(std::move(step));
  }
  program.steps = std::move(steps);
}

}  // namespace cleave::ir
