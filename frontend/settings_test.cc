// The train and parallel blocks, and --set.
#include <gtest/gtest.h>

#include "frontend/frontend.h"
#include "frontend/testing.h"

namespace cleave {
namespace {

using Overrides = std::vector<std::pair<std::string, std::string>>;

Analyzed WithBlocks(const std::string& blocks, const Overrides& overrides = {}) {
  return AnalyzeText(
      "model M(batch: int = 8, width: int = 4, rate: float = 0.5, name: string = \"a\") { input x: f32[batch, width];\n"
      "let y = dense(x, 1); loss reduce_mean(y * rate); }\n" +
          blocks,
      overrides);
}

Training TrainingOf(const std::string& settings, const Overrides& overrides = {}) {
  const Analyzed analyzed = WithBlocks("train M { " + settings + " }", overrides);
  EXPECT_TRUE(analyzed.module.has_value()) << settings << "\n" << analyzed.messages;
  return analyzed.module ? analyzed.module->training : Training();
}

TEST(TrainTest, DefaultsWithoutABlock) {
  const Analyzed analyzed = WithBlocks("");
  ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  EXPECT_EQ(analyzed.module->training, Training());
}

TEST(TrainTest, ReadsCounts) {
  const Training training = TrainingOf("epochs = 2 + 1; steps = 50; log_every = 5; seed = 7;");
  EXPECT_EQ(training.epochs, 3);
  EXPECT_EQ(training.steps, 50);
  EXPECT_EQ(training.log_every, 5);
  EXPECT_EQ(training.seed, 7);
  EXPECT_TRUE(training.present);
}

TEST(TrainTest, ReadsTheFormOfLogs) {
  EXPECT_EQ(TrainingOf("log = \"cleave\";").log, LogFormat::kCleave);
  EXPECT_EQ(TrainingOf("log = \"mindspore\";").log, LogFormat::kMindSpore);
  EXPECT_EQ(TrainingOf("", {{"log", "\"mindspore\""}}).log, LogFormat::kMindSpore);
  EXPECT_NE(WithBlocks("train M { log = \"json\"; }").messages.find("error[E0508]"), std::string::npos);
}

TEST(TrainTest, ReadsThePrecision) {
  EXPECT_EQ(TrainingOf("").precision, Precision::kF32);
  EXPECT_EQ(TrainingOf("precision = f32;").precision, Precision::kF32);
  EXPECT_EQ(TrainingOf("precision = tf32;").precision, Precision::kTf32);
  EXPECT_EQ(TrainingOf("precision = bf16;").precision, Precision::kBf16);
  EXPECT_EQ(TrainingOf("precision = f32;", {{"precision", "bf16"}}).precision, Precision::kBf16);
  EXPECT_TRUE(WithBlocks("train M { precision = tf32; }").module->precision_place.has_value());
  const std::string unknown = WithBlocks("train M { precision = bf61; }").messages;
  EXPECT_NE(unknown.find("error[E0508]: `precision` takes `f32`, `tf32` or `bf16`"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("did you mean `bf16`?"), std::string::npos) << unknown;
  EXPECT_NE(WithBlocks("train M { precision = 16; }").messages.find("error[E0508]"), std::string::npos);
}

TEST(TrainTest, ModelsNameNoBf16) {
  const std::string type =
      AnalyzeText("model M(batch: int = 8) { input x: bf16[batch, 4]; loss reduce_mean(x); }").messages;
  EXPECT_NE(type.find("unknown element type `bf16`"), std::string::npos) << type;
  EXPECT_NE(type.find("`train { precision = bf16; }` computes in bf16"), std::string::npos) << type;
  const std::string cast =
      AnalyzeText("model M(batch: int = 8) { input x: f32[batch, 4]; loss reduce_mean(cast(x, bf16)); }").messages;
  EXPECT_NE(cast.find("unknown name `bf16`"), std::string::npos) << cast;
  const std::string result = AnalyzeText(
                                 "model M(batch: int = 8) { input x: f32[batch, 4]; param w: f32[4, 2] = zeros();\n"
                                 "loss reduce_mean(matmul(x, w, result = f32)); }")
                                 .messages;
  EXPECT_NE(result.find("error["), std::string::npos) << "an argument of the compiler's own";
}

TEST(TrainTest, ReadsOptimizers) {
  const Optimizer sgd = TrainingOf("optimizer = sgd(0.1, weight_decay = 1e-4);").optimizer;
  EXPECT_EQ(sgd.kind, Optimizer::Kind::kSgd);
  EXPECT_EQ(sgd.learning_rate.rate, 0.1);
  EXPECT_EQ(sgd.weight_decay, 1e-4);
  const Optimizer momentum = TrainingOf("optimizer = momentum(lr = 0.05, momentum = 0.8, nesterov = true);").optimizer;
  EXPECT_EQ(momentum.kind, Optimizer::Kind::kMomentum);
  EXPECT_EQ(momentum.momentum, 0.8);
  EXPECT_TRUE(momentum.nesterov);
  const Optimizer adam =
      TrainingOf("optimizer = adam(lr = 0.002, beta1 = 0.8, beta2 = 0.9, epsilon = 1e-6);").optimizer;
  EXPECT_EQ(adam.kind, Optimizer::Kind::kAdam);
  EXPECT_EQ(adam.beta1, 0.8);
  EXPECT_EQ(adam.beta2, 0.9);
  EXPECT_EQ(adam.epsilon, 1e-6);
  EXPECT_EQ(adam.weight_decay, 0);
  const Optimizer adamw = TrainingOf("optimizer = adamw();").optimizer;
  EXPECT_EQ(adamw.kind, Optimizer::Kind::kAdamW);
  EXPECT_EQ(adamw.learning_rate.rate, 0.001);
  EXPECT_EQ(adamw.weight_decay, 0.01);
}

TEST(TrainTest, ReadsSchedules) {
  EXPECT_EQ(TrainingOf("optimizer = sgd(lr = constant(0.2));").optimizer.learning_rate,
            (Schedule{Schedule::Form::kConstant, 0.2}));
  EXPECT_EQ(TrainingOf("optimizer = sgd(lr = linear_warmup(0.2, steps = 10));").optimizer.learning_rate,
            (Schedule{Schedule::Form::kLinearWarmup, 0.2, 10}));
  EXPECT_EQ(
      TrainingOf("optimizer = sgd(lr = cosine(0.2, steps = 100, warmup = 10, final = 0.01));").optimizer.learning_rate,
      (Schedule{Schedule::Form::kCosine, 0.2, 10, 100, 0.01}));
}

TEST(TrainTest, ReadsData) {
  EXPECT_EQ(TrainingOf("data = synthetic(train = 64, test = 8);").data,
            (DataSource{"synthetic", "", {{"train", 64.0}, {"test", 8.0}}}));
  const Analyzed mnist = AnalyzeText(
      "model M() { input image: f32[8, 784]; let y = dense(image, 1); loss reduce_mean(y); } train M { data = "
      "mnist(\"a/b\"); }");
  ASSERT_TRUE(mnist.module.has_value()) << mnist.messages;
  EXPECT_EQ(mnist.module->training.data, (DataSource{"mnist", "a/b", {}}));
}

TEST(TrainTest, RefusesImpossibleValues) {
  for (const char* settings :
       {"epochs = 0;", "steps = -1;", "epochs = 1.5;", "optimizer = sgd(lr = -1);",
        "optimizer = momentum(momentum = 1);", "optimizer = lion();", "data = nothing();", "data = mnist();",
        "optimizer = sgd(rate = 1);", "optimizer = sgd(lr = cosine(0.1, steps = 5, warmup = 5));", "data = npy(\"a\");",
        "epochs = 1; epochs = 2;", "learning_rate = 0.1;", "optimizer = adam(epsilon = 0);", "optimizer = sgd;",
        "data = digits(train = 0);"}) {
    const Analyzed analyzed = WithBlocks(std::string("train M { ") + settings + " }");
    EXPECT_FALSE(analyzed.module.has_value()) << settings;
    EXPECT_NE(analyzed.messages.find("error[E0"), std::string::npos) << settings;
  }
}

TEST(ParallelTest, ReadsSettings) {
  const Analyzed analyzed = WithBlocks(
      "parallel { mesh = (dp = 4, tp = 2); devices = 8; search = data_parallel; dataset = full_batch; objective = "
      "speed; cost = classic; "
      "gradient_weight = 0.25; zero = 2; }");
  ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  const ParallelSettings& settings = analyzed.module->pins.settings;
  EXPECT_EQ(settings.devices->value, 8);
  ASSERT_EQ(settings.mesh.size(), 2u);
  EXPECT_EQ(settings.mesh[0].name, "dp");
  EXPECT_EQ(settings.mesh[1].size, 2);
  EXPECT_EQ(settings.search, SearchAlgorithm::kDataParallel);
  EXPECT_EQ(settings.dataset, DatasetLayout::kFullBatch);
  EXPECT_TRUE(settings.dataset_given);
  EXPECT_EQ(settings.cost, Price::kClassic);
  EXPECT_EQ(settings.gradient_weight, 0.25);
  EXPECT_EQ(settings.zero, 2);
}

TEST(ParallelTest, ReadsTheMemoryLimitAndAnAutomaticZero) {
  const Analyzed analyzed = WithBlocks("parallel { memory = 40GiB; zero = auto; }");
  ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  const ParallelSettings& settings = analyzed.module->pins.settings;
  EXPECT_EQ(settings.memory->value, int64_t{40} << 30);
  EXPECT_EQ(settings.zero, std::nullopt);
  EXPECT_FALSE(settings.zero_span == Span{});
}

TEST(ParallelTest, ReadsTheObjective) {
  const Analyzed analyzed = WithBlocks("parallel { objective = compute_to_communication; }");
  ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  EXPECT_EQ(analyzed.module->pins.settings.objective, Objective::kComputeToCommunication);
  EXPECT_FALSE(analyzed.module->pins.settings.objective_span == Span{});
}

TEST(ParallelTest, RefusesImpossibleValues) {
  for (const char* setting :
       {"devices = 0;", "devices = 2.0;", "mesh = (dp = 0);", "mesh = (dp = 2, dp = 2);", "mesh = 4;", "mesh = (4, 2);",
        "zero = 4;", "zero = all;", "memory = 0B;", "gradient_weight = -1;", "search = quick;", "dataset = (1, 2);",
        "mesh = (dp = 2); devices = 4;"}) {
    const Analyzed analyzed = WithBlocks(std::string("parallel { ") + setting + " }");
    EXPECT_FALSE(analyzed.module.has_value()) << setting;
    EXPECT_EQ(analyzed.messages.find("E0220"), std::string::npos) << setting << "\n" << analyzed.messages;
  }
}

TEST(ParallelTest, AWrongAxisIsOneMistake) {
  for (const char* mesh : {"(dp = 0, tp = 2)", "(dp = 4, dp = 2)"}) {
    const Analyzed analyzed = WithBlocks(std::string("parallel { devices = 8; mesh = ") + mesh + "; }");
    EXPECT_EQ(analyzed.messages.find("E0306"), std::string::npos) << analyzed.messages;
  }
}

TEST(OverrideTest, ReplacesArgumentsAndSettings) {
  const Analyzed analyzed =
      WithBlocks("train M { optimizer = sgd(lr = 0.1); }\nparallel { devices = 8; }", {{"batch", "16"},
                                                                                       {"width", "2 * 3"},
                                                                                       {"rate", "2"},
                                                                                       {"name", "plain words"},
                                                                                       {"epochs", "4"},
                                                                                       {"optimizer.lr", "0.3"},
                                                                                       {"train.seed", "9"},
                                                                                       {"devices", "2"}});
  ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  EXPECT_EQ(analyzed.module->graph.op(OpId(0)).type.ToString(), "f32[16, 6]");
  EXPECT_EQ(analyzed.module->training.epochs, 4);
  EXPECT_EQ(analyzed.module->training.seed, 9);
  EXPECT_EQ(analyzed.module->training.optimizer.learning_rate.rate, 0.3);
  EXPECT_EQ(analyzed.module->pins.settings.devices->value, 2);
}

TEST(OverrideTest, TheLaterOneWins) {
  EXPECT_EQ(TrainingOf("epochs = 1;", {{"epochs", "2"}, {"epochs", "3"}}).epochs, 3);
}

TEST(OverrideTest, ChangesTheHash) {
  EXPECT_NE(WithBlocks("").module->graph.hash, WithBlocks("", {{"batch", "16"}}).module->graph.hash);
}

TEST(OverrideTest, MistakesNameTheOverride) {
  struct Case {
    const char* name;
    const char* value;
    const char* message;
  };
  for (const Case& c : {
           Case{"bach", "16",
                "error[E0510]: `--set bach=16`: neither an argument of model `M` nor a setting is called `bach`\nhelp: "
                "did you mean `batch`?\n"},
           Case{"batch", "0.5", "error[E0204]: `--set batch=0.5`: argument `batch` is `int`\n"},
           Case{"epochs", "0", "error[E0508]: `--set epochs=0`: `epochs` must be at least 1\n"},
           Case{"batch", "1; } train y { b = 2",
                "error[E0510]: `--set batch=1; } train y { b = 2`: not one value of the language\n"},
           Case{"data.path", "\"a\"",
                "error[E0510]: `--set data.path=\"a\"`: the `train` block has no `data = …(…)` to change\n"
                "help: set it whole: `--set 'data=…(…)'`\n"},
       }) {
    EXPECT_EQ(WithBlocks("train M { epochs = 1; }", {{c.name, c.value}}).messages, c.message);
  }
}

}  // namespace
}  // namespace cleave
