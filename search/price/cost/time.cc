#include "search/price/cost/time.h"

#include <algorithm>

#include "base/check/check.h"
#include "ir/program/fuse/attention.h"
#include "ir/program/partition/merge.h"
#include "ir/sharding/layout/boxes.h"
#include "search/price/cost/cpu_arithmetic.h"

namespace cleave::search {
namespace {

// The best rate of a product of factors of `dtype`.
double ProductPeak(const PeakRates& peak, ir::DType dtype) {
  switch (dtype) {
    case ir::DType::kF32:
      return peak.tf32 > 0 ? peak.tf32 : peak.f32;
    case ir::DType::kBf16:
    case ir::DType::kF16:
      return peak.bf16 > 0 ? peak.bf16 : peak.f32;
    case ir::DType::kF8E4M3:
    case ir::DType::kF8E5M2:
      return peak.fp8 > 0 ? peak.fp8 : ProductPeak(peak, ir::DType::kBf16);
    case ir::DType::kI32:
    case ir::DType::kI8:
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

// What is done to factors of 8 bits before they are multiplied: a device that multiplies them takes both along the
// contracted dimension, so that others are turned; one that does not widens both to bf16.
Seconds PreparationSeconds(const Cluster& cluster, const ir::OpDefinition& definition,
                           absl::Span<const ir::TensorType> inputs, const ir::Attributes& attributes) {
  const bool is_sum = definition.kind == ir::OpKind::kScaledMatmulSum;
  const bool is_turned[] = {is_sum || attributes.Get(ir::attribute::kTransposeA),
                            is_sum || !attributes.Get(ir::attribute::kTransposeB)};
  Bytes moved{0};
  for (const size_t i : {0, 1}) {
    const Bytes read = inputs[i].bytes();
    if (cluster.peak.fp8 == 0) {
      moved += read + ir::ElementSize(ir::DType::kBf16) * inputs[i].elements();
    } else if (is_turned[i]) {
      moved += read + read;
    }
  }
  return Seconds(static_cast<double>(moved.value()) / cluster.memory_bytes_per_second);
}

}  // namespace

Cluster SeenByStep(const Cluster& cluster, Bytes touched) {
  Cluster seen = cluster;
  for (const Cache& cache : cluster.caches) {
    if (touched > cache.bytes) continue;
    seen.memory_bytes_per_second = cache.bytes_per_second;
    break;
  }
  return seen;
}

Seconds InputSeconds(const Cluster& cluster, Bytes bytes) {
  if (cluster.input_bytes_per_second == 0) return Seconds(0);
  return Seconds(static_cast<double>(bytes.value()) / cluster.input_bytes_per_second);
}

Seconds ArithmeticSeconds(const Cluster& cluster, const ir::OpDefinition& definition,
                          absl::Span<const ir::TensorType> inputs, const ir::TensorType& output,
                          const ir::Attributes& attributes) {
  const bool is_cpu = cluster.peak.loops > 0;
  if (definition.op_class != ir::OpClass::kProduct) {
    return is_cpu ? Seconds(CpuLoopFlops(definition, inputs, output, attributes).value() / cluster.peak.loops)
                  : Seconds(definition.flops(inputs, output, attributes).value() / cluster.peak.f32);
  }
  const double flops = definition.flops(inputs, output, attributes).value();
  if (!inputs.empty() && ir::Is8Bit(inputs[0].dtype)) {
    // Products that take equally long at the peak reach equal shares of it.
    const double peak = ProductPeak(cluster.peak, inputs[0].dtype);
    const double alike = flops * ProductPeak(cluster.peak, ir::DType::kBf16) / peak;
    return Seconds(flops / (peak * MatrixEfficiency(cluster, alike))) +
           PreparationSeconds(cluster, definition, inputs, attributes);
  }
  const double share = is_cpu && ir::IsOfAttention(definition.kind) ? CpuAttentionEfficiency(inputs, attributes)
                                                                    : MatrixEfficiency(cluster, flops);
  return Seconds(flops / (ProductPeak(cluster.peak, inputs[0].dtype) * share));
}

Seconds KernelSeconds(const Cluster& cluster, Seconds arithmetic, Bytes touched, int parts) {
  const Seconds memory(static_cast<double>(touched.value()) / cluster.memory_bytes_per_second);
  return std::max({arithmetic, memory, Seconds(cluster.kernel_floor.value() / parts)});
}

Seconds OpSeconds(const Cluster& cluster, const ir::OpDefinition& definition, absl::Span<const ir::TensorType> inputs,
                  const ir::TensorType& output, const ir::Attributes& attributes) {
  if (inputs.empty()) return Seconds(0);
  return KernelSeconds(cluster, ArithmeticSeconds(cluster, definition, inputs, output, attributes),
                       ir::BytesTouched(definition, inputs, output));
}

Seconds MoveSeconds(const Cluster& cluster, const ir::Mesh& mesh, const ir::TensorType& type, const ir::Layout& source,
                    const ir::Move& move, int64_t together) {
  if (!move.collective.has_value()) return Seconds(0);
  const auto seconds = [&](Bytes bytes) {
    return CollectiveSeconds(cluster, mesh, *move.collective, move.axes, bytes);
  };
  const auto share = [&](Bytes bytes) {
    const Bytes message = std::max(bytes, std::min(bytes * together, ir::kMostPackedBytes));
    if (message == bytes) return seconds(bytes);
    return seconds(message) * (static_cast<double>(bytes.value()) / static_cast<double>(message.value()));
  };
  switch (*move.collective) {
    case ir::CollectiveKind::kAllGather:
      return share(ir::LargestLocalBytes(move.result, mesh, type));
    case ir::CollectiveKind::kNeighborExchange:
      return seconds(ir::ElementSize(type.dtype) * ir::LargestReceivedElements(source, move.result, mesh, type.shape));
    case ir::CollectiveKind::kAllReduce:
    case ir::CollectiveKind::kReduceScatter:
      return share(ir::LargestLocalBytes(source, mesh, type));
    case ir::CollectiveKind::kAllToAll:
    case ir::CollectiveKind::kBroadcast:
    case ir::CollectiveKind::kPermute:
    case ir::CollectiveKind::kSendReceive:
    case ir::CollectiveKind::kNeighborExchangeV2:
      return seconds(ir::LargestLocalBytes(source, mesh, type));
  }
  CLEAVE_UNREACHABLE();
}

Seconds RedistributionSeconds(const Cluster& cluster, const ir::Mesh& mesh, const ir::TensorType& type,
                              const ir::Layout& source, const ir::Redistribution& redistribution,
                              const SentTogether& together) {
  const auto sent = std::count_if(redistribution.moves.begin(), redistribution.moves.end(),
                                  [](const ir::Move& move) { return move.collective.has_value(); });
  Seconds total{0};
  const ir::Layout* now = &source;
  for (const ir::Move& move : redistribution.moves) {
    total += MoveSeconds(cluster, mesh, type, *now, move, sent == 1 ? together.all : together.equal);
    now = &move.result;
  }
  return total;
}

Seconds OverlapLoss(const Cluster& cluster, Seconds communication) {
  // Compute runs at 1 / slowdown of its speed.
  return Seconds(communication.value() * (1 - 1 / cluster.overlap_slowdown));
}

}  // namespace cleave::search
