// Reading guide: CostsOf computes the time of each fused step alone, and CostsOfStep schedules them on Clocks. `stage`
// in names of this file is a fused step (ir::FusedStage).
#include "search/price/cost/predict.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "base/check/check.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/fuse/host_copies.h"
#include "ir/program/packing.h"
#include "search/price/cost/time.h"

namespace cleave::search {
namespace {

// By value, the largest local type of any rank.
using LocalTypes = IdVector<ir::ValueId, ir::TensorType>;

LocalTypes LocalTypesOf(const ir::Program& program) {
  LocalTypes types(program.values.size());
  for (size_t i = 0; i < program.values.size(); ++i) {
    const ir::ValueId value(static_cast<int64_t>(i));
    types[value] = {.dtype = program.value(value).type.dtype, .shape = ir::LargestLocalShape(program, value)};
  }
  return types;
}

// The bytes of all values that a training step reads or writes, each once.
Bytes BytesOfStep(const ir::Program& program, const ir::Fusion& fusion, const LocalTypes& local) {
  Bytes bytes;
  for (const ir::Step& step : program.steps) {
    if (step.phase == ir::Phase::kMetric || fusion.DoesNothing(step)) continue;
    for (ir::ValueId value : ir::Writes(step)) {
      if (!fusion.inside.contains(value)) bytes += local[value].bytes();
    }
  }
  return bytes;
}

// A program on a cluster, with the memory bandwidth for its step (SeenByStep).
struct Run {
  const ir::Program& program;
  const ir::Fusion& fusion;
  LocalTypes local;
  Cluster cluster;
};

Run RunOn(const Cluster& machine, const ir::Program& program, const ir::Fusion& fusion) {
  LocalTypes local = LocalTypesOf(program);
  Cluster cluster = SeenByStep(machine, BytesOfStep(program, fusion, local));
  return {.program = program, .fusion = fusion, .local = std::move(local), .cluster = std::move(cluster)};
}

// Adds up what the steps of a kernel compute, read and write; reused for one kernel after another.
class Kernel {
 public:
  explicit Kernel(const Run& run) : run_(run) {}

  // The cost of a kernel.
  StageCost CostOf(const ir::FusedStage& stage, absl::Span<const int> steps) {
    if (steps.size() == 1 && run_.fusion.DoesNothing(run_.program.steps[static_cast<size_t>(steps[0])])) return {};
    arithmetic_ = Seconds(0);
    flops_ = Flops(0);
    touched_.clear();
    most_ = MostOfSum(stage);
    for (int step : steps) Add(run_.program.steps[static_cast<size_t>(step)]);
    Bytes bytes;
    for (const auto& [value, own] : touched_) bytes += own;
    const Seconds seconds = KernelSeconds(run_.cluster, arithmetic_, bytes);
    return {.seconds = seconds, .flops = flops_, .bytes = bytes, .limit = LimitOf(seconds)};
  }

 private:
  // What is read, and what is written, of a sum to which rows are added by their numbers.
  std::optional<Bytes> MostOfSum(const ir::FusedStage& stage) const {
    const auto* const added = std::get_if<ir::AccumulatedProduct>(&stage.action);
    if (added == nullptr) return std::nullopt;
    const ir::Compute& rows = *ir::ComputeOf(run_.program.steps[static_cast<size_t>(added->product)]);
    const bool adds_rows = ir::DefinitionOf(rows.kind).op_class != ir::OpClass::kProduct;
    const bool is_add = ir::ComputeOf(run_.program.steps[static_cast<size_t>(added->sum)]) != nullptr;
    if (!adds_rows || !is_add) return std::nullopt;
    return ir::TensorType{ir::DType::kF32, run_.local[rows.inputs[0]].shape}.bytes();
  }

  // Which of the times in KernelSeconds is the longest.
  Limit LimitOf(Seconds seconds) const {
    if (seconds == arithmetic_) return Limit::kArithmetic;
    return seconds == run_.cluster.kernel_floor ? Limit::kLaunch : Limit::kMemory;
  }

  void Add(const ir::Step& step) {
    if (const ir::Compute* compute = ir::ComputeOf(step); compute != nullptr) return AddCompute(*compute);
    // A sum over micro-batches is bound by memory.
    for (const ir::ValueId value : ir::Reads(step)) Touch(value, run_.local[value].bytes());
    for (const ir::ValueId value : ir::Writes(step)) Touch(value, run_.local[value].bytes());
  }

  void AddCompute(const ir::Compute& compute) {
    const ir::OpDefinition& definition = ir::DefinitionOf(compute.kind);
    inputs_.resize(compute.inputs.size());
    for (size_t i = 0; i < inputs_.size(); ++i) inputs_[i] = run_.local[compute.inputs[i]];
    const ir::TensorType& output = run_.local[compute.output];
    arithmetic_ += ArithmeticSeconds(run_.cluster, definition, inputs_, output, compute.attributes);
    flops_ += definition.flops(inputs_, output, compute.attributes);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      Touch(compute.inputs[i], ir::BytesTouched(definition, inputs_, output, static_cast<int>(i)));
    }
    Touch(compute.output, ir::BytesTouched(definition, inputs_, output, -1));
  }

  // Each value is read or written once. What has no memory is neither read nor written.
  void Touch(ir::ValueId value, Bytes bytes) {
    if (run_.fusion.inside.contains(value)) return;
    if (most_.has_value()) bytes = std::min(bytes, *most_);
    const auto own = std::find_if(touched_.begin(), touched_.end(), [&](const auto& t) { return t.first == value; });
    if (own == touched_.end()) {
      touched_.emplace_back(value, bytes);
    } else {
      own->second = std::max(own->second, bytes);
    }
  }

  const Run& run_;
  Seconds arithmetic_{0};
  Flops flops_{0};
  std::optional<Bytes> most_;  // Of one value.
  std::vector<std::pair<ir::ValueId, Bytes>> touched_;
  std::vector<ir::TensorType> inputs_;  // Of a step; kept to avoid allocations.
};

// Of the kernels that pack what a collective cannot take as it lies, before it and behind it. On a CPU copies are part
// of what links take.
StageCost CostOfPacking(const Run& run, const ir::Collective& collective) {
  if (run.fusion.piece_counts != ir::PieceCounts::kEqual) return {};
  const ir::Packing packing = ir::PackingOf(run.program, collective, run.fusion.piece_counts);
  if (packing.tensors == 0) return {};
  const auto copy = [&](Bytes bytes) { return KernelSeconds(run.cluster, Seconds(0), bytes * 2); };
  return {.seconds = copy(packing.message) + copy(packing.part), .bytes = (packing.message + packing.part) * 2};
}

// The cost of one run of a fused step, which has these steps.
StageCost CostOf(const Run& run, const ir::FusedStage& stage, absl::Span<const int> steps, Kernel& kernel) {
  const ir::Program& program = run.program;
  const Cluster& cluster = run.cluster;
  const ir::Step& first = program.steps[static_cast<size_t>(steps.front())];
  if (const ir::Collective* collective = ir::CommunicationOf(program, first); collective != nullptr) {
    const StageCost packing = CostOfPacking(run, *collective);
    return {.seconds = packing.seconds + CollectiveSeconds(cluster, program.mesh, collective->kind, collective->axes,
                                                           ir::CollectiveBytes(program, *collective)),
            .bytes = packing.bytes,
            .sent = ir::SentBytes(program, *collective),
            .limit = Limit::kLink};
  }
  if (const auto* copy = std::get_if<ir::HostCopy>(&first.action); copy != nullptr) {
    const Bytes bytes = run.local[copy->input].bytes();
    const double rate = cluster.host_bytes_per_second;
    return {.seconds = rate > 0 ? Seconds(static_cast<double>(bytes.value()) / rate) : Seconds(0),
            .bytes = bytes,
            .limit = Limit::kHost};
  }
  const bool is_kernel = std::holds_alternative<ir::Collective>(first.action) || ir::ComputeOf(first) != nullptr;
  return is_kernel ? kernel.CostOf(stage, steps) : StageCost();
}

std::vector<StageCost> CostsOf(const Run& run) {
  Kernel kernel(run);
  std::vector<StageCost> costs;
  for (const ir::FusedStage& stage : run.fusion.stages) {
    const ir::StageSteps steps = ir::StepsOf(stage);
    costs.push_back(CostOf(run, stage, steps, kernel));
    costs.back().runs = ir::RunsOf(run.program, run.program.steps[static_cast<size_t>(steps.front())]);
  }
  return costs;
}

std::vector<InputCost> InputsOf(const Run& run) {
  std::vector<InputCost> inputs;
  for (size_t i = 0; i < run.program.steps.size(); ++i) {
    const ir::Compute* const compute = ir::ComputeOf(run.program.steps[i]);
    if (compute == nullptr || compute->kind != ir::OpKind::kInput) continue;
    const ir::InputReading reading = ir::ReadingOf(compute->attributes);
    if (reading == ir::InputReading::kOnce) continue;
    const Bytes bytes = run.local[compute->output].bytes();
    inputs.push_back({.step = static_cast<int>(i),
                      .cost = {.runs = reading == ir::InputReading::kSamples ? ir::MicroBatches(run.program) : 1,
                               .seconds = InputSeconds(run.cluster, bytes),
                               .bytes = bytes,
                               .limit = Limit::kInput}});
  }
  return inputs;
}

// The times at which a rank's queues are free: of kernels, of collectives, and of copies to the host and back.
class Clocks {
 public:
  Clocks(const ir::Program& program, bool overlaps) : ready_(program.values.size(), 0.0), overlaps_(overlaps) {}

  // A phase begins when the collectives of the one before are finished, and the update when all are. Those of the
  // update are started in the backward pass, as soon as they can be.
  void Enter(ir::Phase phase) {
    waits_ = true;
    is_update_ = phase == ir::Phase::kUpdate;
    if (!is_update_) Wait();
  }

  // Nothing is under way before the first micro-batch and after the last one.
  void Join() { kernels_ = collectives_ = copies_ = now().value(); }

  // Returns when it begins.
  Seconds Kernel(const ir::Program& program, absl::Span<const int> steps, Seconds seconds) {
    if (waits_) Wait();
    for (int step : steps) kernels_ = std::max(kernels_, Ready(program.steps[static_cast<size_t>(step)]));
    const double begin = kernels_;
    kernels_ += seconds.value();
    for (int step : steps) Write(program.steps[static_cast<size_t>(step)], kernels_);
    return Seconds(begin);
  }

  // Nothing is done, and nothing waits: what the step writes is there when what it reads is. Returns when.
  Seconds Pass(const ir::Step& step) {
    const double ready = Ready(step);
    Write(step, ready);
    return Seconds(ready);
  }

  // Returns when it begins. `is_result`: only the host reads what it gives, before the update.
  Seconds Collective(const ir::Step& step, Seconds seconds, bool is_result) {
    const double start = std::max(overlaps_ ? Ready(step) : kernels_, collectives_);
    collectives_ = start + seconds.value();
    if (!is_result) awaited_ = collectives_;
    if (!overlaps_) kernels_ = collectives_;
    Write(step, collectives_);
    return Seconds(start);
  }

  // Returns when it is done.
  double Copy(const ir::Step& step, Seconds seconds) {
    copies_ = std::max({kernels_, copies_, Ready(step)}) + seconds.value();
    if (!overlaps_) kernels_ = copies_;
    Write(step, copies_);
    return copies_;
  }

  // No kernel begins before `time`.
  void WaitUntil(double time) { kernels_ = std::max(kernels_, time); }

  Seconds now() const { return Seconds(std::max({kernels_, collectives_, copies_})); }

 private:
  void Wait() {
    kernels_ = is_update_ ? now().value() : std::max({kernels_, awaited_, copies_});
    waits_ = false;
  }
  double Ready(const ir::Step& step) const {
    double ready = 0;
    for (ir::ValueId value : ir::Reads(step)) ready = std::max(ready, ready_[value]);
    return ready;
  }
  void Write(const ir::Step& step, double time) {
    for (ir::ValueId value : ir::Writes(step)) ready_[value] = time;
  }

  IdVector<ir::ValueId, double> ready_;  // When the value is there.
  double kernels_ = 0, collectives_ = 0, copies_ = 0;
  double awaited_ = 0;  // The last collective for which a phase waits.
  bool waits_ = false;
  bool is_update_ = false;
  bool overlaps_;
};

// The loss, where only the host reads it, and nothing waits for it in between: codegen/program/overlap.h.
std::optional<ir::ValueId> ResultOf(const ir::Program& program) {
  if (!program.loss.has_value() || program.time.has_value() || program.pipeline.has_value()) return std::nullopt;
  for (const ir::Step& step : program.steps) {
    for (const ir::ValueId value : ir::Reads(step)) {
      if (value == *program.loss) return std::nullopt;
    }
  }
  return program.loss;
}

// The copies of a program, by the fused steps at which they start and are awaited.
class CopyTimes {
 public:
  CopyTimes(const ir::Program& program, const ir::Fusion& fusion, const std::vector<StageCost>& costs)
      : program_(program), fusion_(fusion), costs_(costs) {
    for (const ir::CopyHold& hold : ir::HoldsOfCopies(program, fusion)) {
      if (hold.direction == ir::HostCopy::Direction::kOut) {
        started_at_[hold.first].push_back(hold.first);
        awaited_after_[hold.last].push_back(hold.first);
      } else {
        started_at_[hold.first].push_back(hold.last);
      }
    }
  }

  // Sets when the copies begin that start here. REQUIRES: called for the fused steps in order.
  void Begin(int stage, Clocks& clocks, std::vector<Seconds>& begins) {
    const auto started = started_at_.find(stage);
    if (started == started_at_.end()) return;
    for (const int copy : started->second) {
      const int step = ir::StepsOf(fusion_.stages[static_cast<size_t>(copy)]).front();
      const Seconds seconds = costs_[static_cast<size_t>(copy)].AllSeconds();
      done_[copy] = clocks.Copy(program_.steps[static_cast<size_t>(step)], seconds);
      begins[static_cast<size_t>(copy)] = Seconds(done_[copy]) - seconds;
    }
  }
  void End(int stage, Clocks& clocks) const {
    const auto awaited = awaited_after_.find(stage);
    if (awaited == awaited_after_.end()) return;
    for (const int copy : awaited->second) clocks.WaitUntil(done_.at(copy));
  }

 private:
  const ir::Program& program_;
  const ir::Fusion& fusion_;
  const std::vector<StageCost>& costs_;
  std::map<int, std::vector<int>> started_at_, awaited_after_;  // Indexes into Fusion::stages.
  std::map<int, double> done_;
};

}  // namespace

absl::string_view LimitName(Limit limit) {
  switch (limit) {
    case Limit::kNone:
      return "none";
    case Limit::kArithmetic:
      return "arithmetic";
    case Limit::kMemory:
      return "memory";
    case Limit::kLaunch:
      return "launch";
    case Limit::kLink:
      return "link";
    case Limit::kHost:
      return "host";
    case Limit::kInput:
      return "input";
  }
  CLEAVE_UNREACHABLE();
}

StepCosts CostsOfStep(const ir::Program& program, const ir::Fusion& fusion, const Cluster& machine, bool overlaps) {
  const Run run = RunOn(machine, program, fusion);
  StepCosts costs{.stages = CostsOf(run),
                  .begins = std::vector<Seconds>(fusion.stages.size(), Seconds(0)),
                  .inputs = InputsOf(run),
                  .sum = {}};
  Prediction& sum = costs.sum;
  for (const InputCost& input : costs.inputs) sum.compute += input.cost.AllSeconds();
  Clocks clocks(program, overlaps);
  clocks.Kernel(program, {}, sum.compute);
  const std::optional<ir::ValueId> result = ResultOf(program);
  CopyTimes copies(program, fusion, costs.stages);
  ir::Phase phase = ir::Phase::kForward;
  ir::Repeat repeat = fusion.stages.empty() ? ir::Repeat::kEach : fusion.stages.front().repeat;
  for (size_t i = 0; i < fusion.stages.size(); ++i) {
    const ir::FusedStage& stage = fusion.stages[i];
    if (stage.phase == ir::Phase::kMetric) continue;
    if (std::exchange(repeat, stage.repeat) != stage.repeat) clocks.Join();
    if (std::exchange(phase, stage.phase) != stage.phase) clocks.Enter(phase);
    const ir::StageSteps steps = ir::StepsOf(stage);
    const ir::Step& first = program.steps[static_cast<size_t>(steps.front())];
    const StageCost& cost = costs.stages[i];
    const Seconds seconds = cost.AllSeconds();
    copies.Begin(static_cast<int>(i), clocks, costs.begins);
    if (std::holds_alternative<ir::HostCopy>(first.action)) sum.host_copies += seconds;
    if (ir::CommunicationOf(program, first) != nullptr) {
      sum.communication += seconds;
      sum.sent_bytes_per_rank += cost.sent * static_cast<double>(cost.runs);
      const bool is_result = result.has_value() && ir::Writes(first).front() == *result;
      costs.begins[i] = clocks.Collective(first, seconds, is_result);
    } else if (fusion.DoesNothing(first)) {
      costs.begins[i] = clocks.Pass(first);
    } else if (std::holds_alternative<ir::Collective>(first.action) || ir::ComputeOf(first) != nullptr) {
      sum.compute += seconds;
      costs.begins[i] = clocks.Kernel(program, steps, seconds);
    }
    copies.End(static_cast<int>(i), clocks);
  }
  const Seconds alone = sum.compute + sum.communication;
  sum.step = clocks.now() + OverlapLoss(run.cluster, Seconds(std::max(0.0, alone.value() - clocks.now().value())));
  return costs;
}

Prediction Predict(const ir::Program& program, const Cluster& cluster, const Execution& execution) {
  return Predict(program, ir::Fuse(program, execution.fuse), cluster, execution.overlaps);
}

Prediction Predict(const ir::Program& program, const ir::Fusion& fusion, const Cluster& cluster, bool overlaps) {
  return CostsOfStep(program, fusion, cluster, overlaps).sum;
}

std::vector<Seconds> StageTimes(const ir::Program& program, const ir::Fusion& fusion, const Cluster& cluster) {
  std::vector<Seconds> times;
  for (const StageCost& cost : CostsOf(RunOn(cluster, program, fusion))) times.push_back(cost.AllSeconds());
  return times;
}

}  // namespace cleave::search
