// The compiler's proof catches every program that was broken on purpose.

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/testing/graphs.h"
#include "ir/testing/random_plan.h"
#include "ir/testing/seed.h"
#include "ir/testing/sources.h"
#include "tests/properties/case.h"
#include "tests/properties/verdict.h"

namespace cleave::tests::properties {
namespace {

constexpr uint64_t kCases = 25;
constexpr uint64_t kMostCases = 400;  // For mutations that have not found anything to break until then.
constexpr int kPlaces = 2;

// The mutations that have not broken anything.
std::vector<Mutation> Missing(const VerdictTable& table) {
  std::vector<Mutation> missing;
  for (const Mutation& mutation : Mutations()) {
    const auto found = table.find(mutation.name);
    if (found == table.end() || found->second.applied <= found->second.equivalent) missing.push_back(mutation);
  }
  return missing;
}

TEST(MutantsTest, AreAllCaught) {
  const uint64_t seed = ir::TestSeed();
  VerdictTable table;
  for (uint64_t i = 0; i < kMostCases; ++i) {
    const std::vector<Mutation> mutations = i < kCases ? Mutations() : Missing(table);
    if (mutations.empty()) break;
    // Now and then on more ranks than the proof simulates.
    const int64_t most_ranks = i % 8 == 0 ? 32 : 12;
    const PlannedGraph sample = RandomCase(seed + i, {.most_ops = 8, .most_ranks = most_ranks, .largest_size = 6});
    const absl::StatusOr<Compiled> compiled = Compile(sample);
    ASSERT_TRUE(compiled.ok()) << compiled.status() << "\nof case " << seed + i << "\n" << CaseText(sample);
    const std::vector<std::string> missed = TryMutants(*compiled, mutations, kPlaces, seed + i, table);
    EXPECT_TRUE(missed.empty()) << absl::StrJoin(missed, "\n") << "\nof case " << seed + i << "\n" << CaseText(sample);
  }
  std::cout << TableText(table);
  for (const auto& [name, verdicts] : table) {
    EXPECT_GT(verdicts.applied, verdicts.equivalent) << "nothing to break: " << name;
  }
}

// Two layers with dropout.
ir::Graph DroppedLayers() {
  ir::GraphBuilder b;
  const ir::OpId x = ir::AddInput(b, "x", {6, 5});
  const ir::OpId y = ir::AddInput(b, "y", {6, 5});
  ir::OpId h = x;
  for (const char* layer : {"a", "b"}) {
    const std::string name = layer;
    const ir::OpId weight = ir::AddParameter(b, name + ".weight", {5, 5});
    const ir::OpId product = b.Add(ir::OpKind::kMatmul, {h, weight}, {}, name + ".matmul");
    const ir::OpId active = b.Add(ir::OpKind::kTanh, {product}, {}, name + ".tanh");
    h = b.Add(ir::OpKind::kDropout, {active}, {{ir::attribute::kRate, 0.5}, {ir::attribute::kKey, name}},
              name + ".dropout");
  }
  const ir::OpId square = b.Add(ir::OpKind::kSquare, {h}, {}, "square");
  b.mutable_graph().loss = b.Add(ir::OpKind::kMse, {square, y}, {}, "loss");
  return ir::TrainingGraph(std::move(b).Build(), {.kind = ir::TestOptimizer::Kind::kSgd, .rate = 0.1});
}

// Random plans of this graph, in which ops have `retention`, do not survive `mutations`.
void CheckMutants(ir::Retention retention, const std::vector<Mutation>& mutations) {
  const uint64_t seed = ir::TestSeed();
  const ir::Graph graph = DroppedLayers();
  VerdictTable table;
  for (uint64_t i = 0; i < 20; ++i) {
    ir::Random random(seed + i);
    const ir::Mesh mesh = ir::RandomMesh(1 + static_cast<int64_t>(random() % 4), random);
    PlannedGraph sample{.graph = graph, .plan = ir::RandomPlan(graph, mesh, random)};
    for (const ir::Op& op : graph.ops) {
      if (ir::CanBeRecomputed(graph, op)) sample.plan.ops[op.id].retention = retention;
    }
    const absl::StatusOr<Compiled> compiled = Compile(sample);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    const std::vector<std::string> missed = TryMutants(*compiled, mutations, kPlaces, seed + i, table);
    EXPECT_TRUE(missed.empty()) << absl::StrJoin(missed, "\n") << "\nof seed " << seed + i << "\n" << CaseText(sample);
  }
  std::cout << TableText(table);
  for (const auto& [name, verdicts] : table) {
    EXPECT_GT(verdicts.applied, verdicts.equivalent) << "nothing to break: " << name;
  }
}

TEST(MutantsTest, WhatIsComputedAgainIsChecked) { CheckMutants(ir::Retention::kRecompute, RecomputationMutations()); }

TEST(MutantsTest, WhatWaitsOnTheHostIsChecked) { CheckMutants(ir::Retention::kOffload, HostCopyMutations()); }

}  // namespace
}  // namespace cleave::tests::properties
