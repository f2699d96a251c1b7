#include "ir/tensor/formula/formula.h"

#include "gtest/gtest.h"
#include "ir/tensor/formula/formula_rule.h"

namespace cleave::ir {
namespace {

std::string Parsed(const char* text) {
  const absl::StatusOr<Formula> formula = ParseFormula(text);
  return formula.ok() ? formula->ToString() : std::string(formula.status().message());
}

std::string ParsedLetters(const char* text) {
  const absl::StatusOr<Formula> formula = ParseLetters(text);
  return formula.ok() ? formula->ToString() : std::string(formula.status().message());
}

TEST(FormulaTest, TextsAreReadAndWritten) {
  EXPECT_EQ(Parsed("b i k,b k j->b i j"), "b i k, b k j -> b i j");
  EXPECT_EQ(Parsed("(h d) n, 1 n -> h d n"), "(h d) n, 1 n -> h d n");
  EXPECT_EQ(Parsed("..n k -> ..n k"), "..n k -> ..n k");
  EXPECT_EQ(Parsed("rows ->"), "rows -> ()");
  EXPECT_EQ(Parsed(", () -> i"), "(), () -> i");
  EXPECT_EQ(Parsed("i i -> i"), "i i -> i");
}

TEST(FormulaTest, CompactForm) {
  EXPECT_EQ(ParsedLetters("bik,bkj->bij"), "b i k, b k j -> b i j");
  EXPECT_EQ(ParsedLetters(" ij -> "), "i j -> ()");
  // A space between two names anywhere: names are words.
  EXPECT_EQ(ParsedLetters("rows, columns -> rows columns"), "rows, columns -> rows columns");
}

TEST(FormulaTest, LettersTextIsReadBack) {
  for (const char* text : {"b i k, b k j -> b i j", "rows -> rows", "rows -> ()", "(), rows k -> rows", "i -> i"}) {
    const Formula formula = *ParseFormula(text);
    const absl::StatusOr<Formula> again = ParseLetters(LettersText(formula));
    ASSERT_TRUE(again.ok()) << text << ": " << again.status();
    EXPECT_EQ(*again, formula) << text;
  }
}

TEST(FormulaTest, MistakesAreNamed) {
  EXPECT_EQ(Parsed("i j"), "`i j` has no `->`: the result must be written too");
  EXPECT_EQ(Parsed("i -> j -> k"), "`i -> j -> k` has two `->`");
  EXPECT_EQ(Parsed("i -> j, k"), "`i -> j, k` has a comma behind `->`: there is one result");
  EXPECT_EQ(Parsed("i (j -> j"), "`(` without `)` in `i (j`");
  EXPECT_EQ(Parsed("i j) -> j"), "`)` without `(` in `i j)`");
  EXPECT_EQ(Parsed("((i j)) -> j"), "parentheses inside of parentheses in `((i j))`");
  EXPECT_EQ(Parsed("2 j -> j"), "`2` is not a name for an index in `2 j`");
  EXPECT_EQ(Parsed("(..n j) -> j"), "`..n` is not a name for an index in `(..n j)`");
  EXPECT_EQ(Parsed("() j -> j"), "`()` stands for a scalar and cannot be used beside names in `() j`");
}

std::string RuleText(const char* text, const std::set<std::string>& whole, const std::vector<Shape>& inputs,
                     const Shape& output) {
  const absl::StatusOr<Formula> formula = ParseFormula(text);
  if (!formula.ok()) return std::string(formula.status().message());
  const absl::StatusOr<Rule> rule = RuleOfFormula(*formula, whole, inputs, output);
  if (!rule.ok()) return std::string(rule.status().message());
  std::string kinds = " |";
  for (const Factor& factor : rule->factors) {
    kinds += " " + factor.name + "=" + std::to_string(factor.size);
    if (factor.kind == FactorKind::kReduced) kinds += " reduced";
    if (factor.kind == FactorKind::kWhole) kinds += " whole";
  }
  return rule->ToString() + kinds;
}

TEST(FormulaTest, RuleOnShapes) {
  EXPECT_EQ(RuleText("i k, k j -> i j", {}, {{2, 3}, {3, 4}}, {2, 4}), "i k, k j -> i j | i=2 k=3 reduced j=4");
  EXPECT_EQ(RuleText("n k -> n k", {"k"}, {{2, 3}}, {2, 3}), "n k -> n k | n=2 k=3 whole");
  EXPECT_EQ(RuleText("(h d) 1 -> h d", {}, {{6, 1}}, {2, 3}), "(h d) 1 -> h d | h=2 d=3");
  // d only stands beside h, whose size is known.
  EXPECT_EQ(RuleText("(h d) -> h", {}, {{6}}, {2}), "(h d) -> h | h=2 d=3 reduced");
}

TEST(FormulaTest, ShapesThatDoNotFit) {
  EXPECT_EQ(RuleText("i k, k j -> i j", {}, {{2, 3}, {5, 4}}, {2, 4}),
            "dimension 0 of input 1 has 5 elements, but `k` is 3 elsewhere");
  EXPECT_EQ(RuleText("(h d) -> h", {}, {{7}}, {2}), "dimension 0 of input 0 has 7 elements, but its indexes make 6");
  EXPECT_EQ(RuleText("n -> n", {}, {{2, 3}}, {2}), "input 0 has 2 dimensions, the formula names 1");
  EXPECT_EQ(RuleText("n, n -> n", {}, {{2}}, {2}), "the formula has 2 inputs, the call 1");
  EXPECT_EQ(RuleText("(h d) ->", {}, {{6}}, {}), "the size of `h` does not follow from the shapes");
  EXPECT_EQ(RuleText("n n -> n", {"n"}, {{2, 2}}, {2}), "input 0 names factor n twice");
}

}  // namespace
}  // namespace cleave::ir
