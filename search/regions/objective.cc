#include "search/regions/objective.h"

#include <utility>
#include <vector>

#include "base/check/check.h"
#include "ir/program/redistribute/redistribute.h"
#include "search/memory/memory.h"

namespace cleave {
namespace {

double BytesOf(const GraphFacts& facts) {
  double bytes = 0;
  for (const Op& op : facts.graph->ops) bytes += static_cast<double>(op.type.bytes().value());
  return bytes;
}

AssignmentOptions ForMemory(const GraphFacts& facts, const Mesh& mesh, AssignmentOptions options) {
  const double bytes = BytesOf(facts);
  const double moved = options.prices.scale > 0 ? options.prices.scale : bytes;
  const double weight = options.tuning.sent_per_kept * (bytes > 0 ? moved / bytes : 1);
  options.prices = WithMemoryWeight(facts, mesh, weight, std::move(options.prices));
  options.prices.scale = moved;
  for (const Op& op : facts.graph->ops) {
    options.prices.scale += weight * HeldBytes(facts, mesh, op.id, Strategy::Replicated(facts.rule(op.id)));
  }
  return options;
}

// The mesh with the same axes, all on one kind of link.
Mesh WithLinksAlike(const Mesh& mesh) {
  std::vector<MeshAxis> axes = mesh.axes();
  for (MeshAxis& axis : axes) axis.weight = 1;
  absl::StatusOr<Mesh> alike = Mesh::Create(std::move(axes));
  CLEAVE_CHECK(alike.ok()) << alike.status();
  return *std::move(alike);
}

AssignmentOptions ForComputeToCommunication(const Mesh& mesh, AssignmentOptions options) {
  options.gradient_weight = 1;
  options.prices = {};
  Mesh alike = WithLinksAlike(mesh);
  if (alike == mesh) return options;
  options.prices.redistribution = [alike = std::move(alike)](const TensorType& type, const Layout& source,
                                                             const Redistribution& way) {
    double bytes = 0;
    const Layout* now = &source;
    for (const Move& move : way.moves) {
      bytes += MoveCost(alike, type, *now, move);
      now = &move.result;
    }
    return bytes;
  };
  return options;
}

}  // namespace

absl::string_view ObjectiveName(Objective objective) {
  switch (objective) {
    case Objective::kSpeed:
      return "speed";
    case Objective::kMemory:
      return "memory";
    case Objective::kComputeToCommunication:
      return "compute_to_communication";
  }
  CLEAVE_UNREACHABLE();
}

AssignmentOptions PaidUnder(Objective objective, const GraphFacts& facts, const Mesh& mesh, AssignmentOptions options) {
  switch (objective) {
    case Objective::kSpeed:
      return options;
    case Objective::kMemory:
      return ForMemory(facts, mesh, std::move(options));
    case Objective::kComputeToCommunication:
      return ForComputeToCommunication(mesh, std::move(options));
  }
  CLEAVE_UNREACHABLE();
}

}  // namespace cleave
