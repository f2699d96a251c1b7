#include "ir/check/short_meshes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check/check.h"

namespace cleave {
namespace {

// How every step treats each mesh axis: axes with one text are interchangeable for the proof.
std::vector<std::string> AxisTreatments(const Program& program) {
  std::vector<std::string> treatments(static_cast<size_t>(program.mesh.axis_count()));
  const auto append = [&](AxisId axis, const std::string& what) {
    absl::StrAppend(&treatments[static_cast<size_t>(axis.value())], what, ";");
  };
  for (size_t step = 0; step < program.steps.size(); ++step) {
    if (const auto* compute = std::get_if<Compute>(&program.steps[step].action)) {
      for (size_t factor = 0; factor < compute->strategy.cuts.size(); ++factor) {
        for (AxisId axis : compute->strategy.cuts[factor]) append(axis, absl::StrCat(step, "f", factor));
      }
      for (const PassThrough& pass : compute->strategy.passes) append(pass.axis, absl::StrCat(step, "p", pass.group));
    } else if (const auto* collective = std::get_if<Collective>(&program.steps[step].action)) {
      for (AxisId axis : collective->axes) append(axis, absl::StrCat(step, "c"));
    }
  }
  return treatments;
}

// Axes that a permute exchanges must be shortened together: it maps pieces one to one only while their sizes agree.
std::vector<std::vector<size_t>> AxesShortenedTogether(const Program& program) {
  std::vector<size_t> first(static_cast<size_t>(program.mesh.axis_count()));  // The first axis of an axis's unit.
  std::iota(first.begin(), first.end(), size_t{0});
  for (const Step& step : program.steps) {
    const auto* collective = std::get_if<Collective>(&step.action);
    if (collective == nullptr || collective->kind != CollectiveKind::kPermute) continue;
    size_t least = first.size();
    for (AxisId axis : collective->axes) least = std::min(least, first[static_cast<size_t>(axis.value())]);
    for (AxisId axis : collective->axes) {
      const size_t joined = first[static_cast<size_t>(axis.value())];
      std::replace(first.begin(), first.end(), joined, least);
    }
  }
  std::vector<std::vector<size_t>> units(first.size());
  for (size_t axis = 0; axis < first.size(); ++axis) units[first[axis]].push_back(axis);
  units.erase(std::remove_if(units.begin(), units.end(), [](const auto& unit) { return unit.empty(); }), units.end());
  return units;
}

// Axes that stay or go together.
struct Unit {
  std::vector<size_t> axes;
  int64_t ranks = 1;
};

// The units worth keeping: of those that all steps treat alike the first two, none of size 1.
std::vector<Unit> DistinctUnits(const Program& program, const std::vector<MeshAxis>& axes) {
  const std::vector<std::string> treatments = AxisTreatments(program);
  std::map<std::string, int> seen;
  std::vector<Unit> units;
  for (const std::vector<size_t>& members : AxesShortenedTogether(program)) {
    Unit unit{.axes = members};
    for (size_t axis : members) unit.ranks *= axes[axis].size;
    const std::string treatment =
        absl::StrJoin(members, "|", [&](std::string* out, size_t axis) { *out += treatments[axis]; });
    if (unit.ranks > 1 && ++seen[treatment] <= 2) units.push_back(std::move(unit));
  }
  return units;
}

// Which units stand together in some mesh so far; [i][i]: unit i stands in one at all.
using Togetherness = std::vector<std::vector<bool>>;

// The units of one more mesh: each time the one that stands together for the first time with most of those chosen, a
// unit that was never chosen before all others.
std::vector<size_t> NextSelection(const std::vector<Unit>& units, const Togetherness& together) {
  std::vector<size_t> chosen;
  int64_t ranks = 1;
  while (true) {
    size_t best = units.size();
    int best_gain = 0;
    for (size_t i = 0; i < units.size(); ++i) {
      if (ranks * units[i].ranks > kSimulatedRanks || std::find(chosen.begin(), chosen.end(), i) != chosen.end()) {
        continue;
      }
      int gain = together[i][i] ? 0 : static_cast<int>(units.size());
      for (size_t other : chosen) gain += together[i][other] ? 0 : 1;
      if (chosen.empty()) gain += static_cast<int>(std::count(together[i].begin(), together[i].end(), false));
      if (gain > best_gain) {
        best = i;
        best_gain = gain;
      }
    }
    if (best == units.size()) return chosen;
    chosen.push_back(best);
    ranks *= units[best].ranks;
  }
}

Mesh Keeping(std::vector<MeshAxis> axes, const std::vector<Unit>& units, const std::vector<size_t>& chosen) {
  std::vector<bool> kept(axes.size(), false);
  for (size_t unit : chosen) {
    for (size_t axis : units[unit].axes) kept[axis] = true;
  }
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    if (!kept[axis]) axes[axis].size = 1;
  }
  absl::StatusOr<Mesh> mesh = Mesh::Create(std::move(axes));
  CLEAVE_CHECK(mesh.ok()) << mesh.status().message();
  return *std::move(mesh);
}

}  // namespace

ShortMeshes ShortMeshesOf(const Program& program) {
  if (program.mesh.rank_count() <= kSimulatedRanks) return {.meshes = {program.mesh}, .left_out = {}};
  std::vector<MeshAxis> axes = program.mesh.axes();
  for (MeshAxis& axis : axes) axis.size = std::min<int64_t>(axis.size, 3);
  std::vector<Unit> units = DistinctUnits(program, axes);
  ShortMeshes short_meshes;
  for (const Unit& unit : units) {
    if (unit.ranks <= kSimulatedRanks) continue;
    for (size_t axis : unit.axes) short_meshes.left_out.push_back(axes[axis].name);
  }
  std::erase_if(units, [](const Unit& unit) { return unit.ranks > kSimulatedRanks; });

  Togetherness together(units.size(), std::vector<bool>(units.size(), false));
  const auto is_kept = [&](size_t unit) { return static_cast<bool>(together[unit][unit]); };
  bool all_kept = false;
  while (!all_kept || short_meshes.meshes.size() < kMostMeshes) {
    const std::vector<size_t> chosen = NextSelection(units, together);
    if (chosen.empty() && !short_meshes.meshes.empty()) break;
    for (size_t i : chosen) {
      for (size_t j : chosen) together[i][j] = true;
    }
    short_meshes.meshes.push_back(Keeping(axes, units, chosen));
    all_kept = true;
    for (size_t i = 0; i < units.size(); ++i) all_kept = all_kept && is_kept(i);
  }
  return short_meshes;
}

}  // namespace cleave
