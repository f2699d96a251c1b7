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
  CheckExpression("relu", "");
  CheckExpression("twice + x", "E0204: `+` does not take these values");
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

void CheckExpanded(const std::string& body, const std::string& expected, const std::string& functions = "") {
  EXPECT_EQ(ExpandBody(body, absl::StrCat(kFunctionsToCall, functions)).Text(), expected) << body;
}

TEST(LayersTest, CallsOfALayerShareItsParameters) {
  CheckExpanded("let own = layer own(); let _a = own(x); let _b = own(x);",
                "own.w(): f32[6]\n_a.mul(x, own.w): f32[8, 6]\n_b.mul(x, own.w): f32[8, 6]");
  CheckExpanded(
      "let l = layer both(); let _a = l(x); let _b = l(x);",
      "l.inner.w(): f32[6]\n_a.inner.mul(x, l.inner.w): f32[8, 6]\n_a.add(_a.inner.mul, _a.inner.mul): f32[8, 6]\n"
      "_b.inner.mul(x, l.inner.w): f32[8, 6]\n_b.add(_b.inner.mul, _b.inner.mul): f32[8, 6]");
  CheckExpanded("let l = layer own(); let _y = own(l(l(x)));",
                "l.w(): f32[6]\n_y.mul(x, l.w): f32[8, 6]\n_y.mul_1(_y.mul, l.w): f32[8, 6]\n_y.w(): f32[6]\n"
                "_y.mul_2(_y.mul_1, _y.w): f32[8, 6]");
  // Layers within layers.
  CheckExpanded("let l = layer pair(); let _a = l(x); let _b = l(x);",
                "l.in.w(): f32[6]\n_a.mul(x, l.in.w): f32[8, 6]\n_a.mul_1(_a.mul, l.in.w): f32[8, 6]\n"
                "_b.mul(x, l.in.w): f32[8, 6]\n_b.mul_1(_b.mul, l.in.w): f32[8, 6]",
                "fn pair(x: f32[n, k]) -> f32[n, k] { let in = layer own(); return in(in(x)); }");
}

TEST(LayersTest, LayersAndLoops) {
  CheckExpanded("let l = layer own(); let mut y = x; for i in 0..2 { y = l(y); }",
                "l.w(): f32[6]\ny.0.mul(x, l.w): f32[8, 6]\ny.1.mul(y.0.mul, l.w): f32[8, 6]");
  CheckExpanded("let mut y = x; for i in 0..2 { let l = layer own(); y = l(y); }",
                "l.0.w(): f32[6]\ny.0.mul(x, l.0.w): f32[8, 6]\nl.1.w(): f32[6]\ny.1.mul(y.0.mul, l.1.w): f32[8, 6]");
  CheckExpanded("let mut y = x; for f in (layer own(), relu, layer own()) { y = f(y); }",
                "own_0.w(): f32[6]\ny.0.mul(x, own_0.w): f32[8, 6]\ny.1.relu(y.0.mul): f32[8, 6]\nown_1.w(): f32[6]\n"
                "y.2.mul(y.1.relu, own_1.w): f32[8, 6]");
}

constexpr char kHigher[] =
    "fn again(x: f32[..n], f: layer = relu) -> f32[..n] { return f(f(x)); }\n"
    "fn scaled(x: f32[..n], f: layer, by: float) -> f32[..n] { return by * f(x); }\n";

TEST(LayersTest, FunctionsAsArguments) {
  const auto check = [](const std::string& body, const std::string& expected) {
    CheckExpanded(body, expected, kHigher);
  };
  check("let _y = again(x);", "_y.relu(x): f32[8, 6]\n_y.relu_1(_y.relu): f32[8, 6]");
  check("let _y = again(x, own);",
        "_y.own_0.w(): f32[6]\n_y.own_0.mul(x, _y.own_0.w): f32[8, 6]\n_y.own_1.w(): f32[6]\n"
        "_y.own_1.mul(_y.own_0.mul, _y.own_1.w): f32[8, 6]");
  check("let _y = again(x, layer own());",
        "_y.w(): f32[6]\n_y.mul(x, _y.w): f32[8, 6]\n_y.mul_1(_y.mul, _y.w): f32[8, 6]");
  check("let l = layer again(f = tanh); let _y = scaled(x, l, 2.0);",
        "_y.tanh(x): f32[8, 6]\n_y.tanh_1(_y.tanh): f32[8, 6]\n_y.scale(_y.tanh_1): f32[8, 6]");
  check("let l = layer scaled(own, by = 2); let _y = l(l(x));",
        "l.w(): f32[6]\n_y.mul(x, l.w): f32[8, 6]\n_y.scale(_y.mul): f32[8, 6]\n"
        "_y.mul_1(_y.scale, l.w): f32[8, 6]\n_y.scale_1(_y.mul_1): f32[8, 6]");
  check("let l = layer own(); let _y = vmap(l)(reshape(x, (2, 4, 6)));",
        "_y.reshape(x): f32[2, 4, 6]\nl.w(): f32[6]\n_y.mul(_y.reshape, l.w): f32[2, 4, 6]");
}

TEST(LayersTest, Mistakes) {
  const auto check = [](const std::string& body, const std::string& expected) {
    CheckExpanded(body, expected, kHigher);
  };
  check("let l = layer own(); let _a = l(x); let _b = l(reshape(x, (6, 8)));",
        "E0217: a call of the layer does not fit its parameter `l.w`");
  check("let _l = layer own(x);", "E0203: `own` takes 0 arguments, not 1");
  check("let l = layer own(); let _a = l(x, 3);", "E0203: `own` takes 1 argument, not 2");
  check("let l = layer own(); let _a = l(3);", "E0204: argument `x` of `own` is `f32[n, k]`");
  check("let _l = layer scaled(relu, by = \"a\");", "E0204: argument `by` of `scaled` is `float`");
  check("let _l = layer scaled(3, by = 1.0);", "E0204: argument `f` of `scaled` is `layer`");
  check("let _l = layer relu();", "E0204: `layer` fixes the arguments of a function");
  check("let l = layer own(); let _m = layer l();", "E0204: `layer` fixes the arguments of a function");
  check("let _l = layer oun();", "E0201: unknown function `oun`");
  check("let l = layer oun(); let _y = l(x);", "E0201: unknown function `oun`");
  check("let _y = relu(own);", "E0204: argument `x` of `relu` is a tensor");
}

TEST(PathNumbersTest, OnlyNamesThatAreMadeAgainGetANumber) {
  CheckExpanded("let mut y = own(x); y = own(y); let _y_2 = own(y); y = own(y);",
                "y.w(): f32[6]\ny.mul(x, y.w): f32[8, 6]\ny_1.w(): f32[6]\ny_1.mul(y.mul, y_1.w): f32[8, 6]\n"
                "_y_2.w(): f32[6]\n_y_2.mul(y_1.mul, _y_2.w): f32[8, 6]\n"
                "y_2.w(): f32[6]\ny_2.mul(y_1.mul, y_2.w): f32[8, 6]");
  // A name that is taken is passed over.
  CheckExpanded("let mut y = own(x); y = own(y); let _z = y; let y_1 = own(x); let _z2 = y_1;",
                "y.w(): f32[6]\ny.mul(x, y.w): f32[8, 6]\ny_2.w(): f32[6]\ny_2.mul(y.mul, y_2.w): f32[8, 6]\n"
                "y_1.w(): f32[6]\ny_1.mul(x, y_1.w): f32[8, 6]");
  // Different parameters of one path do not collide.
  CheckExpanded("let mut y = own(x); y = shifted(y);",
                "y.w(): f32[6]\ny.mul(x, y.w): f32[8, 6]\ny.b(): f32[6]\ny.add(y.mul, y.b): f32[8, 6]",
                "fn shifted(x: f32[n, k]) -> f32[n, k] { param b: f32[k] = zeros(); return x + b; }");
}

TEST(PathNumbersTest, AStatementHasOneNumberInAllPasses) {
  CheckExpanded(
      "let mut y = x; for i in 0..1 { let z = own(y); y = z; } for i in 0..2 { let z = own(y); y = z; }",
      "z.0.w(): f32[6]\nz.0.mul(x, z.0.w): f32[8, 6]\nz_1.0.w(): f32[6]\nz_1.0.mul(z.0.mul, z_1.0.w): f32[8, 6]\n"
      "z_1.1.w(): f32[6]\nz_1.1.mul(z_1.0.mul, z_1.1.w): f32[8, 6]");
  // Within a function, in all of its calls.
  CheckExpanded("let mut y = x; for i in 0..2 { y = deep(y); }",
                "y.0.h.w(): f32[6]\ny.0.h.mul(x, y.0.h.w): f32[8, 6]\ny.0.h_1.w(): f32[6]\n"
                "y.0.h_1.mul(y.0.h.mul, y.0.h_1.w): f32[8, 6]\ny.1.h.w(): f32[6]\n"
                "y.1.h.mul(y.0.h_1.mul, y.1.h.w): f32[8, 6]\ny.1.h_1.w(): f32[6]\n"
                "y.1.h_1.mul(y.1.h.mul, y.1.h_1.w): f32[8, 6]",
                "fn deep(x: f32[n, k]) -> f32[n, k] { let mut h = own(x); h = own(h); return h; }");
  // A statement without a name is called after its callee.
  CheckExpanded(
      "let _y = tail(x);",
      "_y.w(): f32[6]\n_y.mul(x, _y.w): f32[8, 6]\n_y.own_0.w(): f32[6]\n_y.own_0.mul(_y.mul, _y.own_0.w): f32[8, 6]",
      "fn tail(x: f32[n, k]) -> f32[n, k] { param w: f32[k] = ones(); return own(x * w); }");
  CheckExpanded(
      "for i in 0..2 { param p: f32[6] = ones(); let _a = x * p; } for i in 0..2 { param p: f32[6] = ones(); let _b = "
      "x * p; }",
      "p.0(): f32[6]\n_a.0.mul(x, p.0): f32[8, 6]\np.1(): f32[6]\n_a.1.mul(x, p.1): f32[8, 6]\n"
      "p_1.0(): f32[6]\n_b.0.mul(x, p_1.0): f32[8, 6]\np_1.1(): f32[6]\n_b.1.mul(x, p_1.1): f32[8, 6]");
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
