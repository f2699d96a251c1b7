// Expressions and calls.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "frontend/evaluate/testing.h"

namespace cleave::frontend {
namespace {

constexpr char kFunctionsToCall[] =
    "fn twice(x: f32[..n]) -> f32[..n] { return x + x; }\n"
    "fn own(x: f32[n, k]) -> f32[n, k] { param w: f32[k] = ones(); return x * w; }\n"
    "fn both(x: f32[n, k]) -> f32[n, k] { let inner = own(x); return twice(inner); }\n"
    "fn late(x: f32[..n]) -> f32[..n] { let _y = x; }\n"
    "fn wrong(x: f32[n, k]) -> f32[k, n] { return x; }\n"
    "fn even(n: int) -> int { assert(n % 2 == 0, \"{n} is odd\"); return n / 2; }\n"
    "fn times(x: f32[..n], by: int, twice: bool = false) -> f32[..n] { return x * by; }\n";

// The ops that `let y = expression;` makes, or the mistakes.
void CheckExpression(const std::string& expression, const std::string& expected) {
  EXPECT_EQ(ExpandBody(absl::StrCat("let _y = ", expression, ";"), kFunctionsToCall).Text(), expected) << expression;
}

TEST(ExpressionsTest, OperatorsAndNames) {
  CheckExpression("x", "");
  CheckExpression("-x", "_y.neg(x): f32[8, 6]");
  CheckExpression("-2 * x", "_y.scale(x): f32[8, 6]");
  CheckExpression("(x, 3)[0] + x", "_y.add(x, x): f32[8, 6]");
  CheckExpression("z", "E0201: unknown name `z`");
  CheckExpression("relu", "E0201: `relu` is a function, not a value");
  CheckExpression("twice", "E0201: `twice` is a function, not a value");
  CheckExpression("_", "E0204: `_` is not a value");
  CheckExpression("(a = x)", "E0204: the elements of this tuple have no names");
  CheckExpression("x * rank", "E0707: `rank` outside a manual model");
}

TEST(ExpressionsTest, WhatUsesAMistakeIsSilent) {
  CheckExpression("relu(z) + z2", "E0201: unknown name `z`\nE0201: unknown name `z2`");
  CheckExpression("twice(relo(x))[0, 0, 0]", "E0201: unknown function or op `relo`");
}

TEST(CallsTest, Ops) {
  CheckExpression("relu(x)", "_y.relu(x): f32[8, 6]");
  CheckExpression("relu(tanh(x))", "_y.tanh(x): f32[8, 6]\n_y.relu(_y.tanh): f32[8, 6]");
  CheckExpression("reshape(x, (6, 8))", "_y.reshape(x): f32[6, 8]");
  CheckExpression("concat((x, x), axis = 0)", "_y.concat(x, x): f32[16, 6]");
  CheckExpression("maximum(x, 0)", "_y.constant(): f32[]\n_y.maximum(x, _y.constant): f32[8, 6]");
  CheckExpression("pow(x, 3)", "_y.power(x): f32[8, 6]");
  CheckExpression("sqrt(16)", "");
  CheckExpression("relu()", "E0203: `relu` takes 1 argument, not 0");
  CheckExpression("relu(3)", "E0204: argument `x` of `relu` is a tensor");
  CheckExpression("reshape(x, 0.5)", "E0204: argument `shape` of `reshape` is a tuple of ints");
  CheckExpression("concat(x, axis = 0)", "E0204: argument `x` of `concat` is a tuple of tensors");
  CheckExpression("matmul(x, x)", "E0401: inner sizes 6 and 8 of a matrix product differ: 8x6 by 8x6");
}

TEST(CallsTest, SharedParameters) {
  const auto check = [](const std::string& body, const std::string& expected) {
    EXPECT_EQ(ExpandBody(body, kFunctionsToCall).Text(), expected) << body;
  };
  check("let _a = own(x); #[share(\"_a\")] let _b = own(x);",
        "_a.w(): f32[6]\n_a.mul(x, _a.w): f32[8, 6]\n_b.mul(x, _a.w): f32[8, 6]");
  check("let _a = both(x); #[share(\"_a\")] let _b = both(x);",
        "_a.inner.w(): f32[6]\n_a.inner.mul(x, _a.inner.w): f32[8, 6]\n_a.add(_a.inner.mul, _a.inner.mul): f32[8, 6]\n"
        "_b.inner.mul(x, _a.inner.w): f32[8, 6]\n_b.add(_b.inner.mul, _b.inner.mul): f32[8, 6]");
  check("let mut y = x; for i in 0..2 { #[share(\"y.0\")] y = own(y); }",
        "y.0.w(): f32[6]\ny.0.mul(x, y.0.w): f32[8, 6]\ny.1.mul(y.0.mul, y.0.w): f32[8, 6]");
  check("#[share(\"_b\")] let _a = own(x);", "E0217: `_a.w` cannot be the parameter `_b.w`");
  check("let _a = own(x); #[share(\"_a\")] let _b = own(reshape(x, (6, 8)));",
        "E0217: `_b.w` cannot be the parameter `_a.w`");
  check("#[share(\"_b\")] let _a = twice(x);", "E0217: `share` of a call that has no parameters");
  check("#[share(_b)] let _a = own(x);", "E0303: `share` takes the path of one other call");
  check("#[share(\"x\")] let _a = own(x);", "E0217: `_a.w` cannot be the parameter `x.w`");
}

TEST(CallsTest, Functions) {
  CheckExpression("twice(x)", "_y.add(x, x): f32[8, 6]");
  CheckExpression("own(x)", "_y.w(): f32[6]\n_y.mul(x, _y.w): f32[8, 6]");
  CheckExpression("own(own(x))",
                  "_y.own_0.w(): f32[6]\n_y.own_0.mul(x, _y.own_0.w): f32[8, 6]\n_y.own_1.w(): f32[6]\n"
                  "_y.own_1.mul(_y.own_0.mul, _y.own_1.w): f32[8, 6]");
  CheckExpression("both(x)",
                  "_y.inner.w(): f32[6]\n_y.inner.mul(x, _y.inner.w): f32[8, 6]\n"
                  "_y.add(_y.inner.mul, _y.inner.mul): f32[8, 6]");
  CheckExpression("even(8)", "");
  CheckExpression("even(7)", "E0212: 7 is odd");
  CheckExpression("late(x)", "E0211: function `late` ends without `return`");
  CheckExpression("wrong(x)", "E0206: the result of `wrong` is f32[8, 6], not f32[6, 8]");
  CheckExpression("twice(x, x)", "E0203: `twice` takes 1 argument, not 2");
  CheckExpression("times(x)", "E0203: `times` takes 2 to 3 arguments, not 1");
  CheckExpression("times(x, twice = true)", "E0203: `times` needs `by`");
  CheckExpression("own(x[0])", "E0206: argument `x` of `own` is f32[n, k], not 6");
}

TEST(CallsTest, WhatIsNoFunction) {
  CheckExpression("x(3)", "E0204: `x` is a value, not a function");
  CheckExpression("vmap(3)(x)", "E0204: only a function can be called");
  CheckExpression("twice(x)(x)", "E0204: only a function can be called");
  CheckExpression("relo(x)", "E0201: unknown function or op `relo`");
  CheckExpression("vmap(twice)", "E0216: the function that `vmap` makes must be called at once");
  CheckExpression("all_reduce(x)", "E0707: `all_reduce` outside a manual model");
}

TEST(BuiltinsTest, ChooseAndShape) {
  CheckExpression("choose(2 > 1, relu(x), undefined)", "_y.relu(x): f32[8, 6]");
  CheckExpression("choose(1, x, x)", "E0204: the condition of `choose` must be a bool");
  CheckExpression("choose(true, x)", "E0203: `choose` takes 3 arguments, not 2");
  CheckExpression("reshape(transpose(x), shape(x))", "_y.transpose(x): f32[6, 8]\n_y.reshape(_y.transpose): f32[8, 6]");
  CheckExpression("shape(3)", "E0204: only a tensor has a shape");
}

}  // namespace
}  // namespace cleave::frontend
