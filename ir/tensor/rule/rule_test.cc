#include "ir/tensor/rule/rule.h"

#include "gtest/gtest.h"

namespace cleave::ir {
namespace {

Rule MatmulRule() {
  return Rule{.factors = {{.name = "i", .size = 4},
                          {.name = "k", .kind = FactorKind::kReduced, .size = 6},
                          {.name = "j", .size = 8}},
              .inputs = {{{0}, {1}}, {{1}, {2}}},
              .output = {{0}, {2}},
              .linear = {{0}, {1}}};
}

TEST(RuleTest, Text) {
  EXPECT_EQ(MatmulRule().ToString(), "i k, k j -> i j");
  const Rule flatten{.factors = {{.name = "a", .size = 2}, {.name = "b", .size = 3}},
                     .inputs = {{{0}, {1}}},
                     .output = {{0, 1}},
                     .linear = {{0}}};
  EXPECT_EQ(flatten.ToString(), "a b -> (a b)");
  const Rule loss{.factors = {{.name = "n", .kind = FactorKind::kReduced, .size = 2}},
                  .inputs = {{{0}, {}}, {}},
                  .output = {},
                  .linear = {}};
  EXPECT_EQ(loss.ToString(), "n 1, () -> ()");
  const Rule source{.factors = {{.name = "d0", .size = 2}}, .inputs = {}, .output = {{0}}, .linear = {}};
  EXPECT_EQ(source.ToString(), "-> d0");
}

TEST(RuleTest, SoundRuleHasNoError) { EXPECT_EQ(FindRuleError(MatmulRule(), {{4, 6}, {6, 8}}, {4, 8}), ""); }

TEST(RuleTest, FindsErrors) {
  const std::vector<Shape> inputs = {{4, 6}, {6, 8}};
  const Shape output = {4, 8};
  struct SpoiledRule {
    std::string expected;
    void (*spoil)(Rule& rule);
  };
  const std::vector<SpoiledRule> cases = {
      {"the op has 2 inputs, the rule 1", [](Rule& rule) { rule.inputs.pop_back(); }},
      {"input 0 has 2 dimensions, the rule names 1",
       [](Rule& rule) {
         rule.inputs[0] = {{0, 1}};
       }},
      {"dimension 1 of input 0 has 6 elements, its factors 5", [](Rule& rule) { rule.factors[1].size = 5; }},
      {"input 1 names factor 9 of 3", [](Rule& rule) { rule.inputs[1][0] = {9}; }},
      {"the output names factor i twice",
       [](Rule& rule) {
         rule.output = {{0, 0}, {2}};
       }},
      {"factor name `i` is empty or taken", [](Rule& rule) { rule.factors[2].name = "i"; }},
      {"parallel factor k is not in the output", [](Rule& rule) { rule.factors[1].kind = FactorKind::kParallel; }},
      {"reduced factor j is in the output", [](Rule& rule) { rule.factors[2].kind = FactorKind::kReduced; }},
      {"factor u is nowhere used", [](Rule& rule) { rule.factors.push_back({.name = "u"}); }},
      {"a linear group names input 2 of 2", [](Rule& rule) { rule.linear = {{2}}; }},
      {"a linear group is empty", [](Rule& rule) { rule.linear = {{}}; }},
  };
  for (const SpoiledRule& item : cases) {
    Rule rule = MatmulRule();
    item.spoil(rule);
    EXPECT_EQ(FindRuleError(rule, inputs, output), item.expected);
  }
}

}  // namespace
}  // namespace cleave::ir
