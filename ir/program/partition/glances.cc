#include "ir/program/partition/glances.h"

#include <optional>
#include <utility>
#include <vector>

#include "base/check/check.h"
#include "ir/program/partition/repeats.h"
#include "ir/sharding/micro_batches/micro_batches.h"

namespace cleave::ir {
namespace {

// A form of an op's value, and the step that writes it.
struct Form {
  ValueId value;
  size_t writer = 0;
};

// The layout as the plan knows it.
Layout AtOneMoment(const Program& program, const Layout& layout) {
  return program.time.has_value() ? WithoutTime(layout, *program.time) : layout;
}

// Whether only all micro-batches together have the value.
bool IsPartOverTime(const Program& program, const Layout& layout) {
  return program.time.has_value() && !layout.partial.empty() && layout.partial.back().axis == *program.time;
}

// Lower is better.
int Merit(const Program& program, const Form& form, const std::optional<Layout>& demanded) {
  const Layout& layout = program.value(form.value).layout;
  const bool is_demanded = demanded.has_value() && AtOneMoment(program, layout) == *demanded;
  if (IsPartOverTime(program, layout)) return is_demanded ? 3 : 4;
  if (is_demanded) return 0;
  return layout.is_partial() ? 2 : 1;
}

// The form that is looked at: of equally good ones the first.
Form FormOf(const Program& program, const Op& op, const std::optional<Layout>& demanded) {
  std::optional<Form> best;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const Phase phase = program.steps[i].phase;
    if (op.phase == Phase::kForward && phase != Phase::kForward) continue;
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
    const Step& writer = program.steps[form.writer];
    behind[form.writer].push_back(
        {.action = Glance{.kind = look.kind, .input = form.value, .number = static_cast<int>(i)},
         .name = look.name,
         .phase = writer.phase,
         .line = look.line,
         .repeat = RepeatOfResult(program, writer, writer.repeat)});
  }
  std::vector<Step> steps;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    steps.push_back(std::move(program.steps[i]));
    for (Step& step : behind[i]) steps.push_back(std::move(step));
  }
  program.steps = std::move(steps);
  OrderByRepeat(program);
}

}  // namespace cleave::ir
