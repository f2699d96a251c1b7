// Reading guide: MachinesOfStage divides the devices. StagePlans::Search plans the whole model for the ranks of one
// stage, TimesOf divides the time of each kernel and collective of its program among forward ops, and CrossingOf finds
// what is sent across each cut point.
#include "search/knobs/stage_plans.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "base/status/status_macros.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/fuse/fuse.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/stages/stages.h"
#include "search/knobs/memory/measured.h"
#include "search/knobs/memory/memory.h"
#include "search/knobs/without_stages.h"
#include "search/price/cost/predict.h"
#include "search/price/cost/time.h"

namespace cleave::search {
namespace {

std::vector<ir::OpId> ForwardOps(const ir::Graph& graph) {
  std::vector<ir::OpId> forward;
  for (const ir::Op& op : graph.ops) {
    const bool is_source = ir::DefinitionOf(op.kind).op_class == ir::OpClass::kSource;
    if (op.phase == ir::Phase::kForward && !is_source) forward.push_back(op.id);
  }
  return forward;
}

// Whether `plan` has equal strategies and retentions for layers that `few` leaves out and those that stand for them.
bool AreAlike(const SearchedGraph& few, const ir::Plan& plan) {
  const ir::Plan other = few.Lengthened(few.Searched(plan));
  for (size_t i = 0; i < plan.ops.size(); ++i) {
    const ir::OpId op(static_cast<int64_t>(i));
    const ir::OpPlan &a = plan.ops[op], &b = other.ops[op];
    if (a.strategy != b.strategy || a.retention != b.retention) return false;
  }
  return true;
}

}  // namespace

std::optional<StageMachines> MachinesOfStage(const Cluster& cluster, int64_t stages) {
  StageMachines machines{.cluster = cluster,
                         .axis = {.name = std::string(ir::kStageAxis), .size = stages, .link = "", .weight = 1}};
  int64_t rest = stages;
  for (Link& link : machines.cluster.links) {
    if (rest == 1) break;
    if (link.count == 1) continue;
    if (machines.axis.link.empty()) machines.axis.link = link.name;
    if (rest % link.count == 0) {
      rest /= link.count;
      link.count = 1;
    } else if (link.count % rest == 0) {
      link.count /= rest;
      rest = 1;
    } else {
      return std::nullopt;
    }
  }
  if (rest > 1) return std::nullopt;
  return machines;
}

StagePlans::StagePlans(const PipelineTask& task, int64_t stages, StageMachines machines)
    : task_(task),
      stages_(stages),
      machines_(std::move(machines)),
      few_(SearchedGraph::WithFewLayers(task.graph, task.options.tuning.searched_layers)),
      forward_(ForwardOps(task.graph)) {}

const StagePlans::Planned& StagePlans::Of(int64_t micro_batches, std::optional<double> memory) {
  std::shared_future<Planned> planned;
  {
    const std::lock_guard lock(mutex_);
    const auto [place, is_new] = plans_.try_emplace({micro_batches, memory});
    if (is_new) {
      const auto search = [=, this] { return Search(micro_batches, memory); };
      place->second = std::async(std::launch::deferred, search);
    }
    planned = place->second;
  }
  return planned.get();  // The first caller searches, others wait.
}

StagePlans::Planned StagePlans::Search(int64_t micro_batches, std::optional<double> memory) const {
  constexpr double kMostMemory = 1e18;  // Bytes: more than any cluster has.
  ir::Pins pins = task_.pins;
  pins.settings.stages = 1;
  pins.stages.clear();
  pins.settings.devices = std::nullopt;
  Cluster cluster = machines_.cluster;
  if (memory.has_value()) {
    const std::optional<MemoryLimit> limit = MemoryLimitOf(task_.pins.settings, task_.cluster);
    pins.settings.memory =
        ir::Placed<int64_t>{.value = static_cast<int64_t>(std::min(*memory, kMostMemory)), .span = limit->span};
  } else {
    pins.settings.memory = std::nullopt;
    cluster.memory_per_device = Bytes(0);
  }
  SearchOptions options = task_.options;
  options.micro_batches = micro_batches;
  options.choose_micro_batches = false;
  options.faster_than = std::nullopt;  // A step of all stages.
  Planned planned;
  std::optional<Found> found = SearchWithoutStages(task_.graph, cluster, pins, options, planned.diagnostics);
  if (!found.has_value()) return planned;
  ir::Plan plan = std::move(found->plan);
  // An order for least memory would be one of the whole model.
  plan.moves_steps = false;
  for (ir::OpPlan& op : plan.ops) {
    if (op.retention == ir::Retention::kOffload) op.retention = ir::Retention::kKeep;
  }
  absl::StatusOr<StagePlan> made = PlanIn(AreAlike(few_, plan) ? few_ : SearchedGraph(task_.graph), plan);
  if (made.ok()) {
    planned.plan = *std::move(made);
  } else {
    planned.diagnostics.Add(NoProgram(task_.pins, plan, made.status()));
  }
  return planned;
}

CutTask StagePlans::InAllLayers(const StagePlan& plan) const {
  if (few_.is_whole()) return plan.ops;
  return PlanIn(task_.graph, plan.plan).value().ops;
}

absl::StatusOr<StagePlan> StagePlans::PlanIn(const SearchedGraph& model, ir::Plan plan) const {
  CLEAVE_ASSIGN_OR_RETURN(const ir::LoweredProgram program,
                          ProgramOf(model.graph(), model.Searched(plan), machines_.cluster, task_.options.execution));
  const CutTask times = TimesOf(model.graph(), plan, program);
  const std::vector<ir::OpId> own = ForwardOps(model.graph());
  std::map<ir::OpId, size_t> place;
  for (size_t i = 0; i < own.size(); ++i) place[own[i]] = i;
  const IdVector<ir::OpId, ir::OpId> stand_ins = model.StandIns();
  CutTask task;
  for (const ir::OpId op : forward_) {
    const size_t at = place.at(stand_ins[op]);
    task.seconds.push_back(times.seconds[at]);
    task.backward.push_back(times.backward[at]);
    task.once.push_back(times.once[at]);
  }
  task.places = CrossingOf(plan);
  const double more = static_cast<double>(forward_.size()) / static_cast<double>(own.size());
  const Bytes peak(static_cast<int64_t>(more * static_cast<double>(PeakOf(program).value())));
  return StagePlan{.plan = std::move(plan), .ops = std::move(task), .peak = peak};
}

CutTask StagePlans::TimesOf(const ir::Graph& model, const ir::Plan& plan, const ir::LoweredProgram& lowered) const {
  const std::vector<ir::OpId> forward = ForwardOps(model);
  const ir::Program& program = lowered.program;
  const ir::Fusion& fusion = lowered.memory.fusion;
  const std::vector<Seconds> times = StageTimes(program, fusion, machines_.cluster);
  // Overlap is taken to be equal in all passes.
  const double share = Predict(program, fusion, machines_.cluster, task_.options.execution.overlaps).ShareOfStages();
  // By op, the forward op with which it would be in a stage.
  const IdVector<ir::OpId, int> place = ir::StagesOf(model, {forward.begin() + 1, forward.end()});
  CutTask task{.seconds = std::vector<double>(forward.size(), 0.0),
               .backward = std::vector<double>(forward.size(), 0.0),
               .once = std::vector<double>(forward.size(), 0.0),
               .places = {}};
  for (size_t i = 0; i < fusion.stages.size(); ++i) {
    const ir::FusedStage& stage = fusion.stages[i];
    if (stage.phase == ir::Phase::kMetric) continue;
    const bool is_once = !ir::IsForEach(stage.repeat) || stage.phase == ir::Phase::kUpdate;
    const auto runs = static_cast<double>(is_once ? 1 : plan.micro_batches);
    std::vector<double>& of_op = is_once ? task.once : task.seconds;
    // The time of a message for several gradients is divided among them by bytes.
    std::vector<std::pair<size_t, double>> parts;
    double written = 0;
    for (const int step : ir::StepsOf(stage)) {
      for (const ir::ValueId value : ir::Writes(program.steps[static_cast<size_t>(step)])) {
        const int at = place[lowered.distributed.originals[program.value(value).origin]];
        const auto bytes = static_cast<double>(ir::LargestLocalBytes(program, value).value());
        parts.emplace_back(at, bytes);
        written += bytes;
      }
    }
    if (written == 0) continue;
    for (const auto& [at, bytes] : parts) {
      const double seconds = times[i].value() / runs * share * bytes / written;
      of_op[at] += seconds;
      if (!is_once && stage.phase == ir::Phase::kBackward) task.backward[at] += seconds;
    }
  }
  return task;
}

// For each cut point the time to send what is made before and read behind it, and its gradients back.
std::vector<CutPlace> StagePlans::CrossingOf(const ir::Plan& plan) const {
  std::map<ir::OpId, int64_t> place, last;
  for (size_t i = 0; i < forward_.size(); ++i) place[forward_[i]] = static_cast<int64_t>(i);
  for (const ir::OpId reader : forward_) {
    for (const ir::OpId input : task_.graph.op(reader).inputs) last[input] = std::max(last[input], place[reader]);
  }
  std::vector<double> change(forward_.size() + 1, 0.0);
  for (const ir::OpId op : forward_) {
    if (last.count(op) == 0 || last[op] <= place[op]) continue;
    const double seconds = SendSeconds(plan, op);
    change[static_cast<size_t>(place[op]) + 1] += seconds;
    change[static_cast<size_t>(last[op]) + 1] -= seconds;
  }
  std::vector<CutPlace> crossing;
  double seconds = 0;
  for (size_t i = 1; i < forward_.size(); ++i) {
    seconds += change[i];
    crossing.push_back({.op = static_cast<int64_t>(i), .seconds = std::max(0.0, seconds)});
  }
  return crossing;
}

double StagePlans::SendSeconds(const ir::Plan& plan, ir::OpId id) const {
  const ir::Op& op = task_.graph.op(id);
  const ir::Layout layout = ir::OutputLayout(plan.ops[id].strategy, ir::RuleOf(task_.graph, op));
  const Bytes bytes = ir::LargestLocalBytes(layout, plan.mesh, op.type);
  const auto mesh = ir::Mesh::Create({machines_.axis});
  const Seconds seconds = CollectiveSeconds(task_.cluster, *mesh, ir::CollectiveKind::kSendReceive, {ir::AxisId(0)},
                                            Bytes(bytes.value() / plan.micro_batches));
  return kThereAndBack * seconds.value();
}

Diagnostic NoProgram(const ir::Pins& pins, const ir::Plan& plan, const absl::Status& status) {
  CLEAVE_CHECK(absl::IsInvalidArgument(status)) << status;
  return Error(Code::kE0315, absl::StrCat("the batch cannot be taken in ", plan.micro_batches,
                                          " micro-batches by the ranks of a stage"))
      .At(pins.settings.micro_batches_span, "asked for here")
      .Note(std::string(status.message()))
      .Help("another number of micro-batches, or `auto`");
}

}  // namespace cleave::search
