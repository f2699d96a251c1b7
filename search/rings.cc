#include "search/rings.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/attention.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/rings/rings.h"
#include "ir/graph/row_updates/row_updates.h"
#include "ir/graph/sliced_losses/sliced_losses.h"
#include "search/comparison.h"
#include "search/slices.h"

namespace cleave::search {
namespace {

struct Rings {
  std::vector<ir::OpId> attention;                       // That can go round.
  std::vector<std::pair<ir::OpId, std::string>> others;  // With why they cannot.
  std::vector<ir::OpId> ops;                             // All of those that can.
};

Rings FindRings(const ir::Graph& graph) {
  Rings rings;
  for (const ir::Op& op : graph.ops) {
    if (op.kind != ir::OpKind::kAttention) continue;
    if (std::optional<std::string> why = ir::WhyNoRing(graph, op); why.has_value()) {
      rings.others.emplace_back(op.id, *std::move(why));
      continue;
    }
    rings.attention.push_back(op.id);
    for (const ir::OpId own : ir::OpsOfRing(graph, op.id)) rings.ops.push_back(own);
  }
  return rings;
}

bool CutsRows(const ir::Graph& graph, const ir::Plan& plan, ir::OpId attention) {
  const ir::Op& op = graph.op(attention);
  const bool inside = op.attributes.Get(ir::attribute::kHeadsInside).back() != 0;
  const size_t rows = ir::AttentionDimensions(op.type.shape.size(), inside).rows;
  const ir::Layout layout = ir::OutputLayout(plan.ops[attention].strategy, ir::RuleOf(graph, op));
  return plan.mesh.Size(layout.dimensions[rows]) > 1;
}

bool CutsAnyRows(const ir::Graph& graph, const ir::Plan& plan, const std::vector<ir::OpId>& attention) {
  return std::any_of(attention.begin(), attention.end(), [&](ir::OpId op) { return CutsRows(graph, plan, op); });
}

void Explain(const ir::Graph& graph, const std::vector<ir::OpId>& attention, const std::string& text, ir::Plan& plan) {
  for (const ir::OpId op : attention) {
    if (CutsRows(graph, plan, op)) absl::StrAppend(&plan.ops[op].reason, "; ", text);
  }
}

}  // namespace

std::optional<Found> SearchWithRings(const ir::Graph& graph, const Cluster& cluster, const ir::Pins& pins,
                                     const SearchOptions& asked_for, Diagnostics& diagnostics) {
  const SearchOptions options = WithSharedPrograms(asked_for);
  const ir::RingAttentions asked = pins.settings.ring_attention;
  const Rings rings = FindRings(graph);
  const auto plain = [&](Diagnostics& own) { return SearchWithSlices(graph, cluster, pins, options, own); };
  if (asked == ir::RingAttentions::kNone || rings.attention.empty() || cluster.devices() == 1) {
    std::optional<Found> found = plain(diagnostics);
    if (!found.has_value()) return found;
    for (const auto& [op, why] : rings.others)
      Explain(graph, {op}, absl::StrCat("keys are gathered: ", why), found->plan);
    return found;
  }
  const auto measure = [&](const ir::Graph& of, std::optional<Found> found) {
    if (!found.has_value()) return std::optional<MeasuredPlan>();
    const ir::Graph planned =
        ir::WithRowUpdates(ir::WithParts(of, ir::LossParts(found->plan)), ir::GradientsByRows(found->plan));
    return Measure(planned, std::move(found), cluster, options);
  };
  Diagnostics of_gathered, of_ring;
  std::optional<MeasuredPlan> gathered, ring;
  const bool takes_all = asked == ir::RingAttentions::kAll;
  if (!takes_all) {
    std::optional<Found> found = plain(of_gathered);
    const bool decides = !found.has_value() || options.objective == ir::Objective::kMemory ||
                         PaysTimeForMemory(found->plan, pins) || CutsAnyRows(graph, found->plan, rings.attention);
    if (!decides) {
      diagnostics.AddAll(of_gathered);
      return found;
    }
    gathered = measure(graph, std::move(found));
  }
  const ir::Graph round = ir::WithRings(graph, rings.ops);
  ring = measure(round, SearchWithSlices(round, cluster, pins, ToBeat(gathered, options), of_ring));
  const bool takes_ring =
      ring.has_value() && CutsAnyRows(round, ring->found.plan, rings.attention) && IsBetter(ring, gathered, options);
  diagnostics.AddAll(takes_ring || takes_all ? of_ring : of_gathered);
  std::optional<MeasuredPlan>& taken = takes_ring || takes_all ? ring : gathered;
  if (!taken.has_value()) return std::nullopt;
  ir::Plan& plan = taken->found.plan;
  const bool is_ring = &taken == &ring;
  if (is_ring) {
    for (const ir::OpId op : rings.ops) plan.ops[op].ring = true;
  }
  const std::string why = WhyTaken(*taken, is_ring ? gathered : ring);
  Explain(is_ring ? round : graph, rings.attention,
          absl::StrCat(is_ring ? "keys go round from rank to rank: " : "keys are gathered: ", why), plan);
  for (const auto& [op, reason] : rings.others) Explain(graph, {op}, absl::StrCat("keys are gathered: ", reason), plan);
  return std::move(taken->found);
}

}  // namespace cleave::search
