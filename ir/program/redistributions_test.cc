#include "ir/program/redistributions.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cleave::ir {
namespace {

// Values of f32[8, 4] on a mesh a=2, b=2, and the steps between them.
class Redistributions : public testing::Test {
 protected:
  Redistributions() {
    program_.model = "Small";
    program_.file = "small.model";
    program_.mesh = *Mesh::Create({{.name = "a", .size = 2}, {.name = "b", .size = 2}});
  }

  ValueId AddValue(const std::string& name, Layout layout) {
    const ValueId id(static_cast<int64_t>(program_.values.size()));
    program_.values.push_back(
        {.name = name, .type = {DType::kF32, {8, 4}}, .layout = std::move(layout), .origin = OpId(0)});
    return id;
  }

  void AddCollective(CollectiveKind kind, AxisId axis, std::vector<Transfer> transfers, const std::string& name,
                     Phase phase) {
    Collective collective{.kind = kind, .axes = {axis}, .transfers = std::move(transfers)};
    program_.steps.push_back({.action = std::move(collective), .name = name, .phase = phase, .line = 3});
  }

  static Layout Cut(AxisList rows, std::vector<PartialAxis> partial = {}) {
    return {.dimensions = {std::move(rows), {}}, .partial = std::move(partial)};
  }

  const AxisId a_ = AxisId(0), b_ = AxisId(1);
  Program program_;
};

TEST_F(Redistributions, AChainIsOneUntilSomebodyElseReadsIt) {
  const ValueId y = AddValue("y", Cut({a_, b_}));
  const ValueId half = AddValue("y.all_gather", Cut({a_}));
  const ValueId whole = AddValue("y.all_gather_1", Cut({}));
  AddCollective(CollectiveKind::kAllGather, b_, {{.input = y, .output = half, .from_dimension = 0}}, "y.all_gather",
                Phase::kForward);
  AddCollective(CollectiveKind::kAllGather, a_, {{.input = half, .output = whole, .from_dimension = 0}},
                "y.all_gather_1", Phase::kForward);
  EXPECT_EQ(RedistributionsOf(program_), (std::vector<ProgramRedistribution>{{y, whole, {0, 1}}}));
  EXPECT_EQ(RedistributionsText(program_),
            "y f32[8, 4]: [a b, -] -> [-, -]; all_gather(b) 64 B as y.all_gather; all_gather(a) 128 B as "
            "y.all_gather_1; forward, small.model:3\n"
            "total: 1 redistribution, 2 collectives, 192 B, 96 B sent per rank\n");

  program_.steps.push_back({.action = Slice{half, AddValue("y.local_slice", Cut({a_}))}, .name = "y.local_slice"});
  EXPECT_EQ(RedistributionsOf(program_).size(), 3u);
}

TEST_F(Redistributions, TensorsOfAMergedCollectiveAreListedEach) {
  const PartialAxis sum{.axis = a_, .reduction = Reduction::kSum};
  const ValueId v = AddValue("v.grad", Cut({}, {sum})), w = AddValue("w.grad", Cut({b_}, {sum}));
  AddCollective(
      CollectiveKind::kAllReduce, a_,
      {{.input = v, .output = AddValue("v.sum", Cut({}))}, {.input = w, .output = AddValue("w.sum", Cut({b_}))}},
      "gradients.all_reduce", Phase::kUpdate);
  EXPECT_EQ(RedistributionsText(program_),
            "v.grad f32[8, 4]: [-, -] partial(a: sum) -> [-, -]; all_reduce(a) 128 B as gradients.all_reduce; update, "
            "small.model:3\n"
            "w.grad f32[8, 4]: [b, -] partial(a: sum) -> [b, -]; all_reduce(a) 64 B as gradients.all_reduce; update, "
            "small.model:3\n"
            "total: 2 redistributions, 1 collective, 192 B, 192 B sent per rank\n");
}

TEST_F(Redistributions, AManualModelHasNone) {
  const ValueId y = AddValue("y", Cut({a_, b_}));
  AddCollective(CollectiveKind::kAllGather, b_, {{.input = y, .output = AddValue("z", Cut({a_})), .from_dimension = 0}},
                "y.all_gather", Phase::kForward);
  program_.is_manual = true;
  EXPECT_TRUE(RedistributionsOf(program_).empty());
}

}  // namespace
}  // namespace cleave::ir
