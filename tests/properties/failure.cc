#include "tests/properties/failure.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/graph/ops/ops.h"
#include "ir/proof/check/check.h"
#include "ir/proof/check/compare.h"
#include "ir/proof/check/original.h"
#include "tests/properties/smallest_case.h"

namespace cleave::tests::properties {
namespace {

// "value" of "value: `x` is wrong …".
std::string StageOf(const std::string& failure) { return failure.substr(0, failure.find(':')); }

}  // namespace

std::optional<std::string> FindFailure(const PlannedGraph& sample, const CheckOptions& options, Coverage* coverage) {
  if (const auto errors = ir::VerifyGraph(sample.graph); !errors.empty())
    return absl::StrCat("graph: ", errors.front());
  if (const auto errors = ir::VerifyPlan(sample.graph, sample.plan); !errors.empty())
    return absl::StrCat("plan: ", errors.front());
  const absl::StatusOr<Compiled> compiled = Compile(sample);
  if (!compiled.ok()) return absl::StrCat("partition: ", compiled.status().message());
  const ir::Program& program = compiled->program;
  if (coverage != nullptr) coverage->Add(program);
  if (const auto findings = ir::CheckStatically(program); !findings.empty()) {
    return absl::StrCat("static check: ", absl::StrJoin(findings, "\n  "));
  }
  const ir::Graph& graph = compiled->distributed.graph;
  if (const absl::Status same = ir::CompareWithOriginal(sample.graph, compiled->distributed, graph); !same.ok()) {
    return absl::StrCat("distribute: ", same.message());
  }
  const absl::StatusOr<ir::Comparison> comparison = ir::CompareOnRandomSources(graph, program, /*seed=*/1);
  if (!comparison.ok()) return absl::StrCat("interpretation: ", comparison.status().message());
  if (!comparison->wrong.empty()) return absl::StrCat("value: ", comparison->wrong.front().Text(program));
  if (!options.with_proof) return std::nullopt;
  const absl::StatusOr<ir::SimulationReport> proof =
      ir::CheckBySimulation(sample.graph, compiled->distributed, program);
  if (!proof.ok()) return absl::StrCat("proof: ", proof.status().message());
  return std::nullopt;
}

std::string FailureReport(uint64_t seed, const PlannedGraph& sample, const std::string& failure,
                          const CheckOptions& options) {
  // Smaller meshes and graphs have other stages.
  if (sample.plan.pipeline.has_value())
    return absl::StrCat("seed ", seed, " fails\n  ", failure, "\n", CaseText(sample));
  const std::string stage = StageOf(failure);
  const PlannedGraph smallest = SmallestCase(sample, [&](const PlannedGraph& smaller) {
    const std::optional<std::string> found = FindFailure(smaller, options);
    return found.has_value() && StageOf(*found) == stage;
  });
  return absl::StrCat("seed ", seed, " fails\n  ", failure, "\nthe smallest case like it\n  ",
                      FindFailure(smallest, options).value_or("does not fail"), "\n", CaseText(smallest));
}

}  // namespace cleave::tests::properties
