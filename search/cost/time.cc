#include "search/cost/time.h"

#include <algorithm>

#include "base/check/check.h"
#include "ir/sharding/layout/boxes.h"

namespace cleave {
namespace {

// The best rate of a product of factors of `dtype`.
double ProductPeak(const PeakRates& peak, DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return peak.tf32 > 0 ? peak.tf32 : peak.f32;
    case DType::kBf16:
      return peak.bf16 > 0 ? peak.bf16 : peak.f32;
    case DType::kI32:
      return peak.f32;
  }
  CLEAVE_UNREACHABLE();
}

// The share of the peak that a product of so many operations reaches.
double MatrixEfficiency(const Cluster& cluster, double flops) {
  const std::vector<EfficiencyPoint>& points = cluster.matrix_efficiency;
  if (points.empty()) return 1;
  const auto above = std::find_if(points.begin(), points.end(),
                                  [&](const EfficiencyPoint& point) { return point.flops.value() >= flops; });
  if (above == points.end()) return points.back().share;
  if (above == points.begin()) return above->share;
  const EfficiencyPoint& below = *(above - 1);
  const double way = (flops - below.flops.value()) / (above->flops.value() - below.flops.value());
  return below.share + (above->share - below.share) * way;
}

Bytes LocalBytes(const Mesh& mesh, const TensorType& type, const Layout& layout) {
  return ElementSize(type.dtype) * ElementCount(LargestLocalShape(layout, mesh, type.shape));
}

}  // namespace

Seconds ArithmeticSeconds(const Cluster& cluster, const OpDefinition& definition, absl::Span<const TensorType> inputs,
                          const TensorType& output, const Attributes& attributes) {
  const double flops = definition.flops(inputs, output, attributes).value();
  const double rate = definition.op_class == OpClass::kProduct
                          ? ProductPeak(cluster.peak, inputs[0].dtype) * MatrixEfficiency(cluster, flops)
                          : cluster.peak.f32;
  return Seconds(flops / rate);
}

Seconds KernelSeconds(const Cluster& cluster, Seconds arithmetic, Bytes touched) {
  const Seconds memory(static_cast<double>(touched.value()) / cluster.memory_bytes_per_second);
  return std::max({arithmetic, memory, cluster.kernel_floor});
}

Seconds OpSeconds(const Cluster& cluster, const OpDefinition& definition, absl::Span<const TensorType> inputs,
                  const TensorType& output, const Attributes& attributes) {
  if (inputs.empty()) return Seconds(0);
  return KernelSeconds(cluster, ArithmeticSeconds(cluster, definition, inputs, output, attributes),
                       BytesTouched(inputs, output));
}

Seconds MoveSeconds(const Cluster& cluster, const Mesh& mesh, const TensorType& type, const Layout& source,
                    const Move& move) {
  if (!move.collective.has_value()) return Seconds(0);
  const auto seconds = [&](Bytes bytes) {
    return CollectiveSeconds(cluster, mesh, *move.collective, move.axes, bytes);
  };
  switch (*move.collective) {
    case CollectiveKind::kAllGather:
      return seconds(LocalBytes(mesh, type, move.result));
    case CollectiveKind::kNeighborExchange:
      return seconds(ElementSize(type.dtype) * LargestReceivedElements(source, move.result, mesh, type.shape));
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kPermute:
    case CollectiveKind::kSendReceive:
    case CollectiveKind::kNeighborExchangeV2:
      return seconds(LocalBytes(mesh, type, source));
  }
  CLEAVE_UNREACHABLE();
}

Seconds RedistributionSeconds(const Cluster& cluster, const Mesh& mesh, const TensorType& type, const Layout& source,
                              const Redistribution& redistribution) {
  Seconds total{0};
  const Layout* now = &source;
  for (const Move& move : redistribution.moves) {
    total += MoveSeconds(cluster, mesh, type, *now, move);
    now = &move.result;
  }
  return total;
}

Seconds OverlappedSeconds(const Cluster& cluster, Seconds compute, Seconds communication) {
  // While bytes are sent, compute runs at 1 / slowdown of its speed.
  const double lost = communication.value() * (1 - 1 / cluster.overlap_slowdown);
  return Seconds(std::max(communication.value(), compute.value() + lost));
}

}  // namespace cleave
