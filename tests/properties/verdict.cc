#include "tests/properties/verdict.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ir/graph/ops/samples.h"
#include "ir/proof/check/check.h"
#include "ir/proof/check/compare.h"

namespace cleave::tests::properties {
namespace {

bool IsEquivalent(const ir::Graph& graph, const ir::Program& program) {
  constexpr uint64_t kDraws = 5;
  constexpr int64_t kStep = 4;  // Not the step that the proof takes.
  for (uint64_t draw = 0; draw < kDraws; ++draw) {
    const ir::SourceValues sources = ir::RandomSources(graph, 1000 + draw);
    const absl::StatusOr<ir::Comparison> comparison = ir::CompareWithGraph(graph, program, sources, kStep);
    if (!comparison.ok() || !comparison->wrong.empty()) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> TryMutants(const Compiled& compiled, const std::vector<Mutation>& mutations, int places,
                                    uint64_t seed, VerdictTable& table) {
  ir::Random random(seed);
  const ir::Graph& graph = compiled.distributed.graph;
  std::vector<size_t> order(compiled.program.steps.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<std::string> missed;
  for (const Mutation& mutation : mutations) {
    Verdicts& verdicts = table[mutation.name];
    std::shuffle(order.begin(), order.end(), random);
    int applied = 0;
    for (size_t i = 0; i < order.size() && applied < places; ++i) {
      ir::Program broken = compiled.program;
      if (!mutation.apply(broken, order[i]) || broken == compiled.program) continue;
      ++applied;
      ++verdicts.applied;
      if (!ir::CheckStatically(broken).empty()) {
        ++verdicts.statically;
      } else if (!ir::CheckBySimulation(graph, broken).ok()) {
        ++verdicts.by_simulation;
      } else if (IsEquivalent(graph, broken)) {
        ++verdicts.equivalent;
      } else {
        ++verdicts.missed;
        missed.push_back(
            absl::StrCat(mutation.name, " at step ", order[i], ", `", compiled.program.steps[order[i]].name, "`"));
      }
    }
  }
  return missed;
}

std::string TableText(const VerdictTable& table) {
  std::string text = absl::StrFormat("%-58s %8s %8s %10s %10s %6s\n", "mutation", "applied", "static", "simulated",
                                     "equivalent", "missed");
  for (const auto& [name, verdicts] : table) {
    absl::StrAppendFormat(&text, "%-58s %8d %8d %10d %10d %6d\n", name, verdicts.applied, verdicts.statically,
                          verdicts.by_simulation, verdicts.equivalent, verdicts.missed);
  }
  return text;
}

}  // namespace cleave::tests::properties
