#include "search/cost/predict.h"

#include <algorithm>
#include <variant>

#include "ir/ops/ops.h"

namespace cleave {
namespace {

TensorType LocalType(const Program& program, ValueId value) {
  return {.dtype = program.value(value).type.dtype, .shape = LargestLocalShape(program, value)};
}

Seconds ComputeTime(const Program& program, const Compute& compute, const Cluster& cluster) {
  if (compute.inputs.empty()) return Seconds(0);
  std::vector<TensorType> inputs;
  for (ValueId input : compute.inputs) inputs.push_back(LocalType(program, input));
  const TensorType output = LocalType(program, compute.output);
  const OpDefinition* definition = FindOp(compute.kind);
  const double flops = definition->flops(inputs, output, compute.attributes).value();
  const auto bytes = static_cast<double>(BytesTouched(inputs, output).value());
  return Seconds(std::max(flops / cluster.flops_per_second, bytes / cluster.memory_bytes_per_second)) +
         cluster.kernel_latency;
}

// The slowest link that a group over `axes` crosses.
const Link& LinkOf(const Program& program, const std::vector<AxisId>& axes, const Cluster& cluster) {
  for (const Link& link : cluster.links) {
    for (AxisId axis : axes) {
      if (program.mesh.axis(axis).link == link.name) return link;
    }
  }
  return cluster.links.back();
}

}  // namespace

Prediction Predict(const Program& program, const Cluster& cluster) {
  Prediction prediction;
  for (const Step& step : program.steps) {
    if (step.phase == Phase::kMetric) continue;
    if (const auto* compute = std::get_if<Compute>(&step.action)) {
      prediction.compute += ComputeTime(program, *compute, cluster);
    } else if (const auto* collective = std::get_if<Collective>(&step.action)) {
      const Link& link = LinkOf(program, collective->axes, cluster);
      const double sent = SentBytes(program, *collective);
      prediction.communication += Seconds(sent / link.bytes_per_second) + link.latency;
      prediction.sent_bytes_per_rank += sent;
    }
  }
  return prediction;
}

}  // namespace cleave
