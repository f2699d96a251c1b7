#include "dsl/syntax/print.h"

#include <gtest/gtest.h>

#include <string>

#include "dsl/syntax/syntax.h"

namespace cleave::dsl::syntax {
namespace {

Expression Make(Expression::Kind kind) { return {.span = {}, .kind = std::move(kind)}; }
Expression NameOf(std::string text) { return Make(Name{.text = std::move(text)}); }
Expression Integer(int64_t value) { return Make(IntegerLiteral{.value = value, .text = std::to_string(value)}); }
Identifier Id(std::string text) { return {.span = {}, .text = std::move(text)}; }
Argument Positional(Expression value) { return {.span = {}, .name = std::nullopt, .value = std::move(value)}; }
Argument Named(std::string name, Expression value) {
  return {.span = {}, .name = Id(std::move(name)), .value = std::move(value)};
}

TEST(PrintTreeTest, Expressions) {
  const Expression call =
      Make(Call{.callee = NameOf("f"), .arguments = {Positional(NameOf("x")), Named("n", Integer(2))}});
  EXPECT_EQ(PrintTree(call), "(call f x n: 2)");
  EXPECT_EQ(PrintTree(Make(Negate{.operand = call})), "(- (call f x n: 2))");
  EXPECT_EQ(PrintTree(Make(
                Binary{.op = BinaryOperator::kLessEqual, .operator_span = {}, .left = NameOf("a"), .right = call})),
            "(<= a (call f x n: 2))");
  EXPECT_EQ(PrintTree(Make(Tuple{.elements = {}})), "(tuple)");
  EXPECT_EQ(PrintTree(Make(Wildcard{})), "_");
  EXPECT_EQ(PrintTree(Make(StringLiteral{.value = "a\"\n"})), "\"a\\\"\\n\"");
  const Subscript from{.span = {}, .is_range = true, .begin = Integer(1), .end = std::nullopt};
  const Subscript at{.span = {}, .is_range = false, .begin = Integer(0), .end = std::nullopt};
  EXPECT_EQ(PrintTree(Make(Index{.base = NameOf("x"), .subscripts = {from, at}})), "(index x (range 1 ..) 0)");
  const Map map{.entries = {{.span = {}, .key_span = {}, .key = {.value = "k"}, .value = Integer(1)}}};
  EXPECT_EQ(PrintTree(Make(map)), "(map \"k\": 1)");
}

TEST(PrintTreeTest, AttributesShowWhetherTheyHaveParentheses) {
  const Attribute bare{.span = {}, .name = Id("replicate"), .arguments = {}, .has_parentheses = false};
  const Attribute empty{.span = {}, .name = Id("region"), .arguments = {}, .has_parentheses = true};
  EXPECT_EQ(PrintTree(Make(Attributed{.attributes = {bare, empty}, .operand = NameOf("x")})),
            "(with #replicate #(region) x)");
}

TEST(PrintTreeTest, Types) {
  const Dimension rest{.span = {}, .kind = Id("n")};
  const Dimension fixed{.span = {}, .kind = Integer(3)};
  EXPECT_EQ(PrintTree(Type{.span = {}, .element = Id("int"), .dimensions = std::nullopt}), "int");
  EXPECT_EQ(PrintTree(Type{.span = {}, .element = Id("f32"), .dimensions = {{}}}), "(type f32)");
  EXPECT_EQ(PrintTree(Type{.span = {}, .element = Id("f32"), .dimensions = {{rest, fixed}}}), "(type f32 ..n 3)");
}

TEST(PrintTreeTest, SeveralNamesAndResults) {
  const Type scalar{.span = {}, .element = Id("int"), .dimensions = std::nullopt};
  const Let let{.names = {Id("a"), Id("_")}, .type = std::nullopt, .value = NameOf("x")};
  const Assign assign{.names = {Id("a"), Id("b")}, .value = NameOf("x")};
  const Function function{
      .name = Id("f"),
      .parameters = {},
      .results = {scalar, scalar},
      .body = {{.span = {}, .attributes = {}, .kind = let}, {.span = {}, .attributes = {}, .kind = assign}},
      .body_begin = {},
      .body_end = {}};
  File file;
  file.items.push_back({.span = {}, .attributes = {}, .kind = function});
  EXPECT_EQ(PrintTree(file), "fn f -> (tuple int int)\n  let (tuple a _) = x\n  assign (tuple a b) = x\n");
}

TEST(PrintTreeTest, BodiesAreIndented) {
  const Statement assign{.span = {}, .attributes = {}, .kind = Assign{.names = {Id("x")}, .value = NameOf("y")}};
  const Statement loop{
      .span = {},
      .attributes = {},
      .kind = For{.variable = Id("i"), .begin = Integer(0), .end = NameOf("n"), .body = {assign}, .body_begin = {}}};
  const Function function{
      .name = Id("f"), .parameters = {}, .results = {}, .body = {loop}, .body_begin = {}, .body_end = {}};
  File file;
  file.items.push_back({.span = {}, .attributes = {}, .kind = function});
  EXPECT_EQ(PrintTree(file), "fn f\n  for i in 0 .. n\n    assign x = y\n");
}

TEST(BoxTest, CopiesAreDeep) {
  Expression first = Make(Negate{.operand = NameOf("x")});
  Expression second = first;
  EXPECT_EQ(first, second);
  *std::get<Negate>(second.kind).operand = NameOf("y");
  EXPECT_EQ(PrintTree(first), "(- x)");
  EXPECT_NE(first, second);
}

TEST(BoxTest, SpansAreCompared) {
  Expression first = NameOf("x");
  Expression second = first;
  second.span.end = 1;
  EXPECT_NE(first, second);
  EXPECT_EQ(PrintTree(first), PrintTree(second));
}

}  // namespace
}  // namespace cleave::dsl::syntax
