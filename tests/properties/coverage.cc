#include "tests/properties/coverage.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/match/match.h"
#include "ir/sharding/layout/layout.h"

namespace cleave::tests::properties {
namespace {

void AddCompute(const ir::Compute& compute, Coverage& coverage) {
  ++coverage.ops[std::string(ir::OpKindName(compute.kind))];
  const bool is_cut = std::any_of(compute.strategy.cuts.begin(), compute.strategy.cuts.end(),
                                  [](const ir::AxisList& axes) { return !axes.empty(); });
  if (is_cut || !compute.strategy.passes.empty()) ++coverage.cut_ops[std::string(ir::OpKindName(compute.kind))];
  if (!compute.strategy.passes.empty()) ++coverage.features["sum passes through"];
}

void AddCollective(const ir::Collective& collective, Coverage& coverage) {
  ++coverage.movements[std::string(ir::CollectiveKindName(collective.kind))];
  if (collective.transfers.size() > 1) ++coverage.features["merged collective"];
  if (collective.axes.size() > 1) ++coverage.features["collective over several axes"];
  if (collective.reduction == ir::Reduction::kMax) ++coverage.features["collective of maxima"];
}

void AddValue(const ir::Program& program, const ir::Value& value, Coverage& coverage) {
  if (!value.layout.windows.empty()) ++coverage.features["value in windows"];
  const std::vector<int64_t> counts = ir::CutCounts(value.layout, program.mesh);
  bool uneven = false, empty = false;
  for (size_t d = 0; d < counts.size(); ++d) {
    uneven = uneven || value.type.shape[d] % counts[d] != 0;
    empty = empty || value.type.shape[d] < counts[d];
  }
  if (uneven) ++coverage.features["uneven pieces"];
  if (empty) ++coverage.features["empty pieces"];
}

template <typename Key>
void AddCounts(const std::map<Key, int64_t>& from, std::map<Key, int64_t>& to) {
  for (const auto& [key, count] : from) to[key] += count;
}

template <typename Key>
std::string CountsText(const std::string& title, const std::map<Key, int64_t>& counts) {
  std::string text = absl::StrCat(title, "\n");
  for (const auto& [key, count] : counts) absl::StrAppend(&text, "  ", key, ": ", count, "\n");
  return text;
}

}  // namespace

void Coverage::Add(const ir::Program& program) {
  ++cases;
  ++ranks[ir::RankMesh(program).rank_count()];
  if (program.time.has_value()) ++features["micro-batches"];
  for (const ir::Step& step : program.steps) {
    ++features[absl::StrCat(ir::PhaseName(step.phase), " step")];
    Match(
        step.action, [&](const ir::Compute& compute) { AddCompute(compute, *this); },
        [&](const ir::Collective& collective) { AddCollective(collective, *this); },
        [&](const ir::Slice&) { ++movements["slice"]; }, [&](const ir::View&) { ++movements["view"]; },
        [&](const ir::Glance&) { ++movements["glance"]; }, [&](const ir::HostCopy&) { ++movements["host copy"]; },
        [&](const ir::Send&) { ++movements["send"]; }, [&](const ir::Receive&) { ++movements["receive"]; });
  }
  for (const ir::Value& value : program.values) AddValue(program, value, *this);
}

void Coverage::Add(const Coverage& other) {
  cases += other.cases;
  AddCounts(other.ops, ops);
  AddCounts(other.cut_ops, cut_ops);
  AddCounts(other.movements, movements);
  AddCounts(other.features, features);
  AddCounts(other.ranks, ranks);
}

std::string Coverage::Text() const {
  std::string text = "ops (of these cut)\n";
  for (const auto& [kind, count] : ops) {
    const auto cut = cut_ops.find(kind);
    absl::StrAppend(&text, "  ", kind, ": ", count, " (", cut == cut_ops.end() ? 0 : cut->second, ")\n");
  }
  return absl::StrCat(text, CountsText("movements", movements), CountsText("features", features),
                      CountsText("cases by ranks", ranks));
}

}  // namespace cleave::tests::properties
