#include "search/cost/predict.h"

#include <set>
#include <variant>
#include <vector>

#include "ir/graph/ops/ops.h"
#include "ir/program/fuse/fuse.h"
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

// The bytes that the steps read from other steps, each value once, and the bytes that they write for others.
Bytes BytesTouched(const ir::Program& program, const ir::Fusion& fusion, const std::vector<int>& steps) {
  std::set<ir::ValueId> written, touched;
  for (int step : steps) {
    for (ir::ValueId value : ir::Reads(program.steps[static_cast<size_t>(step)])) {
      if (written.count(value) == 0) touched.insert(value);
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
Seconds StageSeconds(const ir::Program& program, const ir::Fusion& fusion, const std::vector<int>& steps,
                     const Cluster& cluster) {
  if (steps.size() == 1 && ir::IsAlias(program.steps[static_cast<size_t>(steps[0])])) return Seconds(0);
  Seconds arithmetic{0};
  for (int step : steps) {
    arithmetic += Arithmetic(program, *ir::ComputeOf(program.steps[static_cast<size_t>(step)]), cluster);
  }
  return KernelSeconds(cluster, arithmetic, BytesTouched(program, fusion, steps));
}

}  // namespace

Prediction Predict(const ir::Program& program, const Cluster& cluster) {
  Prediction prediction;
  const ir::Fusion fusion = ir::Fuse(program);
  for (const ir::FusedStage& stage : fusion.stages) {
    if (stage.phase == ir::Phase::kMetric) continue;
    const std::vector<int> steps = ir::StepsOf(stage);
    const ir::Step& first = program.steps[static_cast<size_t>(steps.front())];
    if (const auto* collective = std::get_if<ir::Collective>(&first.action)) {
      prediction.communication += CollectiveSeconds(cluster, program.mesh, collective->kind, collective->axes,
                                                    ir::CollectiveBytes(program, *collective));
      prediction.sent_bytes_per_rank += ir::SentBytes(program, *collective);
    } else if (ir::ComputeOf(first) != nullptr) {
      prediction.compute += StageSeconds(program, fusion, steps, cluster);
    }
  }
  return prediction;
}

}  // namespace cleave::search
