#include "search/cost/predict.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "ir/graph/ops/ops.h"
#include "search/cost/time.h"

namespace cleave::search {
namespace {

ir::TensorType LocalType(const ir::Program& program, ir::ValueId value) {
  return {.dtype = program.value(value).type.dtype, .shape = ir::LargestLocalShape(program, value)};
}

Seconds Arithmetic(const ir::Program& program, const ir::Compute& compute, const Cluster& cluster) {
  std::vector<ir::TensorType> inputs;
  for (ir::ValueId input : compute.inputs) inputs.push_back(LocalType(program, input));
  return ArithmeticSeconds(cluster, ir::DefinitionOf(compute.kind), inputs, LocalType(program, compute.output),
                           compute.attributes);
}

// The bytes that the steps read from other steps, each value once, and the bytes that they write for others. What has
// no memory is neither read nor written: the weights of attention, which its gradient makes again.
Bytes BytesTouched(const ir::Program& program, const ir::Fusion& fusion, const std::vector<int>& steps) {
  std::set<ir::ValueId> written, touched;
  for (int step : steps) {
    for (ir::ValueId value : ir::Reads(program.steps[static_cast<size_t>(step)])) {
      if (written.count(value) == 0 && fusion.inside.count(value) == 0) touched.insert(value);
    }
    for (ir::ValueId value : ir::Writes(program.steps[static_cast<size_t>(step)])) written.insert(value);
  }
  for (ir::ValueId value : written) {
    if (fusion.inside.count(value) == 0) touched.insert(value);
  }
  Bytes bytes;
  for (ir::ValueId value : touched) bytes += LocalType(program, value).bytes();
  return bytes;
}

// The time of a stage of computes.
Seconds KernelTime(const ir::Program& program, const ir::Fusion& fusion, const std::vector<int>& steps,
                   const Cluster& cluster) {
  if (steps.size() == 1 && ir::IsAlias(program.steps[static_cast<size_t>(steps[0])])) return Seconds(0);
  Seconds arithmetic{0};
  for (int step : steps) {
    // A sum over micro-batches takes as long as its memory.
    const ir::Compute* compute = ir::ComputeOf(program.steps[static_cast<size_t>(step)]);
    if (compute != nullptr) arithmetic += Arithmetic(program, *compute, cluster);
  }
  return KernelSeconds(cluster, arithmetic, BytesTouched(program, fusion, steps));
}

// What a step touches, each value once.
Bytes BytesOfStep(const ir::Program& program, const ir::Fusion& fusion) {
  Bytes bytes;
  for (const ir::Step& step : program.steps) {
    if (step.phase == ir::Phase::kMetric || ir::IsAlias(step)) continue;
    for (ir::ValueId value : ir::Writes(step)) {
      if (fusion.inside.count(value) == 0) bytes += LocalType(program, value).bytes();
    }
  }
  return bytes;
}

// The time of one run of a stage on a cluster as the step sees it.
Seconds StageTime(const ir::Program& program, const ir::Fusion& fusion, const std::vector<int>& steps,
                  const Cluster& cluster) {
  const ir::Step& first = program.steps[static_cast<size_t>(steps.front())];
  if (const ir::Collective* collective = ir::CommunicationOf(program, first); collective != nullptr) {
    return CollectiveSeconds(cluster, program.mesh, collective->kind, collective->axes,
                             ir::CollectiveBytes(program, *collective));
  }
  const bool is_kernel = std::holds_alternative<ir::Collective>(first.action) || ir::ComputeOf(first) != nullptr;
  return is_kernel ? KernelTime(program, fusion, steps, cluster) : Seconds(0);
}

// Two clocks: of the kernels and of the collectives of a rank.
class Clocks {
 public:
  Clocks(const ir::Program& program, bool overlaps) : ready_(program.values.size(), 0.0), overlaps_(overlaps) {}

  // A phase begins when the collectives of the one before are finished. Those of the update are started in the backward
  // pass, as soon as they can be.
  void Enter(ir::Phase phase) {
    waits_ = true;
    if (phase != ir::Phase::kUpdate) Wait();
  }

  // Nothing is under way before the first micro-batch and after the last one.
  void Join() { kernels_ = collectives_ = std::max(kernels_, collectives_); }

  void Kernel(const ir::Program& program, const std::vector<int>& steps, Seconds seconds) {
    if (waits_) Wait();
    for (int step : steps) kernels_ = std::max(kernels_, Ready(program.steps[static_cast<size_t>(step)]));
    kernels_ += seconds.value();
    for (int step : steps) Write(program.steps[static_cast<size_t>(step)], kernels_);
  }

  void Collective(const ir::Step& step, Seconds seconds) {
    const double start = std::max(overlaps_ ? Ready(step) : kernels_, collectives_);
    collectives_ = start + seconds.value();
    if (!overlaps_) kernels_ = collectives_;
    Write(step, collectives_);
  }

  Seconds now() const { return Seconds(std::max(kernels_, collectives_)); }

 private:
  void Wait() {
    kernels_ = std::max(kernels_, collectives_);
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
  double kernels_ = 0, collectives_ = 0;
  bool waits_ = false;
  bool overlaps_;
};

}  // namespace

Prediction Predict(const ir::Program& program, const Cluster& cluster, const Execution& execution) {
  return Predict(program, ir::Fuse(program, execution.fuse), cluster, execution.overlaps);
}

Prediction Predict(const ir::Program& program, const ir::Fusion& fusion, const Cluster& machine, bool overlaps) {
  Prediction prediction;
  const Cluster cluster = SeenByStep(machine, BytesOfStep(program, fusion));
  for (const ir::Step& step : program.steps) {
    const ir::Compute* const compute = ir::ComputeOf(step);
    if (compute == nullptr || compute->kind != ir::OpKind::kInput) continue;
    prediction.compute += InputSeconds(cluster, LocalType(program, compute->output).bytes()) *
                          static_cast<double>(ir::MicroBatches(program));
  }
  Clocks clocks(program, overlaps);
  clocks.Kernel(program, {}, prediction.compute);
  const std::vector<Seconds> times = StageTimes(program, fusion, machine);
  ir::Phase phase = ir::Phase::kForward;
  ir::Repeat repeat = fusion.stages.empty() ? ir::Repeat::kEach : fusion.stages.front().repeat;
  for (size_t i = 0; i < fusion.stages.size(); ++i) {
    const ir::FusedStage& stage = fusion.stages[i];
    if (stage.phase == ir::Phase::kMetric) continue;
    if (std::exchange(repeat, stage.repeat) != stage.repeat) clocks.Join();
    if (std::exchange(phase, stage.phase) != stage.phase) clocks.Enter(phase);
    const std::vector<int> steps = ir::StepsOf(stage);
    const ir::Step& first = program.steps[static_cast<size_t>(steps.front())];
    if (const ir::Collective* collective = ir::CommunicationOf(program, first); collective != nullptr) {
      prediction.communication += times[i];
      prediction.sent_bytes_per_rank +=
          ir::SentBytes(program, *collective) * static_cast<double>(ir::RunsOf(program, first));
      clocks.Collective(first, times[i]);
    } else if (std::holds_alternative<ir::Collective>(first.action) || ir::ComputeOf(first) != nullptr) {
      prediction.compute += times[i];
      clocks.Kernel(program, steps, times[i]);
    }
  }
  const Seconds alone = prediction.compute + prediction.communication;
  prediction.step = clocks.now() + OverlapLoss(cluster, Seconds(alone.value() - clocks.now().value()));
  return prediction;
}

std::vector<Seconds> StageTimes(const ir::Program& program, const ir::Fusion& fusion, const Cluster& machine) {
  const Cluster cluster = SeenByStep(machine, BytesOfStep(program, fusion));
  std::vector<Seconds> times;
  for (const ir::FusedStage& stage : fusion.stages) {
    const std::vector<int> steps = ir::StepsOf(stage);
    const auto runs = static_cast<double>(ir::RunsOf(program, program.steps[static_cast<size_t>(steps.front())]));
    times.push_back(StageTime(program, fusion, steps, cluster) * runs);
  }
  return times;
}

}  // namespace cleave::search
