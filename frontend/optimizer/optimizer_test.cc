#include "frontend/optimizer/optimizer.h"

#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/testing.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/ops.h"
#include "ir/proof/interpret/interpret.h"

namespace cleave::frontend {
namespace {

constexpr char kOwn[] =
    "fn own(parameter: f32[..n], gradient: f32[..n], lr: float, decay: float = 0.9) -> f32[..n] {\n"
    "    state average: f32[..n] = zeros();\n"
    "    let mean = decay * average + (1.0 - decay) * gradient;\n"
    "    update average = mean;\n"
    "    let correction = 1.0 / (1.0 - pow(decay, step));\n"
    "    return parameter - mean * correction * lr;\n"
    "}\n";

// A dense layer whose parameters `optimizer` updates.
Analyzed Optimized(const std::string& functions, const std::string& optimizer) {
  return AnalyzeText(absl::StrCat(functions,
                                  "model M() { input x: f32[8, 4]; input y: f32[8, 3]; let h = dense(x, 3); "
                                  "loss mse(h, y); }\ntrain M { optimizer = ",
                                  optimizer, "; }\n"));
}

std::string UpdatesText(const ir::Graph& graph) {
  std::string text;
  for (const ir::Op& op : graph.ops) {
    std::vector<std::string> inputs;
    for (ir::OpId input : op.inputs) inputs.push_back(graph.op(input).name);
    absl::StrAppend(&text, op.name, " = ", ir::OpKindName(op.kind), "(", absl::StrJoin(inputs, ", "), ")\n");
  }
  for (const ir::StateUpdate& update : graph.updates) {
    absl::StrAppend(&text, graph.op(update.state).name, " <- ", graph.op(update.value).name, "\n");
  }
  return text;
}

// What depends on the step alone is made once; everything else is named after its parameter.
TEST(OptimizerTest, IsExpandedForEachParameter) {
  const Analyzed analyzed = Optimized(kOwn, "own(lr = 0.1)");
  EXPECT_EQ(analyzed.messages, "");
  ASSERT_TRUE(analyzed.module.has_value());
  EXPECT_EQ(UpdatesText(analyzed.module->updates.graph),
            "h.weight = parameter()\n"
            "h.weight.grad = input()\n"
            "h.bias = parameter()\n"
            "h.bias.grad = input()\n"
            "h.weight.average = state()\n"
            "mean.decay = step_scalar()\n"
            "h.weight.mean.mul = mul(mean.decay, h.weight.average)\n"
            "mean.step_scalar = step_scalar()\n"
            "h.weight.mean.mul_1 = mul(mean.step_scalar, h.weight.grad)\n"
            "h.weight.average.new = add(h.weight.mean.mul, h.weight.mean.mul_1)\n"
            "correction = step_scalar()\n"
            "h.weight.mul = mul(h.weight.average.new, correction)\n"
            "learning_rate = step_scalar()\n"
            "h.weight.mul_1 = mul(h.weight.mul, learning_rate)\n"
            "h.weight.new = sub(h.weight, h.weight.mul_1)\n"
            "h.bias.average = state()\n"
            "h.bias.mean.mul = mul(mean.decay, h.bias.average)\n"
            "h.bias.mean.mul_1 = mul(mean.step_scalar, h.bias.grad)\n"
            "h.bias.average.new = add(h.bias.mean.mul, h.bias.mean.mul_1)\n"
            "h.bias.mul = mul(h.bias.average.new, correction)\n"
            "h.bias.mul_1 = mul(h.bias.mul, learning_rate)\n"
            "h.bias.new = sub(h.bias, h.bias.mul_1)\n"
            "h.weight.average <- h.weight.average.new\n"
            "h.weight <- h.weight.new\n"
            "h.bias.average <- h.bias.average.new\n"
            "h.bias <- h.bias.new\n");
  const ir::Graph& graph = analyzed.module->updates.graph;
  EXPECT_EQ(graph.op(*graph.Find("correction")).attributes.Get(ir::attribute::kFormula),
            "div(1.0, sub(1.0, pow(optimizer.decay=0.9, step)))");
}

// Expects that the optimizer is right and that its updates have these lines.
void CheckLines(const std::string& functions, const std::string& optimizer, const std::vector<std::string>& lines) {
  const Analyzed analyzed = Optimized(functions, optimizer);
  EXPECT_EQ(analyzed.messages, "");
  ASSERT_TRUE(analyzed.module.has_value());
  const std::string text = UpdatesText(analyzed.module->updates.graph);
  for (const std::string& line : lines) EXPECT_TRUE(absl::StrContains(text, line)) << line << " in\n" << text;
}

// The updates of layers are alike op by op, whatever parameter of their shape has been expanded first.
TEST(OptimizerTest, UpdatesOfLayersAreKnownAsSuch) {
  const Analyzed analyzed = AnalyzeText(
      "model M() { input x: f32[8, 4]; input y: f32[8, 4]; let mut h = dense(x, 4);\n"
      "for i in 0..3 { h = dense(h, 4); } loss mse(h, y); }\n"
      "train M { optimizer = adamw(lr = 0.1); }\n");
  EXPECT_EQ(analyzed.messages, "");
  ASSERT_TRUE(analyzed.module.has_value());
  std::map<std::pair<ir::TextPlace, ir::LoopPasses>, std::string> names;
  std::map<ir::TextPlace, int> layers;
  for (const ir::Op& op : analyzed.module->updates.graph.ops) {
    if (!op.repetition.is_repeated()) continue;
    const auto [other, is_new] = names.emplace(std::pair(op.repetition.place, op.repetition.passes), op.name);
    EXPECT_TRUE(is_new) << op.name << " has the place of " << other->second;
    ++layers[op.repetition.place];
  }
  EXPECT_GT(layers.size(), 20u);
  for (const auto& [place, count] : layers) EXPECT_EQ(count, 3);
}

// A state that takes a gradient, another state or a value that another state takes too, gets a value of its own.
TEST(OptimizerTest, EveryStateHasAValueOfItsOwn) {
  CheckLines(
      "fn own(parameter: f32[..n], gradient: f32[..n], lr: float) -> f32[..n] {\n"
      "    state last: f32[..n] = zeros(); state before: f32[..n] = zeros(); state twice: f32[..n] = zeros();\n"
      "    update last = gradient; update before = last;\n"
      "    let result = parameter - (gradient + before + twice) * lr; update twice = result;\n"
      "    return result;\n"
      "}\n",
      "own(lr = 0.1)",
      {"h.bias.last.new = scale(h.bias.grad)\n", "h.bias.before.new = scale(h.bias.last)\n",
       "h.bias.last <- h.bias.last.new\n", "h.bias.before <- h.bias.before.new\n",
       "h.bias.new = scale(h.bias.twice.new)\n", "h.bias <- h.bias.new\n"});
}

TEST(OptimizerTest, ChoosesByTheStepAndTheShape) {
  const std::string head = "fn own(parameter: f32[..n], gradient: f32[..n], lr: float) -> f32[..n] { ";
  for (const char* const body : {"return parameter - where(step > 3, gradient, 0.0) * lr; }\n",
                                 "return parameter - gradient * choose(step % 2 == 0, lr, 2.0 * lr); }\n",
                                 "return parameter - choose(ndim(gradient) == 2, gradient, 0.5 * gradient) * lr; }\n",
                                 "return parameter - maximum(gradient, -1.0 / floor(step / 2 + 1)) * lr; }\n"}) {
    EXPECT_EQ(Optimized(head + body, "own(lr = 0.1)").messages, "") << body;
  }
}

TEST(OptimizerTest, ClipsByTheNormOfAllGradients) {
  // A function of the model's own that has a name of the prelude is not meant.
  CheckLines(
      "fn clip_factor(x: f32[..n]) -> f32[..n] { return x; }\n"
      "fn own(parameter: f32[..n], gradient: f32[..n], lr: float) -> f32[..n] {\n"
      "    return parameter - clip_factor(gradient) * lr;\n}\n",
      "own(lr = 0.1); clip = 2",
      {"h.weight.clip.reduce_sum = reduce_sum(h.weight.clip.square)\n",
       "h.bias.clip.add = add(h.weight.clip.reduce_sum, h.bias.clip.reduce_sum)\n",
       "h.weight.clipped = mul(h.weight.grad, clip.minimum)\n", "h.bias.mul = mul(h.bias.clipped, learning_rate)\n"});
}

TEST(OptimizerTest, ScalesTheLoss) {
  const std::string own =
      "fn own(parameter: f32[..n], gradient: f32[..n], lr: float) -> f32[..n] {\n"
      "    state last: f32[..n] = zeros(); update last = gradient;\n    return parameter - last * lr;\n}\n";
  // By a number.
  CheckLines(own, "own(lr = 0.1); loss_scale = 1024; clip = 2",
             {"loss_scale = step_scalar()\n", "h.weight.unscaled = div(h.weight.grad, loss_scale)\n",
              "h.weight.clip.square = square(h.weight.unscaled)\n",
              "h.weight.clipped = mul(h.weight.unscaled, clip.minimum)\n"});
  // Where a gradient is not finite, parameters and states stay.
  const std::vector<std::string> lines = {
      "loss_scale = parameter()\n",
      "h.weight.unscaled = div(h.weight.grad, loss_scale)\n",
      "h.weight.last.new = where(h.bias.loss_scale.add, h.weight.last, h.weight.unscaled)\n",
      "h.weight.new = where(h.bias.loss_scale.add, h.weight, h.weight.sub)\n",
      "loss_scale <- loss_scale.new\n",
      "loss_scale.good_steps <- loss_scale.good_steps.new\n"};
  CheckLines(own, "own(lr = 0.1); loss_scale = dynamic()", lines);
  CheckLines(own, "own(lr = 0.1); precision = f16", lines);
  const Analyzed unscaled = Optimized(own, "own(lr = 0.1); precision = f16; loss_scale = 1");
  EXPECT_FALSE(unscaled.module->updates.loss_scale.has_value());
}

// As torch.amp.GradScaler does it: half of it after a bad step, twice after three good ones in a row.
TEST(OptimizerTest, ADynamicScaleFollowsTheGradients) {
  const Analyzed analyzed = Optimized("", "sgd(lr = 0.5); loss_scale = dynamic(initial = 8.0, interval = 3)");
  ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  const ir::Graph& graph = analyzed.module->updates.graph;
  ir::SourceValues sources;
  for (const ir::Op& op : graph.ops) {
    if (op.kind == ir::OpKind::kParameter || op.kind == ir::OpKind::kInput) sources[op.id] = ir::Zeros(op.type.shape);
  }
  const ir::Attributes& first = graph.op(*graph.Find("loss_scale")).attributes;
  EXPECT_EQ(first.Get(ir::attribute::kFirst), 8);
  EXPECT_EQ(first.Get(ir::attribute::kFormula), "loss_scale.initial=8.0");
  std::set<std::string> demands;
  for (const ir::NumberDemand& demand : analyzed.module->training.demands) demands.insert(demand.condition);
  EXPECT_TRUE(demands.count("less(loss_scale.backoff=0.5, 1.0)") > 0);
  EXPECT_TRUE(demands.count("greater(loss_scale.interval=3.0, 0.0)") > 0);
  double& scale = sources[*graph.Find("loss_scale")].values[0];
  double& bias = sources[*graph.Find("h.bias")].values[1];
  double& gradient = sources[*graph.Find("h.bias.grad")].values[1];
  scale = 8;
  double expected_bias = 0;
  int64_t step = 0;
  const double infinite = std::numeric_limits<double>::infinity();
  const std::vector<std::pair<double, double>> steps = {{2, 8}, {4, 8}, {-infinite, 4}, {4, 4}, {std::nan(""), 2},
                                                        {4, 2}, {4, 2}, {4, 4}};
  for (const auto& [next, after] : steps) {
    gradient = next;
    if (std::isfinite(next)) expected_bias -= 0.5 * next / scale;
    const IdVector<ir::OpId, ir::Tensor> values = ir::InterpretGraph(graph, sources, ++step);
    for (const ir::StateUpdate& update : graph.updates) sources[update.state].values = values[update.value].values;
    EXPECT_EQ(scale, after) << "after step " << step;
    EXPECT_EQ(bias, expected_bias) << "after step " << step;
  }
}

void CheckMistake(const std::string& functions, const std::string& optimizer, const std::string& expected) {
  const Analyzed analyzed = Optimized(functions, optimizer);
  EXPECT_FALSE(analyzed.module.has_value()) << functions;
  EXPECT_TRUE(absl::StrContains(analyzed.messages, expected)) << analyzed.messages;
  // Once, not for each parameter.
  EXPECT_EQ(analyzed.messages.find("error[", 1), std::string::npos) << analyzed.messages;
}

TEST(OptimizerTest, Mistakes) {
  const std::string head = "fn own(parameter: f32[..n], gradient: f32[..n], lr: float) -> f32[..n] { ";
  CheckMistake(kOwn, "own()", "error[E0203]");
  CheckMistake(kOwn, "own(0.1, 0.9, 3.0)", "error[E0203]: `own` takes");
  CheckMistake(kOwn, "own(lr = 0.1, gradient = 3.0)", "error[E0203]: `own` has no argument `gradient`");
  CheckMistake(kOwn, "own(lr = 0.1, decay = true)", "error[E0204]: argument `decay` of `own` is `float`");
  CheckMistake("", "sgd(); clip = 0", "error[E0508]: `clip` must be positive");
  CheckMistake("", "sgd(); loss_scale = 0", "error[E0508]: `loss_scale` must be positive and finite");
  CheckMistake("", "sgd(); loss_scale = 1e39", "error[E0508]: `loss_scale` must be positive and finite");
  CheckMistake("", "sgd(); loss_scale = true", "error[E0204]: `loss_scale` must be a number");
  CheckMistake("", "sgd(); loss_scale = dynamic(backof = 0.5)", "error[E0203]: `dynamic` has no argument `backof`");
  CheckMistake("", "sgd(); loss_scale = dynamic(backoff = 2.0)", "error[E0212]: `backoff` must be more than 0");
  CheckMistake("", "sgd(); loss_scale = dynamic(initial = 2.0 * step)",
               "error[E0508]: `initial` is the scale before the first step");
  CheckMistake("", "sgd(); loss_scale = dynamic(interval = 2.5)", "error[E0204]: argument `interval` of");
  CheckMistake("", "sgd(); loss_scale = dynamic(initial = 1e39)", "error[E0508]: `loss_scale` must be positive");
  EXPECT_TRUE(absl::StrContains(
      AnalyzeText(
          "#[manual] model M() { input x: f32[8, 4]; input y: f32[8, 3]; let h = dense(x, 3); loss mse(h, y); }\n"
          "train M { precision = f16; }\n")
          .messages,
      "error[E0220]: a dynamic `loss_scale` in a manual model"));
  CheckMistake("", "sgd(); clip = true", "error[E0204]: `clip` must be a number");
  CheckMistake("", "relu(lr = 0.1)", "error[E0508]: unknown optimizer `relu`");
  CheckMistake(head + "param w: f32[..n] = zeros(); return parameter - gradient * lr; }\n", "own(lr = 0.1)",
               "error[E0211]: `param` inside an optimizer");
  CheckMistake(head + "print(gradient); return parameter - gradient * lr; }\n", "own(lr = 0.1)",
               "error[E0211]: `print` or `assert_finite` inside of `own`");
  CheckMistake(head + "return #[replicate] relu(parameter - gradient * lr); }\n", "own(lr = 0.1)",
               "error[E0305]: an attribute inside of `own`");
  CheckMistake(head + "return choose(step > 3, parameter, gradient); }\n", "own(lr = 0.1)",
               "help: between tensors: `where(step > 10, a, b)`");
  CheckMistake("fn twice(x: f32[..n]) -> f32[..n] { state m: f32[..n] = zeros(); update m = x * 1.0; return m; }\n" +
                   head + "let a = twice(gradient); return parameter - twice(a) * lr; }\n",
               "own(lr = 0.1)", "error[E0210]: two states of an optimizer are called `m`");
  CheckMistake(head + "update parameter = gradient; return parameter; }\n", "own(lr = 0.1)", "error[E0209]");
  CheckMistake(head + "state m: f32[3] = zeros(); update m = gradient; return parameter; }\n", "own(lr = 0.1)",
               "error[E0206]: state `m` is f32[3]");
}

// A formula that doubles in each pass would have no end.
TEST(OptimizerTest, FormulasAreBounded) {
  CheckMistake(
      "fn own(parameter: f32[..n], gradient: f32[..n], lr: float) -> f32[..n] {\n"
      "    let mut rate = lr * step; for i in 0..60 { rate = rate * rate; } return parameter - gradient * rate;\n}\n",
      "own(lr = 0.1)", "error[E0213]: a formula of the step that is too long");
}

// A group takes what it does not say from `optimizer`, and has states and rates of its own.
TEST(OptimizerTest, Groups) {
  const Analyzed analyzed = Optimized("", "momentum(lr = 0.1 * step); groups = { \"*.bias\": optimizer(lr = 2 * lr) }");
  EXPECT_EQ(analyzed.messages, "");
  ASSERT_TRUE(analyzed.module.has_value());
  const ir::Graph& graph = analyzed.module->updates.graph;
  EXPECT_TRUE(graph.Find("h.bias.momentum").has_value());
  const auto formula = [&](const char* name) {
    return graph.op(*graph.Find(name)).attributes.Get(ir::attribute::kFormula);
  };
  EXPECT_EQ(formula("learning_rate"), "mul(0.1, step)");
  EXPECT_EQ(formula("group_rate"), "mul(2.0, mul(0.1, step))");
}

// What a flag changes has a name; what it must not change is asked for again, by the program.
TEST(OptimizerTest, NumbersThatFlagsChange) {
  const std::string own =
      "fn rate(rate: float, steps: int, share: float = 0.5) -> float {\n"
      "    assert(steps > 1, \"{steps} steps at {rate}\");\n"
      "    return choose(steps / 2 < 4, rate, rate * share) * step / (steps - 1);\n}\n"
      "fn own(parameter: f32[..n], gradient: f32[..n], lr: float, keep: float = 0.9, root: float = 0.5) -> f32[..n] {\n"
      "    return parameter - power(gradient, root) * (keep * lr);\n}\n";
  const Analyzed analyzed =
      Optimized(own, "own(lr = rate(0.1, steps = 9)); clip = 2; groups = { \"*.bias\": optimizer(keep = 0.5) }");
  EXPECT_EQ(analyzed.messages, "");
  ASSERT_TRUE(analyzed.module.has_value());
  const std::string rate = "div(mul(mul(lr=0.1, optimizer.lr.share=0.5), step), sub(optimizer.lr.steps=9.0, 1.0))";
  EXPECT_EQ(analyzed.module->training.learning_rate, rate);
  std::set<std::string> formulas;
  for (const ir::Op& op : analyzed.module->updates.graph.ops) {
    if (op.kind == ir::OpKind::kStepScalar) formulas.insert(op.attributes.Get(ir::attribute::kFormula));
  }
  EXPECT_EQ(formulas, (std::set<std::string>{"clip=2.0", absl::StrCat("mul(optimizer.keep=0.9, ", rate, ")"),
                                             absl::StrCat("mul(groups.*.bias.keep=0.5, ", rate, ")")}));
  std::map<std::string, std::string> demands;
  for (const ir::NumberDemand& demand : analyzed.module->training.demands) {
    demands[demand.condition] = demand.otherwise;
  }
  const std::string another = "another program would be needed, because ";
  EXPECT_EQ(demands, (std::map<std::string, std::string>{
                         {"greater(clip=2.0, 0.0)", "`clip` must be positive, not {clip}"},
                         {"equal(to_int32(optimizer.lr.steps=9.0), optimizer.lr.steps=9.0)",
                          "`optimizer.lr.steps` must be a whole number, not {optimizer.lr.steps}"},
                         {"greater(optimizer.lr.steps=9.0, 1.0)", "{optimizer.lr.steps} steps at {lr}"},
                         {"equal(less(to_int32(div(optimizer.lr.steps=9.0, 2.0)), 4.0), 0.0)",
                          another + "`optimizer.lr.steps` decides what it computes: compile the model again"},
                         {"equal(optimizer.root=0.5, 0.5)",
                          another + "`optimizer.root` decides what it computes: compile the model again"}}));
}

// Three steps of four are the turn of a loss, behind the first one: its parameters and states stay as they are in all
// others, and `step` counts the turns.
TEST(OptimizerTest, TakesTurns) {
  const Analyzed analyzed = AnalyzeText(
      "fn own(parameter: f32[..n], gradient: f32[..n], lr: float) -> f32[..n] {\n"
      "    state last: f32[..n] = zeros(); update last = 0.0 * gradient + step; return parameter + step * lr;\n}\n"
      "model M() { input x: f32[8, 4]; param w: f32[4] = zeros();\n"
      "#[term(trains = \"w\", every = 4, after = 1, turns = 3)] loss reduce_mean(x * w); }\n"
      "train M { optimizer = own(lr = 1.0); }\n");
  ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  const ir::Graph& graph = analyzed.module->updates.graph;
  ir::SourceValues sources;
  for (const ir::Op& op : graph.ops) {
    if (op.kind != ir::OpKind::kStepScalar) sources[op.id] = ir::Zeros(op.type.shape);
  }
  double turns = 0, sum = 0;
  for (int64_t step = 1; step <= 12; ++step) {
    const IdVector<ir::OpId, ir::Tensor> values = ir::InterpretGraph(graph, sources, step);
    for (const ir::StateUpdate& update : graph.updates) sources[update.state].values = values[update.value].values;
    if (step > 1 && (step - 2) % 4 < 3) sum += ++turns;
    EXPECT_EQ(sources[*graph.Find("w.last")].values[0], turns) << "after step " << step;
    EXPECT_EQ(sources[*graph.Find("w")].values[0], sum) << "after step " << step;
  }
}

// A frozen parameter has no gradient, no state and no update.
TEST(OptimizerTest, Frozen) {
  const Analyzed analyzed = Optimized("", "momentum(); groups = { \"*.bias\": sgd(lr = 0.5), \"h.weight\": frozen }");
  EXPECT_EQ(analyzed.messages, "");
  ASSERT_TRUE(analyzed.module.has_value());
  EXPECT_EQ(UpdatesText(analyzed.module->updates.graph),
            "h.bias = parameter()\n"
            "h.bias.grad = input()\n"
            "group_rate = step_scalar()\n"
            "h.bias.mul = mul(h.bias.grad, group_rate)\n"
            "h.bias.new = sub(h.bias, h.bias.mul)\n"
            "h.bias <- h.bias.new\n");
  EXPECT_EQ(analyzed.module->training.other_optimizers, (std::map<std::string, std::string>{{"h.bias", "sgd"}}));
}

TEST(OptimizerTest, GroupsThatDoNotFit) {
  const auto message = [](const std::string& groups) {
    return Optimized("", absl::StrCat("sgd(); groups = ", groups)).messages;
  };
  EXPECT_TRUE(absl::StrContains(message("{ \"*.bais\": frozen }"), "error[E0525]: no parameter matches `*.bais`"));
  EXPECT_TRUE(absl::StrContains(message("{ \"h.*\": sgd(), \"*.bias\": frozen }"),
                                "error[E0525]: parameter `h.bias` is in two groups"));
  EXPECT_TRUE(absl::StrContains(message("{ \"*\": frozen }"), "error[E0525]: no parameter is left to train"));
  EXPECT_TRUE(absl::StrContains(message("{ \"*\": sdg() }"), "error[E0508]: unknown optimizer `sdg`"));
  EXPECT_TRUE(absl::StrContains(message("{ \"*\": optimizer(rate = 1) }"), "E0203"));
  EXPECT_TRUE(absl::StrContains(message("frozen"), "error[E0508]: `groups` takes patterns"));
}

}  // namespace
}  // namespace cleave::frontend
