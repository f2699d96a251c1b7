#include "codegen/roll/roll.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/roll/unroll.h"
#include "gtest/gtest.h"

namespace cleave::codegen {
namespace {

constexpr ir::TextPlace kLoop = 1;
constexpr ir::TextPlace kOtherLoop = 2;

// What a loop calls its op of a pass: "x.3.half" by prefix "x.".
Statement::Name In(const std::string& prefix, int number, const std::string& op, int line, ir::TextPlace loop = kLoop) {
  return {absl::StrCat(prefix, number, ".", op), line, {{loop, number}}};
}

Buffer BufferIn(const std::string& prefix, int number, const std::string& name, int64_t begin) {
  return {absl::StrCat(prefix, number, ".", name), {{kLoop, number}}, {.kind = Place::Kind::kDevice, .begin = begin}};
}

// By number: 0 is "x", 10 + i "x.i.weight", 20 + i "x.i.out". They lie 100 bytes apart.
Buffer BufferOf(int buffer) {
  if (buffer == 0) return {"x", {}, {.kind = Place::Kind::kDevice}};
  return BufferIn("x.", buffer % 10, buffer < 20 ? "weight" : "out", buffer * 100);
}

// out = weight * the output of the layer before.
Statement Product(int layer, int line = 7) {
  const int before = layer == 0 ? 0 : 20 + layer - 1;
  return {"product", {before, 10 + layer, 20 + layer}, {In("x.", layer, "product", line)}};
}
// Names its own layer, and the one before.
Statement Half(int layer) {
  return {"half",
          {20 + layer},
          {In("x.", layer, "half", 7), layer == 0 ? Statement::Name{"x.grad", 7} : In("x.", layer - 1, "grad", 7)}};
}

RolledProgram PlanOf(const std::vector<std::vector<Statement>>& lists) {
  const RolledProgram plan = Roll(lists, {}, BufferOf);
  EXPECT_TRUE(CheckUnrolled(plan, lists, 1, BufferOf).ok()) << CheckUnrolled(plan, lists, 1, BufferOf);
  return plan;
}

TEST(RollTest, ColumnsBecomeFields) {
  const RolledProgram plan = PlanOf({{Product(0), Product(1), Product(2)}});
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
  EXPECT_EQ(plan.bodies[0].names[0][0], (NameForm{.text = "x.#.product", .line = 7}));
}

// The output of a layer is its own, and so is the input of the next one, which is the same buffer.
TEST(RollTest, BuffersBelongToTheLayerOfTheirName) {
  const RolledProgram plan = PlanOf({{Product(0), Product(1), Product(2)}});
  EXPECT_EQ(plan.owners.count(0), 0u) << "no layer's";
  ASSERT_EQ(plan.owners.count(20), 1u);
  EXPECT_EQ(plan.owners.at(20).layer, 0);
  EXPECT_EQ(plan.groups[0].fields[plan.owners.at(20).field].name, "out");
}

TEST(RollTest, ListsShareFields) {
  const RolledProgram plan = PlanOf({{Product(0), Product(1), Product(2)}, {Half(2), Half(1), Half(0)}});
  ASSERT_EQ(plan.bodies.size(), 2u);
  EXPECT_EQ(plan.groups[0].fields.size(), 3u);
  EXPECT_EQ(plan.bodies[1].fields, (std::vector<std::vector<int>>{{2}}));
}

TEST(RollTest, NamesAndLinesMayHaveExceptions) {
  const RolledProgram plan = PlanOf({{Half(3), Half(2), Half(1), Half(0)}});
  ASSERT_EQ(plan.bodies.size(), 1u);
  EXPECT_EQ(plan.bodies[0].names[0][1],
            (NameForm{.text = "x.#.grad", .shift = -1, .exceptions = {{0, "x.grad"}}, .line = 7}));

  const RolledProgram lines = PlanOf({{Product(0, 6), Product(1), Product(2), Product(3)}});
  ASSERT_EQ(lines.bodies.size(), 1u);
  EXPECT_EQ(lines.bodies[0].names[0][0].line, 7);
  EXPECT_EQ(lines.bodies[0].names[0][0].other_lines, (std::map<int64_t, int>{{0, 6}}));
}

// Of `(h, c) = cell(h, c)`: what one pass makes has several names.
TEST(RollTest, ALoopMayHaveSeveralNames) {
  const auto product = [](int i) {
    return Statement{"product", {i == 0 ? 0 : 10 + i - 1, 20 + i}, {In("h_c.", i, "product", 7)}};
  };
  const auto cell = [](int i) {
    return Statement{"cell", {20 + i, 10 + i}, {In("h_c.", i, "gate", 7), In("h.", i, "mul", 7)}};
  };
  const auto put = [](int i) { return Statement{"put", {10 + i, 30 + i}, {In("h.", i, "mul", 7)}}; };
  const RolledProgram plan =
      Roll({{product(0), cell(0), product(1), cell(1), product(2), cell(2)}, {put(0), put(1), put(2)}}, {},
           [](int buffer) -> Buffer {
             if (buffer == 0) return {"start"};
             if (buffer >= 30) return {"begin", {}, {.begin = buffer}};
             if (buffer < 20) return BufferIn("h.", buffer - 10, "mul", buffer);
             return BufferIn("h_c.", buffer - 20, "product", buffer);
           });
  ASSERT_EQ(plan.groups.size(), 1u);
  EXPECT_EQ(plan.groups[0].prefix, "h_c.");
  std::vector<std::string> names;
  for (const LayerField& field : plan.groups[0].fields) names.push_back(field.name);
  EXPECT_EQ(names, (std::vector<std::string>{"previous.h.mul", "product", "h.mul", "begin"}));
  ASSERT_EQ(plan.bodies.size(), 2u);
  EXPECT_EQ(plan.bodies[0].names[1][1], (NameForm{.text = "h.#.mul", .line = 7}));
  ASSERT_EQ(plan.owners.count(11), 1u);
  EXPECT_EQ(plan.groups[0].fields[plan.owners.at(11).field].name, "h.mul");
}

// What a function only names as that of the next layer has no other place than the layer before.
TEST(RollTest, WhatOnlyOtherLayersHoldIsTheirs) {
  std::vector<Statement> list;
  for (int i = 0; i < 5; ++i) {
    list.push_back({"next", {20 + i + 1}, {In("x.", i, "half", 7), In("x.", i, "end", 7)}});
  }
  const RolledProgram plan = PlanOf({list});
  ASSERT_EQ(plan.owners.count(23), 1u);
  EXPECT_EQ(plan.owners.at(23).layer, 2);
  EXPECT_EQ(plan.groups[0].fields[plan.owners.at(23).field].name, "next.out");
}

TEST(RollTest, WhatHasNoLayersStays) {
  const Statement plain = {"half", {0}, {{"a.half", 1}}};
  EXPECT_TRUE(PlanOf({{plain, plain, plain}}).bodies.empty());
  EXPECT_TRUE(PlanOf({}).bodies.empty());
}

// Some layers may stand apart: layer 2 has no statement here.
TEST(RollTest, LayersMayBeMissing) {
  const RolledProgram plan = PlanOf({{Half(0), Half(1), Half(3), Half(4)}});
  ASSERT_EQ(plan.bodies.size(), 1u);
  EXPECT_EQ(plan.groups[0].step, 1);
  EXPECT_EQ(plan.groups[0].count, 5);
}

// Even layers have a product, odd ones a half of it; backwards, a body begins with an odd layer.
TEST(RollTest, LayersMayTakeTurns) {
  const RolledProgram plan =
      PlanOf({{Product(0), Half(1), Product(2), Half(3), Product(4), Half(5)}, {Half(5), Half(3), Half(1)}});
  ASSERT_EQ(plan.groups.size(), 1u);
  EXPECT_EQ(plan.groups[0].first, 0);
  EXPECT_EQ(plan.groups[0].step, 2);
  EXPECT_EQ(plan.groups[0].count, 3);
  ASSERT_EQ(plan.bodies.size(), 2u);
  EXPECT_EQ(plan.bodies[0].names[1][0], (NameForm{.text = "x.#.half", .shift = 1, .line = 7}));
  EXPECT_EQ(plan.bodies[1].occurrences[0].layer, 4) << "layer 5 is the second one of layer 4's turn";
  EXPECT_EQ(plan.bodies[1].names[0][0], (NameForm{.text = "x.#.half", .shift = 1, .line = 7}));
  const size_t odd = static_cast<size_t>(plan.bodies[1].fields[0][0]);
  EXPECT_EQ(plan.groups[0].fields[odd].name, "next.out");
  EXPECT_EQ(plan.owners.at(23).layer, 2);
  EXPECT_EQ(plan.owners.at(23).field, odd);
}

// The same statements in two loops of the model.
TEST(RollTest, EachLoopHasItsLayers) {
  const auto of = [](const std::string& loop, int layer, int buffer) {
    return Statement{"same", {buffer}, {In(loop + ".", layer, "same", 1, loop == "x" ? kLoop : kOtherLoop)}};
  };
  const Statement before = {"same", {0}, {{"same", 1}}};
  const RolledProgram plan =
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
TEST(RollTest, OfTwoNumbersTheSmallerOneIsTheLayers) {
  const auto both = [](int layer) {
    return Statement{"both", {20 + layer}, {In("x.", layer, "a", 1), In("x.", layer - 1, "b", 1)}};
  };
  const RolledProgram plan = PlanOf({{both(3), both(2), both(1)}});
  ASSERT_EQ(plan.bodies.size(), 1u);
  EXPECT_EQ(plan.groups[0].first, 0);
  EXPECT_EQ(plan.bodies[0].names[0][0], (NameForm{.text = "x.#.a", .shift = 1, .line = 1}));
  EXPECT_EQ(plan.bodies[0].names[0][1], (NameForm{.text = "x.#.b", .line = 1}));
}

// In the first layer the column of `before` and that of `after` have one buffer, in the second they do not.
TEST(RollTest, TheModelIsClear) {
  const auto both = [](int layer, int before, int after) {
    return Statement{"both", {before, after}, {In("x.", layer, "both", 1)}};
  };
  const RolledProgram plan = PlanOf({{both(0, 20, 20), both(1, 21, 22)}});
  ASSERT_EQ(plan.bodies.size(), 1u);
  EXPECT_EQ(plan.bodies[0].clear, std::vector<size_t>{1});
  EXPECT_TRUE(PlanOf({{both(0, 20, 20), both(1, 22, 22), both(2, 21, 21)}}).bodies.size() == 1u)
      << "always the same buffer: one field";
}

// A sum in place, layer after layer: nothing belongs to a layer, so there is no struct to write.
TEST(RollTest, LayersWithoutTensorsStay) {
  const auto sum = [](int layer) { return Statement{"sum", {0, 0}, {In("x.", layer, "sum", 1)}}; };
  EXPECT_TRUE(PlanOf({{sum(0), sum(1), sum(2)}}).bodies.empty());
}

// In layer 0 two names are "x.0.a": only another layer shows which text each of them is.
TEST(RollTest, ANameOfTheModelHasOneText) {
  const auto pair = [](int layer) {
    const Statement::Name own = In("x.", layer, "a", 1);
    const Statement::Name before = layer == 0 ? own : In("x.", layer - 1, "a", 1);
    return Statement{"pair", {10 + layer}, {In("x.", layer, "b", 1), own, before}};
  };
  const RolledProgram plan = PlanOf({{pair(0), pair(1), pair(2), pair(3)}});
  ASSERT_EQ(plan.bodies.size(), 1u);
  EXPECT_NE(plan.bodies[0].model(), 0u);
}

// Iterations within an update stand between those of other parameters, whose names are numbered elsewhere: the loop
// over the layers is the one that can be named.
TEST(RollTest, ALoopThatNamesNotAllIsNone) {
  std::vector<Statement> list;
  std::map<int, Buffer> buffers = {{0, {"x"}}};
  const auto buffer = [&](const Statement::Name& name) {
    const int number = static_cast<int>(buffers.size());
    buffers[number] = {name.text, name.passes, {.kind = Place::Kind::kDevice, .begin = number}};
    return number;
  };
  for (int step = 0; step < 5; ++step) {
    list.push_back({"head", {0}, {In("head.y.", step, "mul", 7, kOtherLoop)}});
    for (int layer = 0; layer < 6; ++layer) {
      for (const std::string op : {"mul", "add"}) {
        Statement::Name name = In("x.", layer, absl::StrCat("up.y.", step, ".", op), 7);
        name.passes.push_back({kOtherLoop, step});
        list.push_back({op, {buffer(name)}, {name}});
      }
    }
  }
  const RolledProgram plan = Roll({list}, {}, [&](int number) { return buffers.at(number); });
  ASSERT_EQ(plan.bodies.size(), 5u);
  for (const LayerBody& body : plan.bodies) EXPECT_EQ(body.occurrences.size(), 6u);
  EXPECT_EQ(plan.bodies[1].names[0][0], (NameForm{.text = "x.#.up.y.1.mul", .line = 7}));
}

}  // namespace
}  // namespace cleave::codegen
