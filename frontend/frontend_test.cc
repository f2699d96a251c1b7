// Tests what models mean: names, paths, shapes, loops, metrics.
#include "frontend/frontend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/testing.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/roles.h"
#include "ir/proof/interpret/interpret.h"

namespace cleave::frontend {
namespace {

// The ops of a model, one "name: type = kind(inputs)" per line.
std::string Ops(const Analyzed& analyzed) {
  if (!analyzed.module) return analyzed.messages;
  std::string text;
  for (const ir::Op& op : analyzed.module->graph.ops) {
    std::vector<std::string> inputs;
    for (ir::OpId input : op.inputs) inputs.push_back(analyzed.module->graph.op(input).name);
    absl::StrAppend(&text, op.name, ": ", op.type.ToString(), " = ", ir::OpKindName(op.kind), "(",
                    absl::StrJoin(inputs, ", "), ")\n");
  }
  return text;
}

std::string ParameterNames(const Analyzed& analyzed) {
  if (!analyzed.module) return analyzed.messages;
  std::vector<std::string> names;
  for (const ir::Op& op : analyzed.module->graph.ops) {
    if (op.kind == ir::OpKind::kParameter) names.push_back(op.name);
  }
  return absl::StrJoin(names, " ");
}

TEST(FrontendTest, ExpandsTheFirstModel) {
  const Analyzed analyzed = AnalyzeText(R"(// Three dense layers on handwritten digits.
model MnistMlp(batch: int = 256) {
    input image: f32[batch, 1, 28, 28];
    input label: i32[batch];

    let h1 = relu(dense(flatten(image), 512));
    let h2 = relu(dense(h1, 512));
    let logits = dense(h2, 10);

    loss cross_entropy(logits, label);
    metric accuracy(logits, label);
}
)");
  EXPECT_EQ(analyzed.messages, "");
  EXPECT_EQ(Ops(analyzed), R"(image: f32[256, 1, 28, 28] = input()
label: i32[256] = input()
h1.flatten: f32[256, 784] = flatten(image)
h1.weight: f32[512, 784] = parameter()
h1.bias: f32[512] = parameter()
h1.matmul: f32[256, 512] = matmul(h1.flatten, h1.weight)
h1.bias_add: f32[256, 512] = bias_add(h1.matmul, h1.bias)
h1.relu: f32[256, 512] = relu(h1.bias_add)
h2.weight: f32[512, 512] = parameter()
h2.bias: f32[512] = parameter()
h2.matmul: f32[256, 512] = matmul(h1.relu, h2.weight)
h2.bias_add: f32[256, 512] = bias_add(h2.matmul, h2.bias)
h2.relu: f32[256, 512] = relu(h2.bias_add)
logits.weight: f32[10, 512] = parameter()
logits.bias: f32[10] = parameter()
logits.matmul: f32[256, 10] = matmul(h2.relu, logits.weight)
logits.bias_add: f32[256, 10] = bias_add(logits.matmul, logits.bias)
loss.cross_entropy: f32[] = cross_entropy(logits.bias_add, label)
sample_mask: f32[256] = input()
metric.accuracy: f32[] = accuracy(logits.bias_add, label, sample_mask)
)");
  const ir::Graph& graph = analyzed.module->graph;
  EXPECT_EQ(graph.model, "MnistMlp");
  EXPECT_EQ(graph.file, "test.model");
  EXPECT_EQ(graph.op(*graph.Find("h1.matmul")).line, 6);
  EXPECT_EQ(graph.op(*graph.Find("logits.bias")).line, 8);
  EXPECT_EQ(graph.op(*graph.Find("metric.accuracy")).phase, ir::Phase::kMetric);
  EXPECT_EQ(graph.op(*graph.Find("loss.cross_entropy")).phase, ir::Phase::kForward);
  ASSERT_EQ(graph.metrics.size(), 1u);
  EXPECT_EQ(graph.metrics[0].name, "accuracy");
  EXPECT_EQ(graph.hash.size(), std::string("xxh3:").size() + 16);
}

TEST(FrontendTest, ParametersAreNamedByTheirPath) {
  struct NamedParameters {
    const char* body;
    const char* names;
  };
  const char* functions = R"(
fn two(x: f32[..n, k]) -> f32[..n, 6] { let inner = dense(x, 6); return relu(inner); }
fn chain(x: f32[..n, k]) -> f32[..n, 6] { return dense(dense(x, 4), 6); }
fn own(x: f32[..n, k]) -> f32[..n, k] { param scale: f32[k] = ones(); return x * scale; }
)";
  for (const NamedParameters& c : {
           NamedParameters{"let a = dense(x, 6); loss reduce_mean(a);", "a.weight a.bias"},
           NamedParameters{"let a = relu(dense(relu(x), 6)); loss reduce_mean(a);", "a.weight a.bias"},
           // Several calls in one statement own parameters: names have the callee and its ordinal, in the order in
           // which calls run.
           NamedParameters{"let a = own(own(x)); loss reduce_mean(a);", "a.own_0.scale a.own_1.scale"},
           NamedParameters{"let a = own(x) + two(x); loss reduce_mean(a);",
                           "a.own_0.scale a.two_0.inner.weight a.two_0.inner.bias"},
           NamedParameters{"let a = two(x); loss reduce_mean(a);", "a.inner.weight a.inner.bias"},
           NamedParameters{"let a = chain(x); loss reduce_mean(a);",
                           "a.dense_0.weight a.dense_0.bias a.dense_1.weight a.dense_1.bias"},
           // Loops number the ops of their passes, outermost first.
           NamedParameters{"let mut a = x; for i in 0..2 { a = own(a); } loss reduce_mean(a);", "a.0.scale a.1.scale"},
           NamedParameters{"let mut a = x; for i in 3..5 { a = two(a); } loss reduce_mean(a);",
                           "a.3.inner.weight a.3.inner.bias a.4.inner.weight a.4.inner.bias"},
           NamedParameters{"let mut a = x; for i in 0..2 { for j in 0..2 { a = own(a); } } loss reduce_mean(a);",
                           "a.0.0.scale a.0.1.scale a.1.0.scale a.1.1.scale"},
           // A parameter of the model itself that is used twice is one parameter.
           NamedParameters{"param w: f32[6, 6] = zeros(); let a = matmul(matmul(x, w), w); loss reduce_mean(a);", "w"},
           NamedParameters{"loss reduce_mean(own(x));", "loss.scale"},
       }) {
    EXPECT_EQ(ParameterNames(AnalyzeBody(c.body, functions)), c.names) << c.body;
  }
}

TEST(FrontendTest, ExpandsTheGptOfTheLanguage) {
  const Analyzed analyzed = AnalyzeText(R"(
model Gpt(batch: int = 8, seq: int = 16, vocab: int = 65, width: int = 24, heads: int = 6, depth: int = 2) {
    input tokens: i32[batch, seq];
    input next:   i32[batch, seq];

    let mut x = embedding(tokens, vocab, width) + position(seq, width);
    for i in 0..depth {
        x = block(x, heads);
    }
    let logits = dense(layer_norm(x), vocab);
    loss cross_entropy(logits, next);
}
)");
  EXPECT_EQ(analyzed.messages, "");
  ASSERT_TRUE(analyzed.module.has_value());
  const ir::Graph& graph = analyzed.module->graph;
  for (const char* name : {"x.embedding_0.weight", "x.position_0.weight", "x.0.attn.qkv.weight", "x.1.attn.out.bias",
                           "x.1.ffn.up.weight", "logits.layer_norm_0.weight", "logits.dense_0.weight"}) {
    EXPECT_TRUE(graph.Find(name).has_value()) << name;
  }
  EXPECT_EQ(graph.op(*graph.Find("x.0.attn.qkv.weight")).type.ToString(), "f32[72, 24]");
  // The ops of the prelude have the line of the user's call.
  EXPECT_EQ(graph.op(*graph.Find("x.1.attn.scores.matmul")).line, 8);
  EXPECT_TRUE(ir::VerifyGraph(graph).empty());
}

TEST(FrontendTest, SlicesAndOperators) {
  struct ExpandedExpression {
    const char* expression;
    const char* ops;  // After the input.
  };
  for (const ExpandedExpression& c : {
           ExpandedExpression{"x[2..5]", "y.slice: f32[3, 6] = slice(x)\n"},
           ExpandedExpression{"x[.., 1]", "y.slice: f32[8, 1] = slice(x)\ny.reshape: f32[8] = reshape(y.slice)\n"},
           ExpandedExpression{"x[4.., ..3]", "y.slice: f32[4, 3] = slice(x)\n"},
           ExpandedExpression{"-x", "y.neg: f32[8, 6] = neg(x)\n"},
           ExpandedExpression{"2 * x", "y.scale: f32[8, 6] = scale(x)\n"},
           ExpandedExpression{"x / 4", "y.scale: f32[8, 6] = scale(x)\n"},
           ExpandedExpression{"x + 1.5", "y.constant: f32[] = constant()\ny.add: f32[8, 6] = add(x, y.constant)\n"},
           ExpandedExpression{"1 / x", "y.constant: f32[] = constant()\ny.div: f32[8, 6] = div(y.constant, x)\n"},
           ExpandedExpression{"x - x * x", "y.mul: f32[8, 6] = mul(x, x)\ny.sub: f32[8, 6] = sub(x, y.mul)\n"},
           ExpandedExpression{"concat((x, x), axis = 1)", "y.concat: f32[8, 12] = concat(x, x)\n"},
           ExpandedExpression{"choose(2 > 1, relu(x), dense(x, 3))", "y.relu: f32[8, 6] = relu(x)\n"},
           ExpandedExpression{"split(x, 3, axis = 1)[1]", "y.slice_1: f32[8, 2] = slice(x)\n"},
           ExpandedExpression{"split(x, (5, 3), axis = -2)[0]", "y.slice: f32[5, 6] = slice(x)\n"},
           ExpandedExpression{"split(x, 1, axis = 0)[0] + (x, 1)[0]", "y.add: f32[8, 6] = add(x, x)\n"},
           ExpandedExpression{"stack((x, x), axis = -1)",
                              "x.reshape: f32[8, 6, 1] = reshape(x)\nx.reshape_1: f32[8, 6, 1] = reshape(x)\n"
                              "y.concat: f32[8, 6, 2] = concat(x.reshape, x.reshape_1)\n"},
           ExpandedExpression{"reshape(x, (4, 2 * 6))", "y.reshape: f32[4, 12] = reshape(x)\n"},
           // A number among the tensors of an op is a constant, an exponent is an attribute.
           ExpandedExpression{"maximum(x, 0)",
                              "y.constant: f32[] = constant()\ny.maximum: f32[8, 6] = maximum(x, y.constant)\n"},
           ExpandedExpression{
               "where(less(0.5, x), x, -1.0)",
               "y.constant: f32[] = constant()\ny.less: f32[8, 6] = less(y.constant, x)\n"
               "y.constant_1: f32[] = constant()\ny.where: f32[8, 6] = where(y.less, x, y.constant_1)\n"},
           ExpandedExpression{"pow(x, 3)", "y.power: f32[8, 6] = power(x)\n"},
           ExpandedExpression{"pow(2, x)", "y.constant: f32[] = constant()\ny.pow: f32[8, 6] = pow(y.constant, x)\n"},
           ExpandedExpression{"pow(x, x)", "y.pow: f32[8, 6] = pow(x, x)\n"},
           ExpandedExpression{"reshape(transpose(x), shape(x))",
                              "y.transpose: f32[6, 8] = transpose(x)\ny.reshape: f32[8, 6] = reshape(y.transpose)\n"},
       }) {
    const std::string body = absl::StrCat("let y = ", c.expression, "; loss reduce_mean(y);");
    const std::string ops = Ops(AnalyzeBody(body));
    const std::string expected = absl::StrCat("x: f32[8, 6] = input()\n", c.ops);
    EXPECT_EQ(ops.substr(0, expected.size()), expected) << c.expression << "\n" << ops;
  }
}

TEST(FrontendTest, TuplesThatDoNotFit) {
  struct WrongTuple {
    const char* expression;
    const char* message;
  };
  for (const WrongTuple& c : {
           WrongTuple{"split(x, 4, axis = 1)[0]", "error[E0409]: 6 elements cannot be split into 4 equal parts"},
           WrongTuple{"split(x, 0, axis = 1)[0]", "error[E0409]: 6 elements cannot be split into 0 equal parts"},
           WrongTuple{"split(x, (2, 5), axis = 1)[0]", "error[E0409]: parts whose sizes do not add up"},
           WrongTuple{"split(x, (7, -1), axis = 1)[0]", "error[E0409]: parts whose sizes do not add up"},
           WrongTuple{"split(x, 2.5, axis = 1)[0]", "error[E0204]: argument `parts` of `split`"},
           WrongTuple{"split(x, 2, axis = 2)[0]", "error[E0404]: axis 2 of a tensor with 2 dimensions"},
           WrongTuple{"split(x, 2, axis = 1)[2]", "error[E0214]: element 2 of a tuple of 2"},
           WrongTuple{"split(x, 2, axis = 1)[0..1]", "error[E0214]: an element of a tuple has one number"},
           WrongTuple{"stack((x, relu(x[.., 1..])), axis = 0)", "error[E0405]: `stack` of f32[8, 6] and f32[8, 5]"},
           WrongTuple{"stack(x, axis = 0)", "error[E0204]: argument `x` of `stack` is a tuple of tensors"},
           WrongTuple{"stack((x, x), axis = 3)", "error[E0404]: axis 3 of a tensor with 3 dimensions"},
           WrongTuple{"stack((x, x))", "error[E0203]"},
       }) {
    const Analyzed analyzed = AnalyzeBody(absl::StrCat("let y = ", c.expression, "; loss reduce_mean(y);"));
    EXPECT_EQ(analyzed.messages.substr(0, std::string(c.message).size()), c.message) << c.expression;
  }
}

TEST(FrontendTest, StaticArithmetic) {
  struct Arithmetic {
    const char* expression;
    int64_t value;
  };
  for (const Arithmetic& c : {Arithmetic{"2 + 3 * 4", 14}, Arithmetic{"(2 + 3) * 4", 20}, Arithmetic{"7 / 2", 3},
                              Arithmetic{"-7 / 2 + 10", 7}, Arithmetic{"7 % 4", 3}, Arithmetic{"1 - -2", 3},
                              Arithmetic{"choose(1.5 < 2, 5, 6)", 5}, Arithmetic{"choose(3 == 4, 5, 6)", 6},
                              Arithmetic{"choose(\"a\" != \"b\", 5, 6)", 5}}) {
    const Analyzed analyzed = AnalyzeBody(absl::StrCat("let y = dense(x, ", c.expression, "); loss reduce_mean(y);"));
    ASSERT_TRUE(analyzed.module.has_value()) << c.expression << "\n" << analyzed.messages;
    const ir::Graph& graph = analyzed.module->graph;
    EXPECT_EQ(graph.op(*graph.Find("y.weight")).type.shape[0], c.value) << c.expression;
  }
}

TEST(FrontendTest, KeepsOnlyWhatIsNeeded) {
  const Analyzed analyzed = AnalyzeBody(
      "let _dead = relu(x); let y = tanh(x); print(y); assert_finite(x); let p = softmax(y); metric mse(p, x); loss "
      "reduce_mean(y);");
  EXPECT_EQ(analyzed.messages, "");
  EXPECT_EQ(Ops(analyzed),
            "x: f32[8, 6] = input()\n"
            "y.tanh: f32[8, 6] = tanh(x)\n"
            "p.softmax: f32[8, 6] = softmax(y.tanh)\n"
            "sample_mask: f32[8] = input()\n"
            "metric.mse: f32[] = mse(p.softmax, x, sample_mask)\n"
            "loss.reduce_mean: f32[] = reduce_mean(y.tanh)\n");
  ASSERT_TRUE(analyzed.module.has_value());
  const ir::Graph& graph = analyzed.module->graph;
  EXPECT_EQ(graph.op(*graph.Find("p.softmax")).phase, ir::Phase::kMetric);
  const ir::Look printed = {.kind = ir::LookKind::kPrint, .value = *graph.Find("y.tanh"), .name = "y.tanh", .line = 2};
  const ir::Look checked = {.kind = ir::LookKind::kAssertFinite, .value = *graph.Find("x"), .name = "x", .line = 2};
  EXPECT_EQ(graph.looks, (std::vector<ir::Look>{printed, checked}));
}

// What an update needs of the step is a part of the forward pass; what it makes of a state comes at the end.
TEST(FrontendTest, UpdatesAreTheEndOfAStep) {
  const Analyzed analyzed = AnalyzeBody(
      "state s: f32[6] = zeros(); let y = dense(x, 6); let m = reduce_mean(y, axes = 0); "
      "update s = 0.5 * s + tanh(m); metric reduce_mean(m); state count: f32[] = ones(); update count = count + 1.0; "
      "loss reduce_mean(y + s);");
  EXPECT_EQ(analyzed.messages.find("error"), std::string::npos) << analyzed.messages;
  ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  const ir::Graph& graph = analyzed.module->graph;
  std::vector<std::string> phases;
  for (const ir::Op& op : graph.ops) {
    if (op.phase != ir::Phase::kForward) phases.push_back(absl::StrCat(op.name, " ", ir::PhaseName(op.phase)));
  }
  EXPECT_EQ(phases, (std::vector<std::string>{"s.scale update", "s.add update", "metric.reduce_mean metric",
                                              "count.add update"}));
  EXPECT_EQ(graph.updates, (std::vector<ir::StateUpdate>{{*graph.Find("s"), *graph.Find("s.add")},
                                                         {*graph.Find("count"), *graph.Find("count.add")}}));
  EXPECT_FALSE(graph.op(*graph.Find("s")).attributes.Get(ir::attribute::kTrained));
}

TEST(FrontendTest, LooksByName) {
  const Analyzed analyzed = AnalyzeBody(
      "print(\"y.matmul\"); let y = dense(x, 3); print(y.grad); print(local \"y.weight.grad\"); loss reduce_mean(y);");
  EXPECT_EQ(analyzed.messages, "");
  ASSERT_TRUE(analyzed.module.has_value());
  std::vector<std::string> looks;
  for (const ir::Look& look : analyzed.module->graph.looks) {
    looks.push_back(absl::StrCat(ir::LookKindName(look.kind), " ", look.name, " ", look.part));
  }
  EXPECT_EQ(looks, (std::vector<std::string>{"print y.matmul ", "print y.bias_add grad", "print_local y.weight grad"}));
  EXPECT_TRUE(absl::StrContains(AnalyzeBody("let y = dense(x, 3); loss reduce_mean(y); print(\"y.matmuls\");").messages,
                                "help: did you mean `y.matmul`?"));
}

TEST(FrontendTest, ParametersOfAFunctionHaveNamesOfTheirOwn) {
  const Analyzed analyzed =
      AnalyzeBody("loss reduce_mean(f(x, 3));", "fn f(x: f32[..n], x: int) -> f32[..n] { return x; }");
  EXPECT_EQ(analyzed.messages,
            "error[E0202]: `x` is defined twice\n"
            "  --> test.model:4:19\n"
            "   |\n"
            " 4 | fn f(x: f32[..n], x: int) -> f32[..n] { return x; }\n"
            "   |                   ^ defined again here\n"
            "   |      - first defined here\n");
}

TEST(FrontendTest, ReportsAllMistakesAtOnce) {
  const Analyzed analyzed = AnalyzeBody(
      "let a = relo(x);\nlet b = dense(a, 3);\nlet c = matmul(x, x);\nlet d = undefined;\nloss reduce_mean(b + c + "
      "d);");
  EXPECT_FALSE(analyzed.module.has_value());
  EXPECT_NE(analyzed.messages.find("test.model:2:9"), std::string::npos) << analyzed.messages;
  EXPECT_NE(analyzed.messages.find("E0401"), std::string::npos) << analyzed.messages;
  EXPECT_NE(analyzed.messages.find("unknown name `undefined`"), std::string::npos) << analyzed.messages;
  EXPECT_EQ(analyzed.messages.find("warning"), std::string::npos) << analyzed.messages;
}

TEST(FrontendTest, TellsTheOriginOfShapes) {
  const Analyzed analyzed = AnalyzeBody("param w: f32[5, 4] = zeros();\nlet y = matmul(x, w);\nloss reduce_mean(y);");
  EXPECT_EQ(analyzed.messages,
            "error[E0401]: inner sizes 6 and 5 of a matrix product differ: 8x6 by 5x4\n"
            "  --> test.model:3:19\n"
            "   |\n"
            " 3 | let y = matmul(x, w);\n"
            "   |                   ^ `w` is f32[5, 4], from line 2, has 5 in dimension 0\n"
            "   |                - `x` is f32[8, 6], from line 1, has 6 in dimension 1\n");
}

TEST(FrontendTest, HelpNamesTheArgumentsOfTheModel) {
  const Analyzed analyzed = AnalyzeBody("input target: f32[8];\nlet y = dense(x, 3);\nloss cross_entropy(y, target);");
  EXPECT_NE(analyzed.messages.find("help: cast(target, i32)"), std::string::npos) << analyzed.messages;
}

TEST(FrontendTest, ANumberComparedWithIntegersIsOne) {
  const Analyzed analyzed =
      AnalyzeBody("input label: i32[8];\nlet y = equal(label, 3);\nloss reduce_mean(y) + reduce_mean(x);");
  EXPECT_EQ(analyzed.messages, "");
  const ir::Graph& graph = analyzed.module->graph;
  EXPECT_EQ(graph.op(*graph.Find("y.constant")).type.ToString(), "i32[]");
}

TEST(FrontendTest, OpsOfNumbersAloneAndShapesOfNumbersAreRefused) {
  EXPECT_NE(
      AnalyzeBody("let y = sub(1, 2); loss reduce_mean(x * y);").messages.find("argument `x` of `sub` is a tensor"),
      std::string::npos);
  EXPECT_NE(AnalyzeBody("loss reduce_mean(reshape(x, shape(3)));").messages.find("only a tensor has a shape"),
            std::string::npos);
}

// Scales broadcast along the channels, statistics are taken over the dimensions of the layer.
TEST(FrontendTest, ExpandsTheNormalisations) {
  struct Normalisation {
    const char* call;
    const char* parameters;
    std::vector<ir::Shape> statistics;  // What `reduce_mean` and `reduce_sum` give, the loss apart.
  };
  for (const Normalisation& c : {
           Normalisation{"l2_normalize(image)", "", {{8, 6, 4, 1}}},
           Normalisation{"rms_norm(image)", "y.weight", {}},
           Normalisation{"group_norm(image, 3)", "y.weight y.bias", {{8, 3, 1, 1}, {8, 3, 1, 1}}},
           Normalisation{"batch_norm(image)", "y.weight y.mean y.variance y.bias", {{6}, {6}}},
           Normalisation{"ghost_batch_norm(image, 4)", "y.weight y.mean y.variance y.bias", {{4, 6}, {4, 6}, {6}, {6}}},
       }) {
    const Analyzed analyzed = AnalyzeBody(absl::StrCat(
        "input image: f32[8, 6, 4, 5]; let y: f32[8, 6, 4, 5] = ", c.call, "; loss reduce_mean(y) + reduce_mean(x);"));
    EXPECT_EQ(analyzed.messages, "") << c.call;
    EXPECT_EQ(ParameterNames(analyzed), c.parameters) << c.call;
    std::vector<ir::Shape> statistics;
    for (const ir::Op& op : analyzed.module->graph.ops) {
      const bool reduces = op.kind == ir::OpKind::kReduceMean || op.kind == ir::OpKind::kReduceSum;
      if (reduces && !op.type.shape.empty()) statistics.push_back(op.type.shape);
    }
    EXPECT_EQ(statistics, c.statistics) << c.call;
  }
  EXPECT_EQ(AnalyzeBody("let y: f32[8, 6] = batch_norm(group_norm(x, 2)); loss reduce_mean(y);").messages, "");
  EXPECT_NE(AnalyzeBody("loss reduce_mean(group_norm(x, 4));").messages.find("4 groups do not divide the 6 channels"),
            std::string::npos);
  EXPECT_NE(
      AnalyzeBody("loss reduce_mean(ghost_batch_norm(x, 3));").messages.find("3 parts do not divide the batch of 8"),
      std::string::npos);
}

TEST(FrontendTest, AFloatNextToIntegersAsksForTheCastOfTheTensor) {
  for (const char* expression : {"label * 2.0", "1.5 * label", "label - 0.5", "2.0 / label"}) {
    const Analyzed analyzed = AnalyzeBody(
        absl::StrCat("input label: i32[8];\nlet y = ", expression, ";\nloss reduce_mean(y) + reduce_mean(x);"));
    EXPECT_NE(analyzed.messages.find("help: cast(label, f32)"), std::string::npos) << analyzed.messages;
  }
}

TEST(FrontendTest, APreludeFunctionThatHidesAnOpSaysHowToReachIt) {
  const Analyzed analyzed =
      AnalyzeBody("param w: f32[6] = ones();\nlet y = layer_norm(x, w, w);\nloss reduce_mean(y);");
  EXPECT_NE(analyzed.messages.find("is called as `layer_norm_op(…)`"), std::string::npos) << analyzed.messages;
}

TEST(FrontendTest, BoundsTheWorkOfAnExpansion) {
  // Expanding 2^40 calls, or a billion passes, must stop soon.
  std::string functions = "fn f0(x: f32[..n]) -> f32[..n] { return relu(x); }\n";
  for (int i = 1; i <= 40; ++i) {
    absl::StrAppend(&functions, "fn f", i, "(x: f32[..n]) -> f32[..n] { return f", i - 1, "(f", i - 1, "(x)); }\n");
  }
  for (const char* body :
       {"loss reduce_mean(f40(x));", "for i in 0..1000000000 { let _y = i * 2; } loss reduce_mean(x);"}) {
    const Analyzed analyzed = AnalyzeBody(body, functions);
    EXPECT_NE(analyzed.messages.find("E0213"), std::string::npos) << analyzed.messages.substr(0, 1000);
  }
}

TEST(FrontendTest, BoundsTheDepthOfCalls) {
  std::string functions = "fn f0(x: f32[..n]) -> f32[..n] { return relu(x); }\n";
  for (int i = 1; i <= 5000; ++i) {
    absl::StrAppend(&functions, "fn f", i, "(x: f32[..n]) -> f32[..n] { return f", i - 1, "(x); }\n");
  }
  const Analyzed shallow = AnalyzeBody("let y = f100(x); loss reduce_mean(y);", functions);
  EXPECT_TRUE(shallow.module.has_value()) << shallow.messages.substr(0, 1000);
  const Analyzed deep = AnalyzeBody("loss reduce_mean(f5000(x));", functions);
  EXPECT_NE(deep.messages.find("functions call each other more than 128 deep"), std::string::npos)
      << deep.messages.substr(0, 1000);
}

TEST(FrontendTest, AFunctionMayWrapTheOpOfItsName) {
  const Analyzed analyzed = AnalyzeBody("let y = relu(x); loss reduce_mean(y);",
                                        "fn relu(x: f32[..n]) -> f32[..n] { return relu(x) * 2.0; }");
  EXPECT_EQ(Ops(analyzed),
            "x: f32[8, 6] = input()\ny.relu: f32[8, 6] = relu(x)\ny.scale: f32[8, 6] = scale(y.relu)\n"
            "loss.reduce_mean: f32[] = reduce_mean(y.scale)\n");
}

TEST(FrontendTest, NamesMayBeWordsOfCpp) {
  const Analyzed analyzed =
      AnalyzeBody("let class = dense(x, 3); let template = relu(class); loss reduce_mean(template);");
  EXPECT_EQ(ParameterNames(analyzed), "class.weight class.bias");
}

TEST(FrontendTest, SameTextSameModule) {
  const std::string body = "let y = dense(x, 3); metric mse(y, y); loss reduce_mean(y);";
  EXPECT_EQ(AnalyzeBody(body).module, AnalyzeBody(body).module);
  EXPECT_NE(AnalyzeBody(body).module->graph.hash, AnalyzeBody(body + " ").module->graph.hash);
}

// The loss of a model whose inputs and parameters hold sines, and labels what `label` is.
double LossOf(const std::string& text) {
  const Analyzed analyzed = AnalyzeText(text);
  EXPECT_TRUE(analyzed.module.has_value()) << text << "\n" << analyzed.messages;
  if (!analyzed.module.has_value()) return std::nan("");
  const ir::Graph& graph = analyzed.module->graph;
  ir::SourceValues sources;
  for (const ir::Op& op : graph.ops) {
    if (op.kind == ir::OpKind::kInput || op.kind == ir::OpKind::kParameter) {
      ir::Tensor& tensor = sources[op.id] = ir::Zeros(op.type.shape);
      for (size_t i = 0; i < tensor.values.size(); ++i)
        tensor.values[i] = op.name == "label" ? std::vector<double>{3, 0, -100, 1, 2}[i % 5]
                                              : std::sin(static_cast<double>(i) + op.name.size());
    }
  }
  return ir::InterpretGraph(graph, sources, 1)[*graph.loss].values[0];
}

TEST(PreludeTest, LinearCrossEntropyIsThatOfAllLogits) {
  const auto loss_of = [](const std::string& loss) {
    return LossOf(
        "model M() {\n  input x: f32[2, 5, 3];\n  param weight: f32[4, 3] = ones();\n  input label: i32[2, 5];\n"
        "  loss " +
        loss + ";\n}\ntrain M { data = synthetic(); }");
  };
  const std::string of_all =
      "cross_entropy(soft_cap(matmul(x, weight, transpose_b = true), 1.5), label, ignore = -100, "
      "label_smoothing = 0.1)";
  for (const char* const parts : {"1", "2", "5"}) {
    EXPECT_NEAR(loss_of(std::string("linear_cross_entropy(x, weight, label, parts = ") + parts +
                        ", cap = 1.5, label_smoothing = 0.1)"),
                loss_of(of_all), 1e-12);
  }
}

// Against torch.nn.functional in double: the mean of the result times sines.
TEST(PreludeTest, ConvolutionsOfSequencesAndVolumesAndPadding) {
  struct PreludeCase {
    const char* expression;
    const char* x;
    const char* w;
    const char* result;
    double loss;
  };
  for (const PreludeCase& each : {
           PreludeCase{"conv1d(x, 6, 3, stride = 2, padding = 1, dilation = 2, groups = 2)", "2, 4, 11", "1", "2, 6, 5",
                       -0.064412004327},
           PreludeCase{"conv1d(x, 3, 4, bias = false)", "2, 2, 9", "1", "2, 3, 6", -0.429590460608},
           PreludeCase{"conv3d(x, 4, 2, stride = 2, padding = 1, dilation = 2, groups = 2)", "2, 4, 5, 6, 7", "1",
                       "2, 4, 3, 3, 4", -0.008877123357},
           PreludeCase{"conv3d(x, 2, 3, bias = false)", "1, 3, 3, 4, 5", "1", "1, 2, 1, 2, 3", -0.065922796090},
           PreludeCase{
               "conv_transpose1d(x, 6, 3, stride = 2, padding = 1, output_padding = 1, dilation = 2, groups = 2)",
               "2, 4, 5", "1", "2, 6, 12", -0.009302214078},
           PreludeCase{"conv_transpose2d(x, 6, 3, stride = 2, padding = 1, output_padding = 1, groups = 2)",
                       "2, 4, 3, 5", "1", "2, 6, 6, 10", 0.032844644917},
           PreludeCase{"conv_transpose2d(x, 3, 2, stride = 2, bias = false)", "1, 2, 4, 3", "1", "1, 3, 8, 6",
                       0.001863615248},
           PreludeCase{"conv_transpose3d(x, 4, 3, stride = 2, padding = 1, output_padding = 1, groups = 2)",
                       "2, 4, 3, 2, 4", "1", "2, 4, 6, 4, 8", 0.006038750430},
           PreludeCase{"conv_transpose3d(x, 3, 3, stride = 3, padding = 2, dilation = 2, bias = false)",
                       "1, 2, 3, 4, 2", "1", "1, 3, 7, 10, 4", 0.000470501442},
           PreludeCase{"pad(x, (0, 1, 2), (0, 0, 3), value = -1.5)", "2, 3, 4", "1", "2, 4, 9", -0.138918271172},
           PreludeCase{"pad(x, (0, 2, 2), (0, 1, 3), mode = \"reflect\")", "2, 3, 4", "1", "2, 6, 9", 0.025433524593},
           PreludeCase{"pad(x, (0, 2, 1), (0, 5, 0), mode = \"replicate\")", "2, 3, 4", "1", "2, 10, 5",
                       0.140902806075},
       }) {
    const double loss = LossOf(absl::StrCat("model M() { input x: f32[", each.x, "]; param w: f32[", each.w,
                                            "] = ones(); input y: f32[", each.result, "]; let h = ", each.expression,
                                            "; loss reduce_mean(h * y); }\ntrain M { data = synthetic(); }"));
    EXPECT_NEAR(loss, each.loss, 1e-11) << each.expression;
  }
  for (const auto& [expression, message] : std::vector<std::pair<const char*, const char*>>{
           {"pad(x, (0, 0), (0, 1), mode = \"mirror\")", "the mode of `pad` is"},
           {"pad(x, (0, 0), (0, 6), mode = \"reflect\")", "a mirror has no more than 6 - 1 elements of dimension 1"},
           {"pad(x, (0, 0), (0, 1), value = 1.0, mode = \"reflect\")", "`pad` has a `value` only with"},
           {"conv1d(x, 3, 3)", "is f32[batch, c, length], not 8x6"},
       }) {
    const Analyzed analyzed = AnalyzeBody(absl::StrCat("let y = ", expression, "; loss reduce_mean(y);"));
    EXPECT_NE(analyzed.messages.find(message), std::string::npos) << analyzed.messages;
  }
}

// Against torch.nn.functional.cross_entropy in double, and of a part of the labels its "none".
TEST(PreludeTest, CrossEntropyByName) {
  struct Case {
    const char* call;
    double value;
  };
  for (const Case& c : {
           Case{"x, y, ignore = -100", 1.949030477020425},
           Case{"x, y, ignore = -100, reduction = \"sum\", label_smoothing = 0.1", 9.537821565088668},
           Case{"x, y, ignore = -100, weight = w", 2.0130614176672625},
           Case{"x, y, ignore = -100, weight = w, label_smoothing = 0.1", 1.9443383568556358},
           Case{"x, y, ignore = -100, keep = keep", 1.985523774187179},
           Case{"x, probabilities = p", 1.521530523495733},
           Case{"x, probabilities = p, weight = w, label_smoothing = 0.1", 1.8609162697361683},
           Case{"x, probabilities = p, reduction = \"sum\"", 9.129183140974398},
       }) {
    const Analyzed analyzed = AnalyzeText(absl::StrCat(
        "model M() {\n  input x: f32[2, 3, 4];\n  input y: i32[2, 3];\n  input keep: f32[2, 3];\n"
        "  input cos: f32[2, 3, 4];\n  let p = softmax(cos);\n  let w = (cast(arange(4), f32) + 1.0) / 2.0;\n"
        "  loss cross_entropy(",
        c.call, ");\n}\ntrain M { data = synthetic(); }"));
    ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
    const ir::Graph& graph = analyzed.module->graph;
    ir::SourceValues sources;
    for (const ir::Op& op : graph.ops) {
      if (op.kind != ir::OpKind::kInput) continue;
      ir::Tensor& tensor = sources[op.id] = ir::Zeros(op.type.shape);
      for (size_t i = 0; i < tensor.values.size(); ++i) {
        const double at = static_cast<double>(i);
        tensor.values[i] = op.name == "x"      ? std::sin(at)
                           : op.name == "cos"  ? std::cos(at)
                           : op.name == "keep" ? std::vector<double>{1, 0, 1, 1, 0, 1}[i]
                                               : std::vector<double>{3, 0, -100, 1, 2, 3}[i];
      }
    }
    EXPECT_NEAR(ir::InterpretGraph(graph, sources, 1)[*graph.loss].values[0], c.value, 1e-12) << c.call;
  }
}

// Against the losses of torch.nn.functional in double with reduction = "none", of which some count.
TEST(PreludeTest, LossesOfWhatCounts) {
  struct Case {
    const char* loss;
    double value;
  };
  for (const Case& c : {
           Case{"mse(x, cos, keep = keep)", 1.0233613156671728},
           Case{"mse(x, cos, keep = sample)", 0.977247064113841},
           Case{"mae(x, cos, keep = keep)", 0.9275372686085739},
           Case{"huber(x, cos, delta = 0.7, keep = keep)", 0.4216463437613131},
           Case{"huber(x, cos, keep = keep, reduction = \"sum\")", 7.8337120538523335},
           Case{"bce_with_logits(x, 0.5 * cos + 0.5, keep = keep)", 0.7604907421115203},
           Case{"mse(x, cos, reduction = \"sum\")", 23.089310384618333},
       }) {
    const Analyzed analyzed = AnalyzeText(
        absl::StrCat("model M() {\n  input x: f32[2, 3, 4];\n  input cos: f32[2, 3, 4];\n  input keep: f32[2, 3];\n"
                     "  input sample: f32[2];\n  loss ",
                     c.loss, ";\n}\ntrain M { data = synthetic(); }"));
    ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
    const ir::Graph& graph = analyzed.module->graph;
    ir::SourceValues sources;
    for (const ir::Op& op : graph.ops) {
      if (op.kind != ir::OpKind::kInput) continue;
      ir::Tensor& tensor = sources[op.id] = ir::Zeros(op.type.shape);
      for (size_t i = 0; i < tensor.values.size(); ++i) {
        const double at = static_cast<double>(i);
        tensor.values[i] = op.name == "x"      ? std::sin(at)
                           : op.name == "cos"  ? std::cos(at)
                           : op.name == "keep" ? std::vector<double>{1, 0, 1, 1, 0, 1}[i]
                                               : at;
      }
    }
    EXPECT_NEAR(ir::InterpretGraph(graph, sources, 1)[*graph.loss].values[0], c.value, 1e-12) << c.loss;
  }
}

// In a metric the mean is over what counts in all batches of an evaluation, without padding.
TEST(PreludeTest, CrossEntropyByNameInAMetric) {
  const Analyzed analyzed = AnalyzeText(
      "model M() {\n  input x: f32[2, 3, 4];\n  input y: i32[2, 3];\n  loss cross_entropy(x, y, ignore = -100);\n"
      "  metric cross_entropy(x, y, ignore = -100);\n}\ntrain M { data = synthetic(); }");
  EXPECT_EQ(analyzed.messages, "");
  ASSERT_TRUE(analyzed.module.has_value());
  EXPECT_EQ(ir::MetricSourcesOf(analyzed.module->graph, analyzed.module->graph.metrics[0].value).totals.size(), 2u);
}

// Against PyTorch: log_softmax, gather and logsigmoid in double.
TEST(PreludeTest, LossesOfPreferences) {
  const Analyzed analyzed = AnalyzeText(
      "model M() {\n"
      "  input logits: f32[2, 3, 3];\n  input label: i32[2, 3];\n"
      "  input rejected: f32[2];\n  input reference: f32[2];\n  input other: f32[2];\n"
      "  let chosen = label_log_probability(logits, label);\n"
      "  let dpo = dpo_loss(chosen, rejected, reference, other, beta = 0.5, label_smoothing = 0.1);\n"
      "  loss dpo + 1000.0 * preference_loss(chosen, rejected, margin = 0.25);\n}\n"
      "train M { data = synthetic(); }");
  ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  const ir::Graph& graph = analyzed.module->graph;
  const std::map<std::string, std::vector<double>> inputs = {
      {"logits", {0.5, -1, 2, 1, 0, -0.5, 0.25, 0.75, -2, 0, 1.5, -1, 2, -0.5, 0.5, 1, 1, -3}},
      {"label", {2, -100, 1, 0, 2, -100}},
      {"rejected", {-1.5, -4}},
      {"reference", {-1, -2}},
      {"other", {-2, -3}}};
  ir::SourceValues sources;
  for (const ir::Op& op : graph.ops) {
    if (op.kind == ir::OpKind::kInput) sources[op.id] = {.shape = op.type.shape, .values = inputs.at(op.name)};
  }
  const auto values = ir::InterpretGraph(graph, sources, 1);
  EXPECT_NEAR(values[*graph.loss].values[0], 0.777293782418473 + 533.073997030391, 1e-9);
}

}  // namespace
}  // namespace cleave::frontend
