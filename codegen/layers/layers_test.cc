#include "codegen/layers/layers.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace cleave::codegen {
namespace {

// Buffers by number: 0 is "x", 10 + i "x.i.weight", 20 + i "x.i.out".
std::string BufferName(int buffer) {
  if (buffer == 0) return "x";
  return absl::StrCat("x.", buffer % 10, buffer < 20 ? ".weight" : ".out");
}

// out = weight * the output of the layer before.
Statement Product(int layer, int line = 7) {
  const int before = layer == 0 ? 0 : 20 + layer - 1;
  return {"product", {before, 10 + layer, 20 + layer}, {{absl::StrCat("x.", layer, ".product"), line}}};
}
// Names its own layer, and the one before.
Statement Half(int layer) {
  return {
      "half",
      {20 + layer},
      {{absl::StrCat("x.", layer, ".half"), 7}, {layer == 0 ? "x.grad" : absl::StrCat("x.", layer - 1, ".grad"), 7}}};
}

LayerPlan PlanOf(const std::vector<std::vector<Statement>>& lists) { return PlanLayers(lists, 1, BufferName); }

TEST(LayersTest, ColumnsBecomeFields) {
  const LayerPlan plan = PlanOf({{Product(0), Product(1), Product(2)}});
  ASSERT_EQ(plan.groups.size(), 1u);
  EXPECT_EQ(plan.groups[0].prefix, "x.");
  EXPECT_EQ(plan.groups[0].first, 0);
  EXPECT_EQ(plan.groups[0].count, 3);
  ASSERT_EQ(plan.groups[0].fields.size(), 3u);
  EXPECT_EQ(plan.groups[0].fields[0].name, "previous.out");
  EXPECT_EQ(plan.groups[0].fields[0].buffers, (std::map<int64_t, int>{{0, 0}, {1, 20}, {2, 21}}));
  EXPECT_EQ(plan.groups[0].fields[1].name, "weight");
  EXPECT_EQ(plan.groups[0].fields[2].name, "out");
  ASSERT_EQ(plan.bodies.size(), 1u);
  EXPECT_EQ(plan.bodies[0].fields, (std::vector<std::vector<int>>{{0, 1, 2}}));
  EXPECT_EQ(plan.bodies[0].names[0][0], (LayerText{.text = "x.#.product", .line = 7}));
}

// The output of a layer is its own, and so is the input of the next one, which is the same buffer.
TEST(LayersTest, BuffersBelongToTheLayerOfTheirName) {
  const LayerPlan plan = PlanOf({{Product(0), Product(1), Product(2)}});
  EXPECT_EQ(plan.owners.count(0), 0u) << "no layer's";
  ASSERT_EQ(plan.owners.count(20), 1u);
  EXPECT_EQ(plan.owners.at(20).layer, 0);
  EXPECT_EQ(plan.groups[0].fields[plan.owners.at(20).field].name, "out");
}

TEST(LayersTest, ListsShareFields) {
  const LayerPlan plan = PlanOf({{Product(0), Product(1), Product(2)}, {Half(2), Half(1), Half(0)}});
  ASSERT_EQ(plan.bodies.size(), 2u);
  EXPECT_EQ(plan.groups[0].fields.size(), 3u);
  EXPECT_EQ(plan.bodies[1].fields, (std::vector<std::vector<int>>{{2}}));
}

TEST(LayersTest, NamesAndLinesMayHaveExceptions) {
  const LayerPlan plan = PlanOf({{Half(3), Half(2), Half(1), Half(0)}});
  ASSERT_EQ(plan.bodies.size(), 1u);
  EXPECT_EQ(plan.bodies[0].names[0][1],
            (LayerText{.text = "x.#.grad", .shift = -1, .exceptions = {{0, "x.grad"}}, .line = 7}));

  const LayerPlan lines = PlanOf({{Product(0, 6), Product(1), Product(2), Product(3)}});
  ASSERT_EQ(lines.bodies.size(), 1u);
  EXPECT_EQ(lines.bodies[0].names[0][0].line, 7);
  EXPECT_EQ(lines.bodies[0].names[0][0].other_lines, (std::map<int64_t, int>{{0, 6}}));
}

// Of `(h, c) = cell(h, c)`: what one pass makes has several names.
TEST(LayersTest, ALoopMayHaveSeveralNames) {
  const auto product = [](int i) {
    return Statement{"product", {i == 0 ? 0 : 10 + i - 1, 20 + i}, {{absl::StrCat("h_c.", i, ".product"), 7}}};
  };
  const auto cell = [](int i) {
    return Statement{
        "cell", {20 + i, 10 + i}, {{absl::StrCat("h_c.", i, ".gate"), 7}, {absl::StrCat("h.", i, ".mul"), 7}}};
  };
  const auto put = [](int i) { return Statement{"put", {10 + i, 30 + i}, {{absl::StrCat("h.", i, ".mul"), 7}}}; };
  const LayerPlan plan = PlanLayers(
      {{product(0), cell(0), product(1), cell(1), product(2), cell(2)}, {put(0), put(1), put(2)}}, 1, [](int buffer) {
        if (buffer == 0) return std::string("start");
        if (buffer >= 30) return std::string("begin");
        return buffer < 20 ? absl::StrCat("h.", buffer - 10, ".mul") : absl::StrCat("h_c.", buffer - 20, ".product");
      });
  ASSERT_EQ(plan.groups.size(), 1u);
  EXPECT_EQ(plan.groups[0].prefix, "h_c.");
  std::vector<std::string> names;
  for (const LayerField& field : plan.groups[0].fields) names.push_back(field.name);
  EXPECT_EQ(names, (std::vector<std::string>{"previous.h.mul", "product", "h.mul", "begin"}));
  ASSERT_EQ(plan.bodies.size(), 2u);
  EXPECT_EQ(plan.bodies[0].names[1][1], (LayerText{.text = "h.#.mul", .line = 7}));
  ASSERT_EQ(plan.owners.count(11), 1u);
  EXPECT_EQ(plan.groups[0].fields[plan.owners.at(11).field].name, "h.mul");
}

// What a function only names as that of the next layer has no other place than the layer before.
TEST(LayersTest, WhatOnlyOtherLayersHoldIsTheirs) {
  std::vector<Statement> list;
  for (int i = 0; i < 5; ++i) {
    list.push_back({"next", {20 + i + 1}, {{absl::StrCat("x.", i, ".half"), 7}, {absl::StrCat("x.", i, ".end"), 7}}});
  }
  const LayerPlan plan = PlanOf({list});
  ASSERT_EQ(plan.owners.count(23), 1u);
  EXPECT_EQ(plan.owners.at(23).layer, 2);
  EXPECT_EQ(plan.groups[0].fields[plan.owners.at(23).field].name, "next.out");
}

TEST(LayersTest, WhatHasNoLayersStays) {
  const Statement plain = {"half", {0}, {{"a.half", 1}}};
  EXPECT_TRUE(PlanOf({{plain, plain, plain}}).bodies.empty());
  EXPECT_TRUE(PlanOf({}).bodies.empty());
}

// Some layers may stand apart: layer 2 has no statement here.
TEST(LayersTest, LayersMayBeMissing) {
  const LayerPlan plan = PlanOf({{Half(0), Half(1), Half(3), Half(4)}});
  ASSERT_EQ(plan.bodies.size(), 1u);
  EXPECT_EQ(plan.groups[0].step, 1);
  EXPECT_EQ(plan.groups[0].count, 5);
}

// Even layers have a product, odd ones a half of it; backwards, a body begins with an odd layer.
TEST(LayersTest, LayersMayTakeTurns) {
  const LayerPlan plan =
      PlanOf({{Product(0), Half(1), Product(2), Half(3), Product(4), Half(5)}, {Half(5), Half(3), Half(1)}});
  ASSERT_EQ(plan.groups.size(), 1u);
  EXPECT_EQ(plan.groups[0].first, 0);
  EXPECT_EQ(plan.groups[0].step, 2);
  EXPECT_EQ(plan.groups[0].count, 3);
  ASSERT_EQ(plan.bodies.size(), 2u);
  EXPECT_EQ(plan.bodies[0].names[1][0], (LayerText{.text = "x.#.half", .shift = 1, .line = 7}));
  EXPECT_EQ(plan.bodies[1].occurrences[0].layer, 4) << "layer 5 is the second one of layer 4's turn";
  EXPECT_EQ(plan.bodies[1].names[0][0], (LayerText{.text = "x.#.half", .shift = 1, .line = 7}));
  const size_t odd = static_cast<size_t>(plan.bodies[1].fields[0][0]);
  EXPECT_EQ(plan.groups[0].fields[odd].name, "next.out");
  EXPECT_EQ(plan.owners.at(23).layer, 2);
  EXPECT_EQ(plan.owners.at(23).field, odd);
}

// The same statements in two loops of the model.
TEST(LayersTest, EachLoopHasItsLayers) {
  const auto of = [](const std::string& loop, int layer, int buffer) {
    return Statement{"same", {buffer}, {{absl::StrCat(loop, ".", layer, ".same"), 1}}};
  };
  const Statement before = {"same", {0}, {{"same", 1}}};
  const LayerPlan plan =
      PlanOf({{before, of("x", 0, 10), of("x", 1, 11), of("y", 0, 20), of("y", 1, 21), of("y", 2, 22)}});
  ASSERT_EQ(plan.groups.size(), 2u);
  EXPECT_EQ(plan.groups[0].prefix, "x.");
  EXPECT_EQ(plan.groups[0].count, 2);
  EXPECT_EQ(plan.groups[1].prefix, "y.");
  EXPECT_EQ(plan.groups[1].count, 3);
  ASSERT_EQ(plan.bodies.size(), 2u);
  EXPECT_EQ(plan.bodies[1].occurrences[0].begin, 3);
}

// As many names have the number of the layer as that of the one before: all occurrences decide for the smaller one.
TEST(LayersTest, OfTwoNumbersTheSmallerOneIsTheLayers) {
  const auto both = [](int layer) {
    return Statement{
        "both", {20 + layer}, {{absl::StrCat("x.", layer, ".a"), 1}, {absl::StrCat("x.", layer - 1, ".b"), 1}}};
  };
  const LayerPlan plan = PlanOf({{both(3), both(2), both(1)}});
  ASSERT_EQ(plan.bodies.size(), 1u);
  EXPECT_EQ(plan.groups[0].first, 0);
  EXPECT_EQ(plan.bodies[0].names[0][0], (LayerText{.text = "x.#.a", .shift = 1, .line = 1}));
  EXPECT_EQ(plan.bodies[0].names[0][1], (LayerText{.text = "x.#.b", .line = 1}));
}

// In the first layer the column of `before` and that of `after` have one buffer, in the second they do not.
TEST(LayersTest, TheModelIsClear) {
  const auto both = [](int layer, int before, int after) {
    return Statement{"both", {before, after}, {{absl::StrCat("x.", layer, ".both"), 1}}};
  };
  const LayerPlan plan = PlanOf({{both(0, 20, 20), both(1, 21, 22)}});
  ASSERT_EQ(plan.bodies.size(), 1u);
  EXPECT_EQ(plan.bodies[0].model, 1u);
  EXPECT_TRUE(PlanOf({{both(0, 20, 20), both(1, 22, 22), both(2, 21, 21)}}).bodies.size() == 1u)
      << "always the same buffer: one field";
}

// A sum in place, layer after layer: nothing belongs to a layer, so there is no struct to write.
TEST(LayersTest, LayersWithoutTensorsStay) {
  const auto sum = [](int layer) { return Statement{"sum", {0, 0}, {{absl::StrCat("x.", layer, ".sum"), 1}}}; };
  EXPECT_TRUE(PlanOf({{sum(0), sum(1), sum(2)}}).bodies.empty());
}

// In layer 0 two names are "x.0.a": only another layer shows which text each of them is.
TEST(LayersTest, ANameOfTheModelHasOneText) {
  const auto pair = [](int layer) {
    const std::string own = absl::StrCat("x.", layer, ".a");
    const std::string before = layer == 0 ? own : absl::StrCat("x.", layer - 1, ".a");
    return Statement{"pair", {10 + layer}, {{absl::StrCat("x.", layer, ".b"), 1}, {own, 1}, {before, 1}}};
  };
  const LayerPlan plan = PlanOf({{pair(0), pair(1), pair(2), pair(3)}});
  ASSERT_EQ(plan.bodies.size(), 1u);
  EXPECT_NE(plan.bodies[0].model, 0u);
}

// Iterations within an update stand between those of other parameters, whose names are numbered elsewhere: the loop
// over the layers is the one that can be named.
TEST(LayersTest, ALoopThatNamesNotAllIsNone) {
  std::vector<Statement> list;
  std::map<int, std::string> names = {{0, "x"}};
  const auto buffer = [&](const std::string& name) {
    const int number = static_cast<int>(names.size());
    names[number] = name;
    return number;
  };
  for (int step = 0; step < 5; ++step) {
    list.push_back({"head", {0}, {{absl::StrCat("head.y.", step, ".mul"), 7}}});
    for (int layer = 0; layer < 6; ++layer) {
      const std::string name = absl::StrCat("x.", layer, ".up.y.", step);
      list.push_back({"mul", {buffer(name + ".mul")}, {{name + ".mul", 7}}});
      list.push_back({"add", {buffer(name + ".add")}, {{name + ".add", 7}}});
    }
  }
  const LayerPlan plan = PlanLayers({list}, 1, [&](int number) { return names.at(number); });
  ASSERT_EQ(plan.bodies.size(), 5u);
  for (const LayerBody& body : plan.bodies) EXPECT_EQ(body.occurrences.size(), 6u);
  EXPECT_EQ(plan.bodies[1].names[0][0], (LayerText{.text = "x.#.up.y.1.mul", .line = 7}));
}

}  // namespace
}  // namespace cleave::codegen
