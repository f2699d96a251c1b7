#include "ir/proof/check/short_meshes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check/check.h"

namespace cleave::ir {
namespace {

// How every step treats each mesh axis. Axes with the same text are interchangeable for the proof.
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

// What compound dimensions require of the axes that cut their parts.
struct Compounds {
  std::vector<bool> cuts_part;  // For each axis: whether it must divide the part.
  std::vector<bool> exhausts;   // For each axis: whether another one cuts what is minor to a part that it exhausts.
  // For each axis: those that exhaust more major parts of a dimension that it cuts.
  std::vector<std::set<size_t>> majors;
};

void AddCompound(const FactorList& factors, const Strategy& strategy, Compounds& compounds) {
  std::set<size_t> majors;
  for (int factor : factors) {
    const AxisList& cut = strategy.cuts[static_cast<size_t>(factor)];
    for (AxisId axis : cut) {
      const size_t index = static_cast<size_t>(axis.value());
      compounds.cuts_part[index] = true;
      compounds.majors[index].insert(majors.begin(), majors.end());
      for (const size_t major : majors) compounds.exhausts[major] = true;
    }
    for (AxisId axis : cut) majors.insert(static_cast<size_t>(axis.value()));
  }
}

Compounds CompoundsOf(const Program& program) {
  const size_t axes = static_cast<size_t>(program.mesh.axis_count());
  Compounds compounds{.cuts_part = std::vector<bool>(axes, false),
                      .exhausts = std::vector<bool>(axes, false),
                      .majors = std::vector<std::set<size_t>>(axes)};
  for (const Step& step : program.steps) {
    const auto* compute = std::get_if<Compute>(&step.action);
    if (compute == nullptr) continue;
    const Rule rule = RuleOf(program, *compute);
    std::vector<std::vector<FactorList>> tensors = rule.inputs;
    tensors.push_back(rule.output);
    for (const std::vector<FactorList>& dimensions : tensors) {
      for (const FactorList& factors : dimensions) {
        if (factors.size() > 1) AddCompound(factors, compute->strategy, compounds);
      }
    }
  }
  return compounds;
}

// A part that the axis divides, its short form divides too: it is a divisor of the axis.
int64_t ShortLength(int64_t length, size_t axis, const Compounds& compounds, int64_t most_ranks) {
  constexpr int64_t kShort = 3;
  if (!compounds.cuts_part[axis]) return std::min(length, kShort);
  if (compounds.exhausts[axis] || length <= most_ranks) return length;
  int64_t divisor = kShort;
  while (length % divisor != 0) ++divisor;
  return divisor;
}

// Axes that stay together: one axis and all that it needs.
struct Unit {
  std::set<size_t> axes;
  int64_t ranks = 1;
};

Unit UnitOf(size_t axis, const std::vector<MeshAxis>& axes, const Compounds& compounds) {
  Unit unit{.axes = {}};
  std::vector<size_t> open = {axis};
  while (!open.empty()) {
    const size_t next = open.back();
    open.pop_back();
    if (!unit.axes.insert(next).second) continue;
    unit.ranks *= axes[next].size;
    open.insert(open.end(), compounds.majors[next].begin(), compounds.majors[next].end());
  }
  return unit;
}

// The axis of stages, which stays as long as it is: a rank of a stage has only what is of it.
std::optional<size_t> StageAxis(const Program& program) {
  if (!program.pipeline.has_value()) return std::nullopt;
  return static_cast<size_t>(program.pipeline->axis.value());
}

// The axes worth keeping: the first two of those that all steps treat alike, and none of size 1.
std::vector<size_t> DistinctAxes(const Program& program, const std::vector<MeshAxis>& axes) {
  const std::vector<std::string> treatments = AxisTreatments(program);
  std::map<std::string, int> seen;
  std::vector<size_t> distinct;
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    if (axes[axis].size > 1 && axis != StageAxis(program) && ++seen[treatments[axis]] <= 2) distinct.push_back(axis);
  }
  return distinct;
}

// Which axes stand together in some mesh so far; [i][i]: whether axis i stands in any mesh.
using Togetherness = std::vector<std::vector<bool>>;

// The axes of one more mesh. Each time the unit is added that meets most of those already chosen for the first time.
// Units that were never chosen come before all others.
std::set<size_t> NextSelection(const std::vector<MeshAxis>& axes, const std::map<size_t, Unit>& units,
                               const Togetherness& together, int64_t most_ranks) {
  std::set<size_t> chosen;
  const auto ranks_with = [&](const Unit& unit) {
    int64_t ranks = 1;
    std::set<size_t> all = chosen;
    all.insert(unit.axes.begin(), unit.axes.end());
    for (size_t axis : all) ranks *= axes[axis].size;
    return ranks;
  };
  while (true) {
    const Unit* best = nullptr;
    int64_t best_gain = 0;
    for (const auto& [axis, unit] : units) {
      if (chosen.count(axis) > 0 || (!chosen.empty() && ranks_with(unit) > most_ranks)) continue;
      int64_t gain = together[axis][axis] ? 0 : static_cast<int64_t>(axes.size());
      for (size_t other : chosen) gain += together[axis][other] ? 0 : 1;
      if (chosen.empty()) {
        gain += absl::c_count_if(units, [&, a = axis](const auto& other) { return !together[a][other.first]; });
      }
      if (gain <= best_gain) continue;
      best = &unit;
      best_gain = gain;
    }
    if (best == nullptr) return chosen;
    chosen.insert(best->axes.begin(), best->axes.end());
  }
}

Mesh Keeping(std::vector<MeshAxis> axes, const std::set<size_t>& chosen, std::optional<size_t> stages) {
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    if (chosen.count(axis) == 0 && axis != stages) axes[axis].size = 1;
  }
  absl::StatusOr<Mesh> mesh = Mesh::Create(std::move(axes));
  CLEAVE_CHECK(mesh.ok()) << mesh.status().message();
  return *std::move(mesh);
}

}  // namespace

int64_t RanksOfStage(const Program& program) { return program.mesh.rank_count() / PartCount(program); }

ShortMeshes ShortMeshesOf(const Program& program, int64_t most_ranks) {
  if (RanksOfStage(program) <= most_ranks) return {.meshes = {program.mesh}, .left_out = {}};
  std::vector<MeshAxis> axes = program.mesh.axes();
  const Compounds compounds = CompoundsOf(program);
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    if (axis != StageAxis(program)) axes[axis].size = ShortLength(axes[axis].size, axis, compounds, most_ranks);
  }
  ShortMeshes short_meshes;
  std::map<size_t, Unit> units;
  for (size_t axis : DistinctAxes(program, axes)) {
    Unit unit = UnitOf(axis, axes, compounds);
    if (unit.ranks > kMostRanks) {
      short_meshes.left_out.push_back(axes[axis].name);
    } else {
      units.emplace(axis, std::move(unit));
    }
  }
  Togetherness together(axes.size(), std::vector<bool>(axes.size(), false));
  while (true) {
    const std::set<size_t> chosen = NextSelection(axes, units, together, most_ranks);
    if (chosen.empty() && !short_meshes.meshes.empty()) return short_meshes;
    for (size_t i : chosen) {
      for (size_t j : chosen) together[i][j] = true;
    }
    short_meshes.meshes.push_back(Keeping(axes, chosen, StageAxis(program)));
    const bool all_kept = absl::c_all_of(units, [&](const auto& unit) { return together[unit.first][unit.first]; });
    if (all_kept && short_meshes.meshes.size() >= kMostMeshes) return short_meshes;
  }
}

}  // namespace cleave::ir
