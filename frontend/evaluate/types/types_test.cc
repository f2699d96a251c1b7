// Tests declared types, and arguments bound to them.
#include "frontend/evaluate/types/types.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/evaluate/frame/testing.h"
#include "frontend/evaluate/types/parameter_types.h"

namespace cleave::frontend {
namespace {

Value PerRankInts() { return *PerRank({Value{int64_t{3}}, Value{int64_t{4}}}); }

void CheckTensorType(const std::string& type, const std::string& expected) {
  TestBench bench(absl::StrCat("model M() { let y: ", type, " = 1; }"), {{"world", 2}});
  bench.Define("batch", Value{int64_t{8}});
  bench.Define("rank", PerRankInts());
  bench.frame.rests["n"] = {2, 3};
  const auto& let = std::get<dsl::syntax::Let>(std::get<dsl::syntax::Model>(bench.file().items[0].kind).body[0].kind);
  const auto result = EvaluateTensorType(*let.type, bench.frame, bench.context);
  EXPECT_EQ(result ? result->ToString() : bench.Messages(), expected) << type;
}

TEST(TypesTest, TensorTypes) {
  CheckTensorType("f32[]", "f32[]");
  CheckTensorType("i32[batch]", "i32[8]");
  CheckTensorType("f32[batch / 2, 2 * 3]", "f32[4, 6]");
  CheckTensorType("f32[..n, 4]", "f32[2, 3, 4]");
  CheckTensorType("f32", "E0204: a tensor type needs its dimensions");
  CheckTensorType("bool[4]", "E0201: unknown element type `bool`");
  CheckTensorType("bf16[4]", "E0201: unknown element type `bf16`");
  CheckTensorType("f16[4]", "E0201: unknown element type `f16`");
  CheckTensorType("f32[..m]", "E0201: unknown list of dimensions `..m`");
  CheckTensorType("f32[0]", "E0207: a dimension must be positive");
  CheckTensorType("f32[batch - 9]", "E0207: a dimension must be positive");
  CheckTensorType("f32[2.5]", "E0204: a dimension must be an int");
  CheckTensorType("f32[rank]", "E0702: a dimension that differs between ranks");
  CheckTensorType("f32[9007199254740991]", "f32[9007199254740991]");
  CheckTensorType("f32[9007199254740992]", "E0215: a tensor with too many elements");
  CheckTensorType("f32[4294967296, 4294967296, 4294967296]", "E0215: a tensor with too many elements");
  CheckTensorType("f32[0, 2.5]", "E0207: a dimension must be positive\nE0204: a dimension must be an int");
}

void CheckDeclared(const std::string& type, Value value, const std::string& expected) {
  TestBench bench(absl::StrCat("model M() { let y: ", type, " = 1; }"));
  const ir::OpId x = bench.DefineTensor("x", {ir::DType::kF32, {8, 6}});
  if (value.is_tensor()) value = Value{TensorValue{x}};
  const auto& let = std::get<dsl::syntax::Let>(std::get<dsl::syntax::Model>(bench.file().items[0].kind).body[0].kind);
  const bool ok = CheckType(*let.type, value, Span(), "`y`", bench.frame, bench.context);
  EXPECT_EQ(ok ? bench.TextOf(value) : bench.Messages(), expected) << type;
}

TEST(TypesTest, DeclaredTypes) {
  const Value tensor{TensorValue{ir::OpId(0)}};
  CheckDeclared("int", Value{int64_t{3}}, "3");
  CheckDeclared("float", Value{int64_t{3}}, "3.0");
  CheckDeclared("bool", Value{true}, "true");
  CheckDeclared("string", Value{std::string("a")}, "\"a\"");
  CheckDeclared("int", Value{0.5}, "E0204: `y` is declared `int`");
  CheckDeclared("bool", Value{int64_t{1}}, "E0204: `y` is declared `bool`");
  CheckDeclared("f32[8, 6]", tensor, "f32[8, 6]");
  CheckDeclared("f32[8, 5]", tensor, "E0206: `y` is f32[8, 6], not f32[8, 5]");
  CheckDeclared("i32[8, 6]", tensor, "E0206: `y` is f32[8, 6], not i32[8, 6]");
  CheckDeclared("f32[8, 6]", Value{int64_t{1}}, "E0204: `y` is an int, not f32[8, 6]");
}

// The names that are bound, "k=6", and lists of dimensions, "..n=[8]"; else the mistakes.
void CheckBinding(const std::string& parameters, const std::vector<Value>& values, const std::string& expected) {
  std::string call = "f(";
  for (size_t i = 0; i < values.size(); ++i) absl::StrAppend(&call, i == 0 ? "" : ", ", "a", i);
  TestBench bench(absl::StrCat(LetText(call + ")"), " fn f(", parameters, ") { }"));
  bench.DefineTensor("m", {ir::DType::kF32, {8, 6}});
  bench.DefineTensor("v", {ir::DType::kF32, {6}});
  Function function;
  function.syntax = &std::get<dsl::syntax::Function>(bench.file().items[1].kind);
  Frame callee;
  callee.function = &function;
  std::vector<const dsl::syntax::Argument*> matched;
  for (const dsl::syntax::Argument& argument : bench.call().call.arguments) matched.push_back(&argument);
  std::vector<Value> all = values;
  matched.resize(function.syntax->parameters.size(), nullptr);
  all.resize(matched.size(), Value{Poison()});
  if (!BindArguments(function, matched, all, callee, bench.context)) {
    EXPECT_EQ(bench.Messages(), expected) << parameters;
    return;
  }
  std::vector<std::string> texts;
  for (const Binding& binding : callee.scope.Pop()) {
    texts.push_back(absl::StrCat(binding.name, "=", bench.TextOf(binding.value)));
  }
  for (const auto& [name, sizes] : callee.rests) texts.push_back(absl::StrCat("..", name, "=", ir::ShapeText(sizes)));
  EXPECT_EQ(absl::StrJoin(texts, " "), expected) << parameters;
}

const Value kMatrix{TensorValue{ir::OpId(0)}};  // f32[8, 6]
const Value kVector{TensorValue{ir::OpId(1)}};  // f32[6]

TEST(ParameterTypesTest, BindsSymbols) {
  CheckBinding("x: f32[n, k]", {kMatrix}, "n=8 k=6 x=f32[8, 6]");
  CheckBinding("x: f32[..n, k]", {kMatrix}, "k=6 x=f32[8, 6] ..n=8");
  CheckBinding("x: f32[..n, k]", {kVector}, "k=6 x=f32[6] ..n=scalar");
  CheckBinding("x: f32[n, k], w: f32[k]", {kMatrix, kVector}, "n=8 k=6 x=f32[8, 6] w=f32[6]");
  CheckBinding("x: f32[8, 2 * k], k: int", {kMatrix, Value{int64_t{3}}}, "k=3 x=f32[8, 6]");
  CheckBinding("x: f32[n, k], k: int = 6", {kMatrix}, "k=6 n=8 x=f32[8, 6]");
  CheckBinding("a: float", {Value{int64_t{2}}}, "a=2.0");
  CheckBinding("a: bool = true", {}, "a=true");
}

TEST(ParameterTypesTest, WhatDoesNotFit) {
  CheckBinding("x: f32[k]", {kMatrix}, "E0206: argument `x` of `f` is f32[k], not 8x6");
  CheckBinding("x: f32[a, b, ..n, c]", {kMatrix}, "E0206: argument `x` of `f` is f32[a, b, ..n, c], not 8x6");
  CheckBinding("x: f32[k, k]", {kMatrix}, "E0206: argument `x` of `f` is f32[k, k], not 8x6");
  CheckBinding("x: f32[..n], w: f32[..n]", {kMatrix, kVector}, "E0206: argument `w` of `f` is f32[..n], not 6");
  CheckBinding("x: f32[..n, ..n]", {kMatrix}, "E0206: two lists of dimensions in one type");
  CheckBinding("x: f32[n, 5]", {kMatrix}, "E0206: argument `x` of `f` is f32[n, 5], not 8x6");
  CheckBinding("x: f32[n, 2.5]", {kMatrix}, "E0204: a dimension must be an int");
  CheckBinding("x: i32[n, k]", {kMatrix}, "E0204: argument `x` of `f` is `i32[n, k]`");
  CheckBinding("x: f32[n, k]", {Value{int64_t{1}}}, "E0204: argument `x` of `f` is `f32[n, k]`");
  CheckBinding("a: int", {Value{0.5}}, "E0204: argument `a` of `f` is `int`");
  CheckBinding("a: int", {kMatrix}, "E0204: argument `a` of `f` is `int`");
  CheckBinding("x: f16[n]", {kMatrix}, "E0201: unknown type `f16`");
  CheckBinding("x: f32", {kMatrix}, "E0204: a tensor type needs its dimensions");
}

}  // namespace
}  // namespace cleave::frontend
