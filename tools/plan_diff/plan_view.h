// The contents of a plan.json that are compared, read without its model.
#ifndef CLEAVE_TOOLS_PLAN_DIFF_PLAN_VIEW_H_
#define CLEAVE_TOOLS_PLAN_DIFF_PLAN_VIEW_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace cleave::tools {

struct OpView {
  std::string name;
  std::string cuts;  // "i: m0 m1, k: m2", or "whole"; then the axes that pass through and the layout that readers see.
  std::optional<double> cost;  // The cost of the chosen way; nullopt where there was no choice.

  bool operator==(const OpView&) const = default;
};

struct TensorView {
  std::string name;
  std::string layout;  // "f32[512, 784] as [m0, -] partial(m2: sum)"

  bool operator==(const TensorView&) const = default;
};

struct CollectiveView {
  std::string kind, phase;
  double sent_bytes = 0;  // By each rank.

  bool operator==(const CollectiveView&) const = default;
};

struct PlanView {
  std::vector<std::pair<std::string, std::string>>
      settings;  // The settings of the compile: model, cluster, mesh, search.
  std::vector<OpView> ops;
  std::vector<TensorView> tensors;
  std::vector<CollectiveView> collectives;
  std::vector<std::pair<std::string, double>> figures;  // Cost, bound, bytes, seconds, memory by kind.

  bool operator==(const PlanView&) const = default;
};

// An InvalidArgument error for broken JSON, a key that is given twice in one object, another format or version, and a
// field that is missing or of another type. Fields that are not compared may be missing.
absl::StatusOr<PlanView> ReadPlanView(absl::string_view text);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_PLAN_DIFF_PLAN_VIEW_H_
