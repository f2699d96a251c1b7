#include "search/knobs/regions/objective.h"

#include <utility>
#include <vector>

#include "base/check/check.h"
#include "ir/program/redistribute/redistribute.h"
#include "search/knobs/memory/memory.h"

namespace cleave::search {
namespace {

double BytesOf(const GraphFacts& facts) {
  double bytes = 0;
  for (const ir::Op& op : facts.graph->ops) {
    if (facts.roles[op.id] != Role::kAside) bytes += static_cast<double>(op.type.bytes().value());
  }
  return bytes;
}

AssignmentOptions ForMemory(const GraphFacts& facts, const ir::Mesh& mesh, AssignmentOptions options) {
  const double bytes = BytesOf(facts);
  const double moved = options.prices.scale > 0 ? options.prices.scale : bytes;
  const double weight = options.tuning.sent_per_kept * (bytes > 0 ? moved / bytes : 1);
  options.prices = WithMemoryWeight(facts, mesh, weight, std::move(options.prices));
  options.prices.scale = moved;
  for (const ir::Op& op : facts.graph->ops) {
    options.prices.scale += weight * HeldBytes(facts, mesh, op.id, ir::Strategy::Replicated(facts.rule(op.id)));
  }
  return options;
}

// The mesh with the same axes, but all on one kind of link.
ir::Mesh WithLinksAlike(const ir::Mesh& mesh) {
  std::vector<ir::MeshAxis> axes = mesh.axes();
  for (ir::MeshAxis& axis : axes) axis.weight = 1;
  absl::StatusOr<ir::Mesh> alike = ir::Mesh::Create(std::move(axes));
  CLEAVE_CHECK(alike.ok()) << alike.status();
  return *std::move(alike);
}

AssignmentOptions ForComputeToCommunication(const ir::Mesh& mesh, AssignmentOptions options) {
  options.gradient_weight = 1;
  options.prices = {};
  ir::Mesh alike = WithLinksAlike(mesh);
  if (alike == mesh) return options;
  options.prices.redistribution = [alike = std::move(alike)](const ir::TensorType& type, const ir::Layout& source,
                                                             const ir::Redistribution& way, const SentTogether&) {
    double bytes = 0;
    const ir::Layout* now = &source;
    for (const ir::Move& move : way.moves) {
      bytes += ir::MoveCost(alike, type, *now, move);
      now = &move.result;
    }
    return bytes;
  };
  return options;
}

}  // namespace

absl::string_view ObjectiveName(ir::Objective objective) {
  switch (objective) {
    case ir::Objective::kSpeed:
      return "speed";
    case ir::Objective::kMemory:
      return "memory";
    case ir::Objective::kComputeToCommunication:
      return "compute_to_communication";
  }
  CLEAVE_UNREACHABLE();
}

AssignmentOptions PaidUnder(ir::Objective objective, const GraphFacts& facts, const ir::Mesh& mesh,
                            AssignmentOptions options) {
  switch (objective) {
    case ir::Objective::kSpeed:
      return options;
    case ir::Objective::kMemory:
      return ForMemory(facts, mesh, std::move(options));
    case ir::Objective::kComputeToCommunication:
      return ForComputeToCommunication(mesh, std::move(options));
  }
  CLEAVE_UNREACHABLE();
}

}  // namespace cleave::search
