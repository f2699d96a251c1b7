#include "frontend/scope/scope.h"

#include <gtest/gtest.h>

namespace cleave::frontend {
namespace {

Binding Int(const std::string& name, int64_t value) {
  return {name, Span(), BindingKind::kLet, false, false, Value{value}};
}

TEST(ScopeTest, TheInnermostBindingWins) {
  Scope scope;
  scope.Define(Int("a", 1));
  scope.Push();
  scope.Define(Int("a", 2));
  EXPECT_EQ(scope.Find("a")->value, Value{int64_t{2}});
  EXPECT_EQ(scope.Pop().size(), 1u);
  EXPECT_EQ(scope.Find("a")->value, Value{int64_t{1}});
  EXPECT_EQ(scope.Find("b"), nullptr);
}

TEST(ScopeTest, OnlyTheInnermostBlockIsSearchedForDuplicates) {
  Scope scope;
  scope.Define(Int("a", 1));
  EXPECT_NE(scope.FindInBlock("a"), nullptr);
  scope.Push();
  EXPECT_EQ(scope.FindInBlock("a"), nullptr);
}

TEST(ScopeTest, ValuesThatOutliveABlock) {
  Scope scope;
  scope.Define(Int("a", 1));
  scope.Push();
  scope.Define(Int("b", 2));
  scope.Push();
  scope.Define(Int("c", 3));
  EXPECT_EQ(scope.ValuesAround(), (std::vector<Value>{Value{int64_t{1}}, Value{int64_t{2}}}));
}

TEST(ScopeTest, GivesBindingsBackInOrder) {
  Scope scope;
  scope.Push();
  scope.Define(Int("b", 1));
  scope.Define(Int("a", 2));
  EXPECT_EQ(scope.Names(), (std::vector<std::string>{"b", "a"}));
  const std::vector<Binding> bindings = scope.Pop();
  ASSERT_EQ(bindings.size(), 2u);
  EXPECT_EQ(bindings[0].name, "b");
  EXPECT_EQ(bindings[1].name, "a");
}

}  // namespace
}  // namespace cleave::frontend
