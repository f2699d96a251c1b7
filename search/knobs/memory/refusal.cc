#include "search/knobs/memory/refusal.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "search/knobs/memory/measured.h"

namespace cleave::search {
namespace {

Bytes ParameterBytes(const ir::Graph& graph) {
  Bytes bytes;
  for (const ir::Op& op : graph.ops) {
    if (op.kind == ir::OpKind::kParameter) bytes += ir::ElementSize(op.type.dtype) * ir::ElementCount(op.type.shape);
  }
  return bytes;
}

// The tensors that take most of the peak.
std::vector<std::string> BindingTensors(const ir::MemoryUse& use) {
  constexpr size_t kNamed = 5;
  std::vector<std::string> notes;
  for (size_t i = 0; i < std::min(kNamed, use.at_peak.size()); ++i) {
    const ir::HeldTensor& tensor = use.at_peak[i];
    notes.push_back(absl::StrCat(tensor.line > 0 ? absl::StrCat("line ", tensor.line, ": ") : "", "`", tensor.name,
                                 "` takes ", FormatBytes(tensor.size), " (", ir::MemoryRoleName(tensor.role), ")"));
  }
  return notes;
}

// The memory that would be needed if optimizer state, gradients and parameters were divided, for the levels above that
// of `smallest`, if they were not tried. The plans are found and measured, not guessed: the highest level first, and
// lower ones, which mostly need more, as long as these fit.
std::vector<std::string> ShardingNotes(const FitTask& task, const SmallestPlan& smallest, Estimator& estimator) {
  std::vector<std::string> notes;
  for (int zero = 3; zero > smallest.zero && task.zero.has_value(); --zero) {
    std::optional<ir::Plan> plan = task.plan_for(smallest.weight, zero);
    if (!plan.has_value()) break;
    plan->micro_batches = smallest.plan.micro_batches;
    if (LeastMemory(task.model.graph(), *plan, task.model.Times()) >= smallest.peak()) continue;
    const std::optional<SmallestPlan> own = WithAllSavings(task, estimator, {.plan = *std::move(plan)});
    if (!own.has_value() || own->peak() >= smallest.peak()) continue;
    notes.push_back(absl::StrCat("`zero = ", zero, "` would need ", FormatBytes(own->peak())));
    if (own->peak() > task.limit.bytes) break;
  }
  std::reverse(notes.begin(), notes.end());
  return notes;
}

}  // namespace

std::optional<SmallestPlan> WithAllSavings(const FitTask& task, Estimator& estimator, SmallestPlan searched) {
  const ir::Graph& graph = task.model.whole();
  ir::Plan moved = WithAsked(searched.plan, task.savings.asked);
  moved.moves_steps = true;
  const bool is_free = task.savings.recomputes && task.savings.asked.empty();
  const auto thrifty = is_free ? estimator.Smallest(moved) : std::nullopt;
  if (task.savings.recomputes && !thrifty.has_value()) {
    auto own = Smallest(graph, task.cluster, task.execution, task.savings, task.tuning,
                        task.model.Lengthened(std::move(searched.plan)));
    if (!own.has_value()) return std::nullopt;
    searched.plan = std::move(own->first);
    searched.use = std::move(own->second.memory.use);
    return searched;
  }
  searched.plan =
      thrifty.has_value() ? estimator.WholeWith(moved, thrifty->again) : task.model.Lengthened(std::move(moved));
  absl::StatusOr<ir::LoweredProgram> made = ProgramOf(graph, searched.plan, task.cluster, task.execution);
  if (!made.ok()) return std::nullopt;
  searched.use = std::move(made->memory.use);
  return searched;
}

Diagnostic NothingFits(const FitTask& task, const SmallestPlan& smallest, Estimator& estimator) {
  const MemoryLimit& limit = task.limit;
  const int devices = smallest.plan.mesh.rank_count();
  const Bytes parameters = ParameterBytes(task.model.whole());
  const bool hopeless = parameters.value() / devices > limit.bytes.value();
  const std::string room = absl::StrCat(limit.source, ", ", FormatBytes(limit.bytes), " a device");
  Diagnostic error = Error(
      Code::kE0313,
      hopeless
          ? absl::StrCat("parameters of ", FormatBytes(parameters), " on ", Plural(devices, "device"), " exceed ", room)
          : absl::StrCat("no plan fits into ", room, ": the smallest one needs ", FormatBytes(smallest.peak())));
  std::move(error).At(limit.span, absl::StrCat(limit.bytes.value(), " bytes"));
  const ir::MemoryPrediction& memory = smallest.use.prediction;
  error.notes.push_back(absl::StrCat("the smallest plan needs ", memory.peak.value(), " bytes: parameters ",
                                     FormatBytes(memory.parameters), ", gradients ", FormatBytes(memory.gradients),
                                     ", optimizer state ", FormatBytes(memory.optimizer), ", activations ",
                                     FormatBytes(memory.activations),
                                     memory.cache > Bytes(0) ? absl::StrCat(", cache ", FormatBytes(memory.cache)) : "",
                                     ", buffers ", FormatBytes(memory.buffers),
                                     memory.checkpoint > Bytes(0) && memory.host == Bytes(0)
                                         ? absl::StrCat(", checkpoint ", FormatBytes(memory.checkpoint))
                                         : ""));
  for (std::string& note : BindingTensors(smallest.use)) error.notes.push_back(std::move(note));
  if (smallest.use.waiting > Bytes(0) && !task.savings.recomputes) {
    error.notes.push_back(
        absl::StrCat(FormatBytes(smallest.use.waiting),
                     " of the activations only wait for the backward pass: computing them again there would "
                     "save that much"));
  }
  for (std::string& note : ShardingNotes(task, smallest, estimator)) error.notes.push_back(std::move(note));
  const auto parts = task.savings.micro_batches ? std::nullopt : InMostMicroBatches(task.model.whole(), smallest.plan);
  if (parts.has_value()) {
    const absl::StatusOr<ir::LoweredProgram> made = ProgramOf(task.model.whole(), *parts, task.cluster, task.execution);
    if (made.ok() && PeakOf(*made) < smallest.peak()) {
      error.notes.push_back(
          absl::StrCat("`micro_batches = ", parts->micro_batches, "` would need ", FormatBytes(PeakOf(*made))));
    }
  }
  error.help.push_back("use more devices, a smaller batch, or a larger limit");
  if (task.cluster.host_bytes_per_second > 0) {
    error.help.push_back("values of calls with `#[offload]` wait in the host's memory for the backward pass");
  }
  return error;
}

}  // namespace cleave::search
