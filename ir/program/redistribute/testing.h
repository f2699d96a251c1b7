// Layouts and redistributions as text, for tests.
#ifndef CLEAVE_IR_PROGRAM_REDISTRIBUTE_TESTING_H_
#define CLEAVE_IR_PROGRAM_REDISTRIBUTE_TESTING_H_

#include <string>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "ir/program/redistribute/redistribute.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"

namespace cleave::ir {

inline Layout LayoutOf(absl::string_view text, const Mesh& mesh) {
  absl::StatusOr<Layout> layout = ParseLayout(text, mesh);
  EXPECT_TRUE(layout.ok()) << text << ": " << layout.status();
  return *layout;
}

inline std::string MoveText(const Move& move, const Mesh& mesh) {
  const std::string what = move.collective.has_value() ? std::string(CollectiveKindName(*move.collective)) : "slice";
  return what + " " + LayoutText(move.result, mesh);
}

// "all_gather [-]; slice [m1]"
inline std::string PathText(const Mesh& mesh, const Shape& shape, absl::string_view source, absl::string_view target) {
  const TensorType type{DType::kF32, shape};
  const auto plan = PlanRedistribution(mesh, type, LayoutOf(source, mesh), LayoutOf(target, mesh));
  if (!plan.ok()) return std::string(plan.status().message());
  std::string text;
  for (const Move& move : plan->moves) text += (text.empty() ? "" : "; ") + MoveText(move, mesh);
  return text;
}

inline double CostOf(const Mesh& mesh, const Shape& shape, absl::string_view source, absl::string_view target) {
  return PlanRedistribution(mesh, {DType::kF32, shape}, LayoutOf(source, mesh), LayoutOf(target, mesh))->cost;
}

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_REDISTRIBUTE_TESTING_H_
