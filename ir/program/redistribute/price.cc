#include "ir/program/redistribute/price.h"

#include <map>

#include "base/check/check.h"

namespace cleave::ir {
namespace {

// Link weights from cheap to expensive. Each link carries what the cheaper ones left.
double GroupPrice(absl::Span<const LinkClass> links, double bytes, bool leaves_everything) {
  double price = 0;
  for (const LinkClass& link : links) {
    const double ranks = static_cast<double>(link.ranks);
    price += (ranks - 1) / ranks * bytes * link.weight;
    if (!leaves_everything) bytes /= ranks;
  }
  return price;
}

}  // namespace

std::vector<LinkClass> LinkClassesOf(const Mesh& mesh, absl::Span<const AxisId> axes) {
  std::map<double, int64_t> ranks_by_weight;
  for (AxisId axis : axes) {
    const MeshAxis& mesh_axis = mesh.axis(axis);
    if (mesh_axis.size == 1) continue;  // Nothing crosses it.
    ranks_by_weight.try_emplace(mesh_axis.weight, 1).first->second *= mesh_axis.size;
  }
  std::vector<LinkClass> links;
  for (const auto& [weight, ranks] : ranks_by_weight) links.push_back({.weight = weight, .ranks = ranks});
  return links;
}

double MovePrice(std::optional<CollectiveKind> collective, absl::Span<const LinkClass> links, double input_bytes,
                 double output_bytes) {
  if (!collective.has_value()) return 0;
  switch (*collective) {
    case CollectiveKind::kAllReduce:
      return 2 * GroupPrice(links, input_bytes, false);
    case CollectiveKind::kReduceScatter:
      return GroupPrice(links, input_bytes, false);
    case CollectiveKind::kAllGather:
      return GroupPrice(links, output_bytes, false);
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kBroadcast:
      return GroupPrice(links, input_bytes, true);
    case CollectiveKind::kNeighborExchange:
    case CollectiveKind::kPermute:
    case CollectiveKind::kSendReceive:
    case CollectiveKind::kNeighborExchangeV2:
      return links.empty() ? 0 : input_bytes * links.back().weight;
  }
  CLEAVE_UNREACHABLE();
}

}  // namespace cleave::ir
