// Statements: names, loops, inputs and parameters, losses and metrics.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "frontend/evaluate/testing.h"

namespace cleave::frontend {
namespace {

constexpr char kFunctions[] =
    "fn own(x: f32[n, k]) -> f32[n, k] { param w: f32[k] = ones(); return x * w; }\n"
    "fn twice(x: f32[..n]) -> f32[..n] { return x + x; return x; }\n"
    "fn early(x: f32[..n]) -> f32[..n] { for i in 0..2 { return x; } return x; }\n"
    "fn takes(x: f32[..n]) -> f32[..n] { input z: f32[2]; return x; }\n"
    "fn lossy(x: f32[..n]) -> f32[..n] { loss reduce_mean(x); return x; }\n"
    "fn pair(x: f32[n, k]) -> (f32[n, k], f32[k, n]) { let h = relu(x); return (own(h), transpose(h)); }\n"
    "fn inner(x: f32[..n]) -> (f32[..n], f32[..n]) { let (p, q) = (tanh(x), exp(x)); return (p, q); }\n"
    "fn through(x: f32[..n]) -> (f32[..n], f32[..n]) { return inner(x); }\n"
    "fn three(n: int) -> (int, int, float) { return (n, n + 1, n); }\n"
    "fn swapped(x: f32[n, k]) -> (f32[k, n], int) { return (x, 0.5); }\n"
    "fn short(x: f32[..n]) -> (f32[..n], int) { return (x, 1, 2); }\n"
    "fn single(x: f32[..n]) -> (f32[..n], int) { return x; }\n"
    "fn double(x: f32[..n]) -> f32[..n] { return (x, x); }\n"
    "fn undeclared(x: f32[..n]) { return (x, 1); }\n"
    "fn maybe(x: f32[..n], deep: bool) -> f32[..n] { let y = exp(x); if deep { return relu(x); } return y; }\n"
    "fn adapted(x: f32[n, k], rank: int) -> f32[n, k] {\n"
    "    if rank > 0 { param down: f32[rank, k] = ones(); return x * reduce_sum(down); } return x; }\n"
    "fn made(x: f32[n, k], init: initializer = zeros()) -> f32[n, k] { param w: f32[k] = init; return x * w; }\n"
    "fn handed(x: f32[n, k], init: initializer) -> f32[n, k] { return made(x, init); }\n"
    "fn endless(x: f32[..n]) -> f32[..n] { for i in 0..1000000000 { let _z = i; } return x; }\n"
    "fn counts(x: f32[k]) -> f32[k] { state s: f32[k] = zeros(); update s = s + x; return x; }\n";

// The ops that `body` makes, or the mistakes and warnings.
void CheckBody(const std::string& body, const std::string& expected) {
  EXPECT_EQ(ExpandBody(body, kFunctions).Text(), expected) << body;
}

TEST(StatementsTest, NamesAreDefinedOnceAndUsed) {
  CheckBody("let y = relu(x); print(y);", "y.relu(x): f32[8, 6]\nprint y.relu");
  CheckBody("let y = x;", "W0611: `y` is never used");
  CheckBody("let _y = x;", "");
  CheckBody("let x = 1;", "E0202: `x` is defined twice");
  CheckBody("let _y: f32[8, 6] = x;", "");
  CheckBody("let _y: f32[6, 8] = x;", "E0206: `_y` is f32[8, 6], not f32[6, 8]");
  CheckBody("let _y: float = 3;", "");
  CheckBody("relu(x);", "E0211: a value that is not used");
  CheckBody("print(3);", "E0204: `print` takes a tensor");
  CheckBody("let y = relu(x); print(y.grad); assert_finite(x);", "y.relu(x): f32[8, 6]\nprint y.relu\nassert_finite x");
}

TEST(StatementsTest, Assignments) {
  CheckBody("let mut y = x; y = relu(y); print(y);", "y.relu(x): f32[8, 6]\nprint y.relu");
  CheckBody("let y = x; y = relu(y);", "E0209: `y` cannot be assigned to");
  CheckBody("x = relu(x);", "E0209: `x` cannot be assigned to");
  CheckBody("z = relu(x);", "E0201: unknown name `z`");
  CheckBody("let mut y = x; y = 3;", "E0204: `y` changes its kind of value");
}

// A declared type holds for each value that a variable gets.
TEST(StatementsTest, AssignmentsKeepADeclaredType) {
  CheckBody("let mut y: f32[8, 6] = x; for i in 0..2 { y = relu(y); } print(y);",
            "y.0.relu(x): f32[8, 6]\ny.1.relu(y.0.relu): f32[8, 6]\nprint y.1.relu");
  CheckBody("let mut y: f32[8, 6] = x; for i in 0..2 { y = transpose(y); } print(y);",
            "E0206: `y` is f32[6, 8], not f32[8, 6]");
  CheckBody("let mut y: f32[8, 6] = x; let mut z = 1; (z, y) = (2, y[1..]); print(y * z);",
            "E0206: `y` is f32[7, 6], not f32[8, 6]");
  CheckBody("let mut y: float = 1; y = 2; print(x * y);", "scale(x): f32[8, 6]\nprint scale");
  CheckBody("let mut y: int = 1; y = 2.5; print(x * y);", "E0204: `y` is declared `int`");
}

TEST(StatementsTest, SeveralNames) {
  CheckBody("let (y, z) = pair(x); print(y); print(z);",
            "y_z.h.relu(x): f32[8, 6]\ny_z.w(): f32[6]\ny.mul(y_z.h.relu, y_z.w): f32[8, 6]\n"
            "z.transpose(y_z.h.relu): f32[6, 8]\nprint y.mul\nprint z.transpose");
  CheckBody("let (_, z) = inner(x); print(z);", "z.p.tanh(x): f32[8, 6]\nz.q.exp(x): f32[8, 6]\nprint z.q.exp");
  CheckBody("let (_y, _z) = through(x);", "_y.p.tanh(x): f32[8, 6]\n_z.q.exp(x): f32[8, 6]");
  CheckBody("let (_a, _b, _c) = split(x, 3, axis = 1);",
            "_a.slice(x): f32[8, 2]\n_b.slice(x): f32[8, 2]\n_c.slice(x): f32[8, 2]");
  CheckBody("let (_a, _b) = (x, 3);", "");
  CheckBody("let (_a, _) = (relu(x), relu(x));", "_a.relu(x): f32[8, 6]\n_a.relu_1(x): f32[8, 6]");
  CheckBody("let (n, _, r) = three(2); let _y = x * (n + r);", "_y.scale(x): f32[8, 6]");
  CheckBody("let _y = inner(x)[1];", "_y.p.tanh(x): f32[8, 6]\n_y.q.exp(x): f32[8, 6]");
  CheckBody("for i in 0..2 { let (_y, _z) = inner(x); }",
            "_y.0.p.tanh(x): f32[8, 6]\n_z.0.q.exp(x): f32[8, 6]\n"
            "_y.1.p.tanh(x): f32[8, 6]\n_z.1.q.exp(x): f32[8, 6]");
  CheckBody("let (y, z) = inner(x); print(y);", "W0611: `z` is never used");
  CheckBody("let (a, a) = inner(x); print(a);", "E0202: `a` is defined twice");
  CheckBody("let (a, x) = inner(x); print(a);", "E0202: `x` is defined twice");
  CheckBody("let (a, b, c) = inner(x); print(a);", "E0204: 3 names for a tuple of 2");
  CheckBody("let (a, b) = x; print(a);", "E0204: 2 names for f32[8, 6]");
  CheckBody("let (a, b) = undefined; print(a);", "E0201: unknown name `undefined`");
}

TEST(StatementsTest, SeveralNamesAreAssigned) {
  CheckBody("let mut (y, z) = (x, x); for i in 0..2 { (z, y) = inner(y); } print(z);",
            "z.0.p.tanh(x): f32[8, 6]\ny.0.q.exp(x): f32[8, 6]\nz.1.p.tanh(y.0.q.exp): f32[8, 6]\n"
            "y.1.q.exp(y.0.q.exp): f32[8, 6]\nprint z.1.p.tanh");
  CheckBody("let mut (n, m) = (1, 2); (n, m) = (m, n); let _y = x[n, m];",
            "_y.slice(x): f32[1, 1]\n_y.reshape(_y.slice): f32[]");
  CheckBody("let mut y = x; (y, _) = inner(y); print(y);",
            "y.p.tanh(x): f32[8, 6]\ny.q.exp(x): f32[8, 6]\nprint y.p.tanh");
  CheckBody("let mut y = x; (y, x) = inner(y);", "E0209: `x` cannot be assigned to");
  CheckBody("let mut y = x; (y, z) = inner(y);", "E0201: unknown name `z`");
  CheckBody("let mut y = x; (y, _) = y;", "E0204: 2 names for f32[8, 6]");
  CheckBody("let mut y = x; (y, _) = (1, 2);", "E0204: `y` changes its kind of value");
}

TEST(StatementsTest, SeveralResults) {
  CheckBody("let _y = swapped(x);",
            "E0206: result 0 of `swapped` is f32[8, 6], not f32[6, 8]\nE0204: result 1 of `swapped` is declared `int`");
  CheckBody("let _y = short(x);", "E0204: the result of `short` is a tuple of 3, not a tuple of 2");
  CheckBody("let _y = single(x);", "E0204: the result of `single` is f32[8, 6], not a tuple of 2");
  CheckBody("let _y = double(x);", "E0204: the result of `double` is a tuple of 2, not f32[8, 6]");
  CheckBody("undeclared(x);", "E0211: function `undeclared` returns a value but declares none");
  CheckBody("inner(x);", "E0211: a value that is not used");
  CheckBody("let _y = relu(inner(x));", "E0204: argument `x` of `relu` is a tensor");
}

TEST(StatementsTest, Loops) {
  CheckBody("let mut y = x; for i in 0..2 { y = y * i; } print(y);",
            "y.0.scale(x): f32[8, 6]\ny.1.scale(y.0.scale): f32[8, 6]\nprint y.1.scale");
  CheckBody("for i in 0..2 { for j in 0..2 { let _z = own(x[i + j]); } }",
            "E0206: argument `x` of `own` is f32[n, k], not 6");
  CheckBody("for i in 2..2 { let _z = undefined; }", "");
  CheckBody("for i in 0..1 { let z = x; }", "W0611: `z` is never used");
  CheckBody("for i in 0..1.5 { let _z = x; }", "E0204: the ends of a range must be ints");
  CheckBody("for i in 0..1000000000 { let _z = i; }", "E0213: the model is too large");
  CheckBody("let mut t = (x, x); for i in 0..60 { t = (t, t); } print(t[0]);", "E0213: the model is too large");
  CheckBody("let mut t = (1, 2); for i in 0..1000000 { t = (t, i); } let _z = t;", "E0213: the model is too large");
  CheckBody("let _y = endless(x);", "E0213: the model is too large");
  // The same mistake in every pass: it is not looked for two million times, which would take a minute.
  CheckBody("for i in 0..1000000000 { let _z = undefined; }", "E0201: unknown name `undefined`");
  CheckBody("#[region()] for i in 0..1 { let _z = x; }", "E0305: `#[region]` has no meaning on a loop");
}

TEST(StatementsTest, LoopsOverTuples) {
  CheckBody("let mut y = x; for s in (3, 0.5) { y = y * s; } print(y);",
            "y.0.scale(x): f32[8, 6]\ny.1.scale(y.0.scale): f32[8, 6]\nprint y.1.scale");
  CheckBody("for _s in () { let _z = undefined; }", "");
  CheckBody("for z in (x, relu(x)) { print(z); }", "relu(x): f32[8, 6]\nprint x\nprint relu");
  CheckBody("for i in 3 { let _z = x; }", "E0204: a loop goes over a range or a tuple");
  CheckBody("for i in x { let _z = x; }", "E0204: a loop goes over a range or a tuple");
}

TEST(StatementsTest, WholeNumbers) {
  CheckBody("for i in 0..int(1.9) { print(x); }", "print x");
  CheckBody("for i in int(-1.9)..0 { print(x); }", "print x");
  CheckBody("let _y = int(x);", "E0204: `int` takes a number");
  CheckBody("let _y = int(1e300);", "E0208: `int` of a number beyond 2^53, where not all are whole");
}

TEST(StatementsTest, ConditionsChooseABranch) {
  const auto chosen = [](const std::string& condition) {
    return "let mut y = x; if " + condition +
           " { y = relu(x); } else if 2 > 1 { y = exp(x); } else { y = x[4, 9]; } print(y);";
  };
  CheckBody(chosen("true && !false"), "y.relu(x): f32[8, 6]\nprint y.relu");
  CheckBody(chosen("1 > 2 || false"), "y.exp(x): f32[8, 6]\nprint y.exp");
  CheckBody("for i in 0..3 { if i == 1 { let y = relu(x); print(y); } }", "y.1.relu(x): f32[8, 6]\nprint y.1.relu");
  // What only another branch reads is not unused, and what a branch declares is known in it alone.
  CheckBody("let y = relu(x); if false { print(y); }", "y.relu(x): f32[8, 6]");
  CheckBody("if true { let y = relu(x); print(y); } print(y);", "E0201: unknown name `y`");
  CheckBody("if true { let y = x; }", "W0611: `y` is never used");
}

TEST(StatementsTest, ConditionsAreKnownAtCompileTime) {
  CheckBody("if x > 0 { }", "E0204: the condition of `if` must be known when the model is compiled");
  CheckBody("if 3 { }", "E0204: the condition of `if` must be a bool");
  CheckBody("#[replicate] if true { }", "E0305: `#[replicate]` has no meaning here");
  CheckBody("if unknown { print(x); } else { print(x); }", "E0201: unknown name `unknown`");
  // What the left side decides is not evaluated.
  CheckBody("if 8 < 0 && 8 % 0 == 0 { print(x); }", "");
}

TEST(StatementsTest, BranchesReturn) {
  CheckBody("let _y = maybe(x, true);", "_y.y.exp(x): f32[8, 6]\n_y.relu(x): f32[8, 6]");
  CheckBody("let _y = maybe(x, false);", "_y.y.exp(x): f32[8, 6]");
  CheckBody("let _y = adapted(x, 0);", "");
  CheckBody("let _y = adapted(x, 2);",
            "_y.down(): f32[2, 6]\n_y.reduce_sum(_y.down): f32[]\n_y.mul(x, _y.reduce_sum): f32[8, 6]");
}

TEST(StatementsTest, InitialisersAreArguments) {
  const auto init_of = [](const std::string& call) {
    const Expanded expanded = ExpandBody("let _y = " + call + ";", kFunctions);
    if (!expanded.messages.empty()) return expanded.messages;
    const ir::Attributes& attributes = expanded.expansion.graph.op(*expanded.expansion.graph.Find("_y.w")).attributes;
    return attributes.Get(ir::attribute::kInit) + " " + std::to_string(attributes.Get(ir::attribute::kSecond));
  };
  EXPECT_EQ(init_of("made(x)"), "constant 0.000000");
  EXPECT_EQ(init_of("made(x, init = normal(deviation = 0.5))"), "normal 0.500000");
  EXPECT_EQ(init_of("handed(x, uniform(high = 0.25))"), "uniform 0.250000");
  EXPECT_EQ(init_of("made(x, 3)"), "E0201: a parameter needs an initialiser");
  EXPECT_EQ(init_of("made(x, normal)"), "E0201: `normal` is an initialiser, to be called");
  EXPECT_EQ(init_of("made(x, init = normal(deviation = -1))"), "E0508: a deviation is not negative");
}

TEST(StatementsTest, FilledTensors) {
  CheckBody("let _y = zeros((2, 3));", "_y.constant(): f32[]\n_y.broadcast_to(_y.constant): f32[2, 3]");
  CheckBody("let _y = full(4, -1, dtype = i32);", "_y.constant(): i32[]\n_y.broadcast_to(_y.constant): i32[4]");
  CheckBody("let _y = ones(shape(x));", "_y.constant(): f32[]\n_y.broadcast_to(_y.constant): f32[8, 6]");
  CheckBody("let _y = full(4, 0.5, dtype = i32);", "E0508: a number that i32 does not have");
  CheckBody("let _y = zeros((0, 2));", "E0409: dimension 0 of `shape` is 0");
  CheckBody("let _y = zeros(x);", "E0204: argument `shape` of `zeros` is a tuple of ints");
}

TEST(StatementsTest, Returns) {
  // The loss that the test adds comes after the return.
  CheckBody("return x;",
            "E0211: `return` outside a function\nE0211: a statement after `return`\nE0503: model `M` has no loss");
  CheckBody("let _y = twice(x);", "E0211: a statement after `return`");
  CheckBody("let _y = early(x);", "E0211: `return` inside a loop");
}

TEST(StatementsTest, Updates) {
  CheckBody("state s: f32[8, 6] = zeros(); update s = s + x;", "s(): f32[8, 6]\ns.add(s, x): f32[8, 6]");
  CheckBody("state s: f32[6] = zeros(); update s = x;", "E0206: state `s` is f32[6]");
  CheckBody("state s: f32[6] = zeros(); update s = 1;", "E0206: state `s` is f32[6]");
  CheckBody("state s: i32[6] = constant(-3); update s = s + 1;",
            "s(): i32[6]\ns.constant(): i32[]\ns.add(s, s.constant): i32[6]");
  CheckBody("state s: i32[6] = zeros(); update s = x[0];", "E0206: state `s` is i32[6]");
  CheckBody("state s: i32[6] = uniform();", "E0508: first values that i32 does not have");
  CheckBody("state s: i32[6] = constant(0.5);", "E0508: first values that i32 does not have");
  CheckBody("state s: f32[8, 6] = zeros(); update s = x; update s = x;", "E0209: two updates of `s`");
  CheckBody("state s: f32[8, 6] = zeros(); for i in 0..2 { update s = x; }", "E0209: two updates of `s`");
  CheckBody("state s: f32[6] = zeros(); state t: f32[6] = zeros(); update s = reshape(t, (6,));",
            "E0209: the update of `s` computes nothing");
  CheckBody("param w: f32[6] = ones(); update w = 2.0 * w;", "E0209: `w` is no state, so it has no `update`");
  CheckBody("let mut y = x; update y = 2.0 * x;", "E0209: `y` is no state, so it has no `update`");
  CheckBody("update z = x;", "E0201: unknown name `z`");
  CheckBody("state s: f32[6] = zeros(); s = s;", "E0209: `s` cannot be assigned to");
  CheckBody("state s: f32[6] = zeros();", "W0613: state `s` is never used");
  CheckBody("let _y = vmap(counts)(x);", "E0211: `update` inside a mapped function");
}

TEST(SourcesTest, Parameters) {
  CheckBody("param w: f32[6] = ones(); let _y = x * w;", "w(): f32[6]\n_y.mul(x, w): f32[8, 6]");
  CheckBody("param w: f32[6] = ones();", "W0613: parameter `w` is never used");
  CheckBody("param w: i32[6] = ones(); let _y = x * w;", "E0204: a parameter must be f32");
  CheckBody("param w: f32[6] = relu(x); let _y = x * w;", "E0201: unknown initialiser `relu`");
  CheckBody("param w: f32[6] = 3; let _y = x * w;", "E0201: a parameter needs an initialiser");
  CheckBody("param w: f32[6] = ones; let _y = x * w;", "E0201: `ones` is an initialiser, to be called");
  CheckBody("param w: f32[6] = normal(\"a\"); let _y = x * w;", "E0204: the arguments of `normal` are numbers");
  CheckBody("param w: f32[6] = npy(\"\"); let _y = x * w;", "E0508: the path of `npy` is a string that is not empty");
  CheckBody("#[local] param w: f32[6] = ones(); let _y = x * w;", "E0707: `#[local]` outside a manual model");
}

TEST(SourcesTest, Inputs) {
  CheckBody("input z: f32[8]; let _z = z;", "z(): f32[8]");
  CheckBody("input z: f32[8];", "W0612: input `z` is never used");
  CheckBody("input sample_mask: f32[8];", "E0202: `sample_mask` cannot be the name of an input");
  CheckBody("for i in 0..1 { input z: f32[8]; }", "E0211: `input` inside a loop");
  CheckBody("input z: i32[3] = npy(\"z.npy\", per_step = true); let _z = z;", "z(): i32[3]");
  CheckBody("input z: f32[3] = zeros(); let _z = z;", "E0508: an input that has no batch is read from a file");
  CheckBody("input z: f32[3] = npy(\"z.npy\", per_step = 1); let _z = z;", "E0204: `per_step` is `true` or `false`");
  CheckBody("let _y = takes(x);", "E0211: `input` inside a function");
}

TEST(LossAndMetricsTest, Losses) {
  CheckBody("loss reduce_mean(x);", "loss.reduce_mean(x): f32[]");
  CheckBody("#[term(weight = 0.5)] loss reduce_mean(x);",
            "loss.reduce_mean(x): f32[]\nloss.scale(loss.reduce_mean): f32[]");
  CheckBody("#[term(weigth = 0.5)] loss reduce_mean(x);", "E0203: `term` has no argument `weigth`");
  CheckBody("#[term(name = \"a b\")] loss reduce_mean(x);", "E0204: the name of a loss has letters, digits and `_`");
  CheckBody("#[term(trains = 3)] loss reduce_mean(x);",
            "E0204: `trains` takes a pattern of parameters' names, or several");
  CheckBody("#[term(name = \"a\")] loss reduce_mean(x); #[term(name = \"a\")] loss reduce_sum(x);",
            "E0202: two losses are called `a`");
  CheckBody("loss x;", "E0505: the loss is not a scalar");
  CheckBody("loss 3;", "E0505: the loss is not a scalar");
  CheckBody("let _y = lossy(x);", "E0211: `loss` inside a function");
}

TEST(LossAndMetricsTest, MetricsOfWholeBatchesHaveAMask) {
  CheckBody("metric mse(x, x);", "sample_mask(): f32[8]\nmetric.mse(x, x, sample_mask): f32[]");
  CheckBody("metric reduce_mean(x);", "W0615: this metric counts the padding of the last test batch");
  CheckBody("metric mse(x[0..4], x[0..4]);", "W0615: this metric counts the padding of the last test batch");
  CheckBody("metric x;", "E0505: a metric is not a scalar");
  CheckBody("metric total(square(x) * sample_mask(x));",
            "metric.square(x): f32[8, 6]\nsample_mask(): f32[8]\nmetric.reshape(sample_mask): f32[8, 1]\n"
            "metric.mul(metric.square, metric.reshape): f32[8, 6]\nmetric.total(metric.mul): f32[8, 6]");
  CheckBody("metric total(broadcast_to(x, (129, 8, 6)));", "E0505: a metric that is too large for a table");
  CheckBody("metric total(reshape(broadcast_to(x, (129, 8, 6)), (129, 48)));",
            "E0505: a metric that is too large for a table");
  CheckBody("metric total(reduce_sum(x)) / reduce_sum(x);", "E0526: a metric of totals that also reads a single batch");
  CheckBody("metric total(total(reduce_sum(x)));", "E0526: a total of totals");
  CheckBody("metric reduce_mean(sample_mask(x[0..4]));",
            "E0204: `sample_mask` takes a tensor with the samples of the batch");
  CheckBody("loss total(reduce_sum(x));", "E0211: `total` outside a metric");
  CheckBody("loss reduce_sum(sample_mask(x));", "E0211: `sample_mask` outside a metric");
}

TEST(LossAndMetricsTest, MetricsAreNamedByTheirCall) {
  const Expanded expanded = ExpandBody("metric mse(x, x); metric mse(x, x); metric mae(x, x) + mse(x, x);");
  ASSERT_EQ(expanded.messages, "");
  std::vector<std::string> names;
  for (const ir::Metric& metric : expanded.expansion.graph.metrics) names.push_back(metric.name);
  EXPECT_EQ(names, (std::vector<std::string>{"mse", "mse_1", "metric"}));
}

// The ops of a kind, in order.
std::vector<ir::Op> OpsOf(const ir::Graph& graph, ir::OpKind kind) {
  std::vector<ir::Op> ops;
  for (const ir::Op& op : graph.ops) {
    if (op.kind == kind) ops.push_back(op);
  }
  return ops;
}

// Whatever passes differ in: a statement is in one place of the text in all of them, and calls are places of their own.
TEST(StatementsTest, OpsKnowTheirPasses) {
  const Expanded expanded = ExpandBody(
      "let mut y = x;\n"
      "for i in 0..3 {\n"
      "    for j in 0..2 { y = doubled(y); }\n"
      "    if i == 1 { y = relu(doubled(y)); }\n"
      "    let (p, q) = inner(y);\n"
      "    y = stack((p, q), axis = 0)[0];\n"
      "}\n"
      "print(sqrt(y));\n",
      "fn doubled(x: f32[..n]) -> f32[..n] { return x + x; }\n"
      "fn inner(x: f32[..n]) -> (f32[..n], f32[..n]) { let (p, q) = (tanh(x), exp(x)); return (p, q); }\n");
  ASSERT_EQ(expanded.messages, "");
  const ir::Graph& graph = expanded.expansion.graph;
  const auto numbers = [](const ir::Op& op) {
    std::vector<int64_t> all;
    for (const ir::LoopPass& pass : op.repetition.passes) all.push_back(pass.number);
    return all;
  };
  using Numbers = std::vector<int64_t>;

  const std::vector<ir::Op> sums = OpsOf(graph, ir::OpKind::kAdd);
  ASSERT_EQ(sums.size(), 7u);
  EXPECT_EQ(numbers(sums[0]), (Numbers{0, 0}));
  EXPECT_EQ(numbers(sums[1]), (Numbers{0, 1}));
  EXPECT_EQ(numbers(sums[4]), (Numbers{1})) << "of the branch";
  EXPECT_EQ(numbers(sums[6]), (Numbers{2, 1}));
  EXPECT_EQ(sums[0].repetition.place, sums[6].repetition.place);
  EXPECT_NE(sums[0].repetition.place, sums[4].repetition.place) << "another call";
  EXPECT_EQ(sums[0].repetition.passes[0].loop, sums[4].repetition.passes[0].loop);
  EXPECT_EQ(sums[0].repetition.passes[1].loop, sums[6].repetition.passes[1].loop) << "one loop in all passes around it";

  for (const ir::OpKind kind : {ir::OpKind::kTanh, ir::OpKind::kExp, ir::OpKind::kConcat}) {
    const std::vector<ir::Op> ops = OpsOf(graph, kind);
    ASSERT_EQ(ops.size(), 3u);
    EXPECT_EQ(numbers(ops[2]), (Numbers{2}));
    EXPECT_EQ(ops[0].repetition.place, ops[1].repetition.place);
    EXPECT_EQ(ops[0].repetition.place, ops[2].repetition.place) << "the branch of pass 1 moves nothing";
  }
  EXPECT_NE(OpsOf(graph, ir::OpKind::kTanh)[0].repetition.place, OpsOf(graph, ir::OpKind::kExp)[0].repetition.place);
  EXPECT_FALSE(OpsOf(graph, ir::OpKind::kSqrt)[0].repetition.is_repeated());
}

}  // namespace
}  // namespace cleave::frontend
