#include "search/cost/predict.h"

#include <set>
#include <variant>
#include <vector>

#include "ir/graph/ops/ops.h"
#include "ir/program/fuse/fuse.h"
#include "search/cost/time.h"

namespace cleave {
namespace {

TensorType LocalType(const Program& program, ValueId value) {
  return {.dtype = program.value(value).type.dtype, .shape = LargestLocalShape(program, value)};
}

Seconds Arithmetic(const Program& program, const Compute& compute, const Cluster& cluster) {
  std::vector<TensorType> inputs;
  for (ValueId input : compute.inputs) inputs.push_back(LocalType(program, input));
  return ArithmeticSeconds(cluster, DefinitionOf(compute.kind), inputs, LocalType(program, compute.output),
                           compute.attributes);
}

// What the steps read that others wrote, each value once, and what they write for others.
Bytes BytesTouched(const Program& program, const Fusion& fusion, const std::vector<int>& steps) {
  std::set<ValueId> written, touched;
  for (int step : steps) {
    for (ValueId value : Reads(program.steps[static_cast<size_t>(step)])) {
      if (written.count(value) == 0) touched.insert(value);
    }
    for (ValueId value : Writes(program.steps[static_cast<size_t>(step)])) written.insert(value);
  }
  for (ValueId value : written) {
    if (fusion.inside.count(value) == 0) touched.insert(value);
  }
  Bytes bytes;
  for (ValueId value : touched) bytes += LocalType(program, value).bytes();
  return bytes;
}

// Of a stage of computes.
Seconds StageSeconds(const Program& program, const Fusion& fusion, const std::vector<int>& steps,
                     const Cluster& cluster) {
  if (steps.size() == 1 && IsAlias(program.steps[static_cast<size_t>(steps[0])])) return Seconds(0);
  Seconds arithmetic{0};
  for (int step : steps) {
    arithmetic += Arithmetic(program, *ComputeOf(program.steps[static_cast<size_t>(step)]), cluster);
  }
  return KernelSeconds(cluster, arithmetic, BytesTouched(program, fusion, steps));
}

}  // namespace

Prediction Predict(const Program& program, const Cluster& cluster) {
  Prediction prediction;
  const Fusion fusion = Fuse(program);
  for (const FusedStage& stage : fusion.stages) {
    if (stage.phase == Phase::kMetric) continue;
    const std::vector<int> steps = StepsOf(stage);
    const Step& first = program.steps[static_cast<size_t>(steps.front())];
    if (const auto* collective = std::get_if<Collective>(&first.action)) {
      prediction.communication += CollectiveSeconds(cluster, program.mesh, collective->kind, collective->axes,
                                                    CollectiveBytes(program, *collective));
      prediction.sent_bytes_per_rank += SentBytes(program, *collective);
    } else if (ComputeOf(first) != nullptr) {
      prediction.compute += StageSeconds(program, fusion, steps, cluster);
    }
  }
  return prediction;
}

}  // namespace cleave
