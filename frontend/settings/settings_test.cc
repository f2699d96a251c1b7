// Tests the `train` and `parallel` blocks.
#include <gtest/gtest.h>

#include "frontend/frontend.h"
#include "frontend/testing.h"

namespace cleave::frontend {
namespace {

using Overrides = std::vector<std::pair<std::string, std::string>>;

Analyzed WithBlocks(const std::string& blocks, const Overrides& overrides = {}) {
  return AnalyzeText(
      "model M(batch: int = 8, width: int = 4, rate: float = 0.5, name: string = \"a\") { input x: f32[batch, width];\n"
      "let y = dense(x, 1); loss reduce_mean(y * rate); }\n" +
          blocks,
      overrides);
}

ir::Training TrainingOf(const std::string& settings, const Overrides& overrides = {}) {
  const Analyzed analyzed = WithBlocks("train M { " + settings + " }", overrides);
  EXPECT_TRUE(analyzed.module.has_value()) << settings << "\n" << analyzed.messages;
  return analyzed.module ? analyzed.module->training : ir::Training();
}

TEST(TrainTest, DefaultsWithoutABlock) {
  const Analyzed analyzed = WithBlocks("");
  ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  const std::vector<ir::NumberDemand> demands = {
      {"greater_equal(lr=0.01, 0.0)", "`lr` must be 0 or more, not {lr}"},
      {"greater_equal(optimizer.weight_decay=0.0, 0.0)",
       "`weight_decay` must be 0 or more, not {optimizer.weight_decay}"},
      {"equal(optimizer.weight_decay=0.0, 0.0)",
       "another program would be needed, because `optimizer.weight_decay` decides what it computes: compile the model "
       "again"}};
  EXPECT_EQ(analyzed.module->training, (ir::Training{.learning_rate = "lr=0.01", .demands = demands}));
}

TEST(TrainTest, ReadsCounts) {
  const ir::Training training = TrainingOf("epochs = 2 + 1; steps = 50; log_every = 5; seed = 7;");
  EXPECT_EQ(training.epochs, 3);
  EXPECT_EQ(training.steps, 50);
  EXPECT_EQ(training.log_every, 5);
  EXPECT_EQ(training.seed, 7);
  EXPECT_TRUE(training.present);
}

TEST(TrainTest, ReadsWhetherSamplesAreShuffled) {
  EXPECT_TRUE(TrainingOf("").shuffle);
  EXPECT_TRUE(TrainingOf("shuffle = true;").shuffle);
  EXPECT_FALSE(TrainingOf("shuffle = false;").shuffle);
  EXPECT_FALSE(TrainingOf("", {{"shuffle", "false"}}).shuffle);
}

TEST(TrainTest, ReadsCheckpoints) {
  EXPECT_EQ(TrainingOf("").checkpoint_every, 0);
  EXPECT_EQ(TrainingOf("").keep_checkpoints, 3);
  const ir::Training training = TrainingOf("checkpoint = every(500); keep = 7;");
  EXPECT_EQ(training.checkpoint_every, 500);
  EXPECT_EQ(training.keep_checkpoints, 7);
  EXPECT_EQ(TrainingOf("checkpoint = every(steps = 5 * batch);").checkpoint_every, 40) << "an argument of the model";
  EXPECT_EQ(TrainingOf("keep = 1;").keep_checkpoints, 1) << "for those that a flag of the program asks for";
  EXPECT_EQ(TrainingOf("", {{"checkpoint", "every(10)"}, {"keep", "2"}}).checkpoint_every, 10);
  EXPECT_EQ(TrainingOf("checkpoint = every(steps = 500);", {{"checkpoint.steps", "10"}}).checkpoint_every, 10);
}

TEST(TrainTest, ReadsEvaluations) {
  EXPECT_EQ(TrainingOf("").best, ir::Criterion());
  const ir::Training training = TrainingOf(
      "validation = 1.0 / 8.0; eval_every = 5 * batch; checkpoint = every(500); best = max(loss); patience = 4;");
  EXPECT_EQ(training.validation, 0.125);
  EXPECT_EQ(training.evaluate_every, 40);
  EXPECT_EQ(training.best, (ir::Criterion{.measure = "loss", .is_least = false}));
  EXPECT_EQ(training.patience, 4);
  EXPECT_EQ(TrainingOf("eval_every = 0;").evaluate_every, 0);
  EXPECT_TRUE(TrainingOf("checkpoint = every(5);", {{"best", "min(loss)"}}).best.is_least);
  const Analyzed places = WithBlocks("train M { checkpoint = every(1); best = min(loss); eval_every = 3; }");
  ASSERT_TRUE(places.module.has_value()) << places.messages;
  EXPECT_NE(places.module->evaluation_place, Span());
}

TEST(TrainTest, ReadsTheBestByAMetric) {
  const std::string model =
      "model M(batch: int = 8) { input x: f32[batch, 4]; let y = dense(x, 1); loss reduce_mean(y);\n"
      "metric mae(y, x[.., 0 .. 1]); metric mae(y, x[.., 1 .. 2]); }\n";
  const auto best_of = [&](const std::string& best) {
    return AnalyzeText(model + "train M { checkpoint = every(5); best = " + best + "; }");
  };
  const Analyzed second = best_of("min(mae_1)");
  ASSERT_TRUE(second.module.has_value()) << second.messages;
  EXPECT_EQ(second.module->training.best, (ir::Criterion{.measure = "mae_1", .is_least = true}));
  const std::string unknown = best_of("min(mea)").messages;
  EXPECT_NE(unknown.find("expected `loss`, `mae` or `mae_1`"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("did you mean `mae`?"), std::string::npos) << unknown;
  for (const char* best :
       {"mae", "min", "min()", "min(loss, mae)", "least(loss)", "min(\"loss\")", "3", "min(y)", "min(\"loss.kl\")"}) {
    EXPECT_NE(best_of(best).messages.find("error["), std::string::npos) << best;
  }
}

TEST(TrainTest, ReadsTheBestByOneOfSeveralLosses) {
  const std::string model =
      "model M(batch: int = 8) { input x: f32[batch, 4]; let y = dense(x, 1); loss reduce_mean(y);\n"
      "#[term(name = \"kl\")] loss reduce_mean(square(y)); }\n";
  const auto best_of = [&](const std::string& best) {
    return AnalyzeText(model + "train M { checkpoint = every(5); best = " + best + "; }");
  };
  const Analyzed kl = best_of("max(\"loss.kl\")");
  ASSERT_TRUE(kl.module.has_value()) << kl.messages;
  EXPECT_EQ(kl.module->training.best, (ir::Criterion{.measure = "loss.kl", .is_least = false}));
  const std::string unknown = best_of("min(\"loss.lk\")").messages;
  EXPECT_NE(unknown.find("expected `loss`, `\"loss.reduce_mean\"` or `\"loss.kl\"`"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("did you mean `\"loss.kl\"`?"), std::string::npos) << unknown;
}

TEST(TrainTest, ReadsFilesOfTokens) {
  using Files = std::vector<std::pair<std::string, std::string>>;
  const auto data_of = [](const std::string& data, const Overrides& overrides = {}) {
    const Analyzed analyzed = AnalyzeText(
        "model M(batch: int = 8) { input tokens: i32[batch, 4]; input next: i32[batch, 4];\n"
        "loss cross_entropy(dense(embedding(tokens, 5, 3), 5), next); }\n"
        "train M { data = " +
            data + "; }",
        overrides);
    EXPECT_TRUE(analyzed.module.has_value()) << analyzed.messages;
    return analyzed.module ? analyzed.module->training.data : ir::DataSource();
  };
  EXPECT_EQ(data_of("tokens(\"text\")"), (ir::DataSource{.kind = "tokens", .path = "text", .numbers = {}}));
  const ir::DataSource files = data_of("tokens((\"a*\", \"b\"), dtype = u16, test = \"c\")");
  EXPECT_EQ(files.kind, "tokens");
  EXPECT_EQ(files.files, (Files{{"train", "a*"}, {"train", "b"}, {"test", "c"}}));
  EXPECT_EQ(files.numbers, (std::map<std::string, double>{{"bits", 16}}));
  const ir::DataSource with_header = data_of("tokens(\"a.bin\")");
  EXPECT_EQ(with_header.files, (Files{{"train", "a.bin"}}));
  EXPECT_TRUE(with_header.numbers.empty());
  EXPECT_EQ(data_of("tokens(\"a.bin\", dtype = u16)", {{"data.dtype", "u32"}}).numbers.at("bits"), 32);
}

TEST(TrainTest, ReadsTables) {
  const ir::DataSource data = AnalyzeText(
                                  "model M(batch: int = 8) { input x: f32[batch, 2]; input y: i32[batch];\n"
                                  "loss cross_entropy(dense(x, 3), y); }\n"
                                  "train M { data = csv((\"a\", \"b\"), x = (\"p\", \"q\"), y = \"c\", test = \"t\", "
                                  "skip_bad = 4); }")
                                  .module->training.data;
  EXPECT_EQ(data.kind, "csv");
  EXPECT_EQ(data.files,
            (std::vector<std::pair<std::string, std::string>>{{"train", "a"}, {"train", "b"}, {"test", "t"}}));
  EXPECT_EQ(data.columns,
            (std::vector<std::pair<std::string, std::vector<std::string>>>{{"x", {"p", "q"}}, {"y", {"c"}}}));
  EXPECT_EQ(data.numbers, (std::map<std::string, double>{{"skip_bad", 4}}));
}

TEST(TrainTest, EvaluationsThatCannotBe) {
  const auto mistake = [](const std::string& settings) { return WithBlocks("train M { " + settings + " }").messages; };
  for (const char* share : {"1.0", "-0.1", "2"}) {
    EXPECT_NE(mistake(std::string("validation = ") + share + ";").find("error[E0508]: `validation` must be"),
              std::string::npos)
        << share;
  }
  EXPECT_NE(mistake("eval_every = -1;").find("error[E0508]"), std::string::npos);
  EXPECT_NE(mistake("checkpoint = every(5); best = min(loss); patience = 0;").find("error[E0508]"), std::string::npos);
  EXPECT_NE(mistake("best = min(loss);").find("error[E0517]: `best` without checkpoints"), std::string::npos);
  EXPECT_NE(mistake("patience = 3;").find("error[E0517]: `patience` without `best`"), std::string::npos);
}

TEST(TrainTest, ReadsWhereParametersBegin) {
  EXPECT_EQ(TrainingOf("").params, "");
  EXPECT_EQ(TrainingOf("params = \"a/x.safetensors\";").params, "a/x.safetensors");
  EXPECT_FALSE(TrainingOf("params = \"a/x.safetensors\";").params_are_partial);
  EXPECT_EQ(TrainingOf("params = partial(\"a/x.safetensors\");").params, "a/x.safetensors");
  EXPECT_TRUE(TrainingOf("params = partial(\"a/x.safetensors\");").params_are_partial);
  EXPECT_EQ(TrainingOf("params = \"x.safetensors\";", {{"params", "\"checkpoints\""}}).params, "checkpoints");
  EXPECT_TRUE(WithBlocks("train M { params = \"x.safetensors\"; }").module->params_place.is_somewhere());
  for (const char* params : {"3", "\"\""}) {
    const std::string text = WithBlocks(std::string("train M { params = ") + params + "; }").messages;
    EXPECT_NE(text.find("error[E0508]: the path of `params` is a string that is not empty"), std::string::npos) << text;
  }
}

TEST(TrainTest, ReadsTheFormOfLogs) {
  EXPECT_EQ(TrainingOf("log = \"cleave\";").log, ir::LogFormat::kCleave);
  EXPECT_EQ(TrainingOf("log = \"mindspore\";").log, ir::LogFormat::kMindSpore);
  EXPECT_EQ(TrainingOf("", {{"log", "\"mindspore\""}}).log, ir::LogFormat::kMindSpore);
  EXPECT_NE(WithBlocks("train M { log = \"json\"; }").messages.find("error[E0508]"), std::string::npos);
}

TEST(TrainTest, ReadsWhatStaysInBf16) {
  EXPECT_EQ(TrainingOf("precision = fp8; keep_bf16 = \"*weight\";").kept_weights, std::vector<std::string>{"*weight"});
  EXPECT_EQ(TrainingOf("precision = fp8;").precision, ir::Precision::kFp8);
  const std::string nothing = WithBlocks("train M { precision = fp8; keep_bf16 = (\"*\", \"x*x\"); }").messages;
  EXPECT_NE(nothing.find("error[E0508]: no parameter matches `x*x` of `keep_bf16`"), std::string::npos) << nothing;
  EXPECT_NE(WithBlocks("train M { precision = fp8; keep_bf16 = 1; }").messages.find("error[E0508]"), std::string::npos);
  EXPECT_NE(WithBlocks("train M { keep_bf16 = \"*\"; }").messages.find("error[E0517]"), std::string::npos);
}

TEST(TrainTest, ReadsThePrecision) {
  EXPECT_EQ(TrainingOf("").precision, ir::Precision::kF32);
  EXPECT_EQ(TrainingOf("precision = f32;").precision, ir::Precision::kF32);
  EXPECT_EQ(TrainingOf("precision = tf32;").precision, ir::Precision::kTf32);
  EXPECT_EQ(TrainingOf("precision = bf16;").precision, ir::Precision::kBf16);
  EXPECT_EQ(TrainingOf("precision = f16;").precision, ir::Precision::kF16);
  EXPECT_EQ(TrainingOf("precision = f32;", {{"precision", "bf16"}}).precision, ir::Precision::kBf16);
  EXPECT_TRUE(WithBlocks("train M { precision = tf32; }").module->precision_place.is_somewhere());
  const std::string unknown = WithBlocks("train M { precision = bf61; }").messages;
  EXPECT_NE(unknown.find("error[E0508]: `precision` takes `f32`, `tf32`, `bf16`, `f16` or `fp8`"), std::string::npos)
      << unknown;
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
  const ir::Training sgd = TrainingOf("optimizer = sgd(0.1, weight_decay = 1e-4);");
  EXPECT_EQ(sgd.optimizer, "sgd");
  EXPECT_EQ(sgd.learning_rate, "lr=0.1");
  const ir::Training adamw = TrainingOf("optimizer = adamw();");
  EXPECT_EQ(adamw.optimizer, "adamw");
  EXPECT_EQ(adamw.learning_rate, "lr=0.001");
  EXPECT_EQ(TrainingOf("").optimizer, "sgd");
}

TEST(TrainTest, ReadsSchedules) {
  const auto rate = [](const std::string& text) {
    return TrainingOf("optimizer = sgd(lr = " + text + ");").learning_rate;
  };
  EXPECT_EQ(rate("constant(0.2)"), "lr=0.2");
  EXPECT_EQ(rate("linear_warmup(0.2, steps = 10)"), "mul(lr=0.2, minimum(1.0, div(step, optimizer.lr.steps=10.0)))");
  EXPECT_EQ(rate("0.1 / sqrt(step)"), "div(0.1, sqrt(step))");
  EXPECT_EQ(rate("choose(step <= 5, 0.1, 0.01)"), "where(less_equal(step, 5.0), 0.1, 0.01)");
  EXPECT_EQ(TrainingOf("optimizer = sgd(lr = cosine(0.2, steps = 2 * 50));").schedule, "cosine(0.2, steps = 2 * 50)");
}

TEST(TrainTest, ReadsData) {
  EXPECT_EQ(TrainingOf("data = synthetic(train = 64, test = 8);").data,
            (ir::DataSource{"synthetic", "", {{"train", 64.0}, {"test", 8.0}}}));
  const Analyzed mnist = AnalyzeText(
      "model M() { input image: f32[8, 784]; let y = dense(image, 1); loss reduce_mean(y); } train M { data = "
      "mnist(\"a/b\"); }");
  ASSERT_TRUE(mnist.module.has_value()) << mnist.messages;
  EXPECT_EQ(mnist.module->training.data, (ir::DataSource{"mnist", "a/b", {}}));
}

// Fails unless the block is refused with a first message that begins like this.
void CheckMistake(const std::string& block, const std::string& expected) {
  const Analyzed analyzed = WithBlocks(block);
  EXPECT_EQ(analyzed.module.has_value(), false) << block;
  EXPECT_EQ(analyzed.messages.substr(0, expected.size()), expected) << block;
}

void CheckTrain(const std::string& settings, const std::string& expected) {
  CheckMistake("train M { " + settings + " }", "error[" + expected);
}

void CheckParallel(const std::string& settings, const std::string& expected) {
  CheckMistake("parallel { " + settings + " }", "error[" + expected);
}

TEST(TrainTest, NamesOfSettings) {
  CheckTrain("learning_rate = 0.1;", "E0507]: `train` has no setting `learning_rate`");
  CheckTrain("devices = 4;", "E0507]: `train` has no setting `devices`");
  CheckTrain("epochs = 1; epochs = 2;", "E0202]: setting `epochs` is given twice");
}

TEST(TrainTest, CountsOutOfRange) {
  CheckTrain("epochs = 0;", "E0508]: `epochs` must be at least 1");
  CheckTrain("epochs = -1;", "E0508]: `epochs` must be at least 1");
  CheckTrain("epochs = 1.5;", "E0204]: `epochs` must be an int");
  CheckTrain("epochs = \"1\";", "E0204]: `epochs` must be an int");
  CheckTrain("epochs = many;", "E0201]: unknown name `many`");
  CheckTrain("steps = -1;", "E0508]: `steps` must be at least 0");
  CheckTrain("log_every = 0;", "E0508]: `log_every` must be at least 1");
  CheckTrain("epochs = 9223372036854775807;", "E0508]: `epochs` must be at most 1,000,000,000");
  CheckTrain("data = synthetic(train = 1099511627776);", "E0508]: `train` must be at most 1,000,000,000");
  CheckTrain("data = digits(test = 1000000001);", "E0508]: `test` must be at most 1,000,000,000");
  CheckTrain("seed = -1;", "E0508]: `seed` must be at least 0");
  CheckTrain("shuffle = 0;", "E0508]: `shuffle` must be a bool");
  CheckTrain("log = \"json\";", "E0508]: `log` is \"cleave\" or \"mindspore\"");
  CheckTrain("log = 1;", "E0508]: `log` is \"cleave\" or \"mindspore\"");
}

TEST(TrainTest, CheckpointsThatDoNotExist) {
  CheckTrain("checkpoint = every(0);", "E0508]: `steps` must be at least 1");
  CheckTrain("checkpoint = every(1.5);", "E0204]: `steps` must be an int");
  CheckTrain("checkpoint = every();", "E0203]: `every` takes 1 argument, not 0");
  CheckTrain("checkpoint = every;", "E0508]: `every` is to be called");
  CheckTrain("checkpoint = 500;", "E0508]: unknown interval of checkpoints");
  CheckTrain("checkpoint = hourly();", "E0508]: unknown interval of checkpoints `hourly`");
  CheckTrain("keep = 0;", "E0508]: `keep` must be at least 1");
}

TEST(TrainTest, OptimizersThatDoNotExist) {
  CheckTrain("optimizer = lian();", "E0508]: unknown optimizer `lian`");
  CheckTrain("optimizer = dense(lr = 0.1);", "E0518]: `dense` cannot be an optimizer");
  CheckTrain("optimizer = 0.1;", "E0508]: unknown optimizer");
  CheckTrain("optimizer = sgd;", "E0508]: `sgd` is to be called");
  CheckTrain("optimizer = sgd(rate = 1);", "E0203]: `sgd` has no argument `rate`");
  CheckTrain("optimizer = sgd(lr = -1);", "E0508]: `lr` must be 0 or more");
  CheckTrain("optimizer = sgd(lr = \"a\");", "E0204]: `lr` must be a number");
  CheckTrain("optimizer = sgd(weight_decay = -1e-4);", "E0212]: `weight_decay` must be 0 or more");
  CheckTrain("optimizer = momentum(momentum = 1);", "E0212]: `momentum` must be at least 0 and less than 1");
  CheckTrain("optimizer = momentum(nesterov = 1);", "E0204]: argument `nesterov` of `momentum` is `bool`");
  CheckTrain("optimizer = adam(beta1 = 1.0);", "E0212]: `beta1` must be at least 0 and less than 1");
  CheckTrain("optimizer = adam(beta2 = -0.1);", "E0212]: `beta2` must be at least 0 and less than 1");
  CheckTrain("optimizer = adam(epsilon = 0);", "E0212]: `epsilon` must be positive");
}

TEST(TrainTest, SchedulesThatDoNotExist) {
  CheckTrain("optimizer = sgd(lr = stop(0.1));", "E0201]: unknown function or op `stop`");
  CheckTrain("optimizer = sgd(lr = 10 - step);", "E0508]: `lr` must be 0 or more");
  CheckTrain("optimizer = sgd(lr = step < 3);", "E0204]: `lr` must be a number");
  CheckTrain("epochs = step;", "E0201]: unknown name `step`");
  CheckTrain("optimizer = sgd(lr = linear_warmup(0.1));", "E0203]: `linear_warmup` takes 2 arguments, not 1");
  CheckTrain("optimizer = sgd(lr = linear_warmup(0.1, steps = 0));", "E0212]: `steps` must be at least 1");
  CheckTrain("optimizer = sgd(lr = cosine(0.1, steps = 5, warmup = 5));", "E0212]: `warmup` must be less than `steps`");
  CheckTrain("optimizer = sgd(lr = cosine(0.1, steps = 5, final = -1));", "E0508]: `lr` must be 0 or more");
}

ir::DataSource PicturesOf(const std::string& data) {
  const Analyzed analyzed = AnalyzeText(
      "model M(batch: int = 8) { input image: f32[batch, 3, 8, 8]; input label: i32[batch];\n"
      "loss cross_entropy(dense(flatten(image), 3), label); }\n"
      "train M { data = " +
      data + "; }");
  EXPECT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  return analyzed.module ? analyzed.module->training.data : ir::DataSource();
}

TEST(TrainTest, ReadsFoldersOfImages) {
  const ir::DataSource data = PicturesOf(
      "images(\"a/\", test = \"b\", resize = 9, crop = random, flip = 1 < 2, mean = (0.5, 0.25, 0), std = 2, skip_bad "
      "= "
      "3)");
  EXPECT_EQ(data.kind, "images");
  EXPECT_EQ(data.path, "a");
  EXPECT_EQ(data.files, (std::vector<std::pair<std::string, std::string>>{{"train", "a"}, {"test", "b"}}));
  EXPECT_EQ(data.numbers, (std::map<std::string, double>{{"crop", 1}, {"flip", 1}, {"resize", 9}, {"skip_bad", 3}}));
  EXPECT_EQ(data.lists, (std::map<std::string, std::vector<double>>{{"mean", {0.5, 0.25, 0}}, {"std", {2}}}));
  EXPECT_EQ(PicturesOf("images(\"a\")").numbers, (std::map<std::string, double>{}));
  CheckTrain("data = images();", "E0203]: `images` takes 1 to 8 arguments");
  CheckTrain("data = images(\"a\", resize = 0);", "E0508]: `resize` must be at least 1");
  CheckTrain("data = images(\"a\", crop = left);", "E0508]: `crop` takes `center`, `random` or `scaled`");
  CheckTrain("data = images(\"a\", std = (1, 0));", "E0508]: `std` takes finite numbers greater than 0");
  CheckTrain("data = images(\"a\");", "E0512]: input `x` does not fit the data");
}

TEST(TrainTest, ReadsMixtures) {
  const ir::DataSource data = PicturesOf("mix(synthetic(test = 3), images(\"a\"), weights = (0.5, 1 + 1))");
  EXPECT_EQ(data.kind, "mix");
  EXPECT_EQ(data.lists, (std::map<std::string, std::vector<double>>{{"weights", {0.5, 2}}}));
  ASSERT_EQ(data.parts.size(), 2u);
  EXPECT_EQ(data.parts[0], (ir::DataSource{.kind = "synthetic", .path = "", .numbers = {{"test", 3}}}));
  EXPECT_EQ(data.parts[1].files.front().second, "a");
  CheckTrain("data = mix(synthetic(), weights = 1);", "E0508]: `mix` takes two sources or more");
  CheckTrain("data = mix(synthetic(), synthetic());", "E0508]: `mix` without weights");
  CheckTrain("data = mix(synthetic(), synthetic(), weights = 1);", "E0508]: `mix` of 2 sources");
  CheckTrain("data = mix(synthetic(), synthetic(), weights = (1, 0));", "E0508]: a weight of `mix` must be finite");
  CheckTrain("data = mix(synthetic(), synthetic(), weights = 1, weights = 2);", "E0203]: `weights` is given twice");
  CheckTrain("data = mix(synthetic(), a = synthetic(), weights = (1, 1));", "E0508]: `mix` takes data and `weights`");
  CheckTrain("data = mix(synthetic(), mix(synthetic(), synthetic(), weights = (1, 1)), weights = (1, 1));",
             "E0508]: `mix` is no part of");
  CheckTrain("data = mix(custom(\"a.h\", train = 5), custom(\"b.h\", train = 5), weights = (1, 1));",
             "E0508]: `mix` has one `custom`");
  CheckTrain("data = mix(synthetic(), nothing(), weights = (1, 1));", "E0508]: unknown data `nothing`");
  CheckTrain("data = mix(synthetic(), images(\"a\"), weights = (1, 1));", "E0512]: input `x` does not fit the data");
}

TEST(TrainTest, DataThatDoesNotExist) {
  CheckTrain("data = nothing();", "E0508]: unknown data `nothing`");
  CheckTrain("data = mnist;", "E0508]: `mnist` is to be called");
  CheckTrain("data = mnist();", "E0203]: `mnist` takes 1 argument, not 0");
  CheckTrain("data = mnist(\"\");", "E0508]: the path of `mnist` is a string that is not empty");
  CheckTrain("data = tokens(3);", "E0508]: the path of `tokens` is a string that is not empty");
  CheckTrain("data = digits(train = 0);", "E0508]: `train` must be at least 1");
  CheckTrain("data = synthetic(test = -1);", "E0508]: `test` must be at least 0");
  CheckTrain("data = tokens(\"a\", dtype = i32);", "E0508]: `dtype` takes `u8`, `u16` or `u32`");
  CheckTrain("data = tokens((\"a\", \"b\"));", "E0508]: the bytes of a text are read from one file");
  CheckTrain("data = tokens(\"a\", test = \"b\");", "E0508]: the bytes of a text are read from one file");
  CheckTrain("data = csv(\"a\", \"b\");", "E0508]: a column of `csv` belongs to an input");
  CheckTrain("data = csv(x = \"b\");", "E0508]: `csv` without a file");
  CheckTrain("data = csv(\"a\");", "E0508]: `csv` without a column");
  CheckTrain("data = csv(\"a\", x = \"b\", x = \"c\");", "E0203]: `x` is given twice");
  CheckTrain("data = csv(\"a\", x = (\"b\", \"*\"));", "E0508]: an input of `csv` takes the name of a column");
  CheckTrain("data = csv(\"a\", x = 3);", "E0508]: an input of `csv` takes the name of a column");
  CheckTrain("data = safetensors(\"a\", x = (\"b\", \"c\"));", "E0508]: an input of `safetensors` takes the name of a");
  CheckTrain("data = safetensors(\"a\", z = \"b\");", "E0512]: `safetensors` has no tensor for input `x`");
  CheckTrain("data = csv(\"a\", x = \"c\", z = \"b\");", "E0512]: `csv` has a column for `z`, which is no input");
  CheckTrain("data = csv(\"a\", z = \"b\");", "E0512]: `csv` has no column for input `x`");
  CheckTrain("data = custom(\"a.h\");", "E0203]: `custom` takes 2 to 3 arguments");
  CheckTrain("data = custom(\"a.h\", train = 0);", "E0508]: `train` must be at least 1");
  CheckTrain("data = npy(\"a\");", "E0508]: a file of `npy` belongs to an input");
  CheckTrain("data = npy();", "E0508]: `npy` without files");
  CheckTrain("data = npy(x = \"a\", x = \"b\");", "E0203]: `x` is given twice");
}

TEST(ParallelTest, ReadsSettings) {
  const Analyzed analyzed = WithBlocks(
      "parallel { mesh = (dp = 4, tp = 2); devices = 8; search = data_parallel; dataset = full_batch; objective = "
      "speed; cost = classic; "
      "gradient_weight = 0.25; zero = 2; micro_batches = 4; }");
  ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  const ir::ParallelSettings& settings = analyzed.module->pins.settings;
  EXPECT_EQ(settings.devices->value, 8);
  ASSERT_EQ(settings.mesh.size(), 2u);
  EXPECT_EQ(settings.mesh[0].name, "dp");
  EXPECT_EQ(settings.mesh[1].size, 2);
  EXPECT_EQ(settings.search, ir::SearchAlgorithm::kDataParallel);
  EXPECT_EQ(settings.dataset, ir::DatasetLayout::kFullBatch);
  EXPECT_TRUE(settings.dataset_given);
  EXPECT_EQ(settings.cost, ir::Price::kClassic);
  EXPECT_EQ(settings.gradient_weight, 0.25);
  EXPECT_EQ(settings.zero, 2);
  EXPECT_EQ(settings.micro_batches, 4);
}

TEST(ParallelTest, ReadsTheMemoryLimitAndAnAutomaticZero) {
  const Analyzed analyzed = WithBlocks("parallel { memory = 40GiB; zero = auto; }");
  ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  const ir::ParallelSettings& settings = analyzed.module->pins.settings;
  EXPECT_EQ(settings.memory->value, int64_t{40} << 30);
  EXPECT_EQ(settings.zero, std::nullopt);
  EXPECT_TRUE(settings.zero_span.is_somewhere());
}

TEST(ParallelTest, ReadsAnAutomaticNumberOfMicroBatches) {
  const Analyzed analyzed = WithBlocks("parallel { micro_batches = auto; }");
  ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  EXPECT_EQ(analyzed.module->pins.settings.micro_batches, std::nullopt);
  EXPECT_TRUE(analyzed.module->pins.settings.micro_batches_span.is_somewhere());
}

TEST(ParallelTest, ReadsStages) {
  const Analyzed analyzed =
      WithBlocks("parallel { devices = 8; mesh = (dp = 2, tp = 2); stages = 2; pipeline_schedule = gpipe; }");
  ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  EXPECT_EQ(analyzed.module->pins.settings.stages, 2);
  EXPECT_EQ(analyzed.module->pins.settings.pipeline_schedule, ir::PipelineSchedule::kGPipe);
  EXPECT_EQ(WithBlocks("parallel { stages = auto; }").module->pins.settings.stages, std::nullopt);
  EXPECT_EQ(WithBlocks("parallel { stages = 2; }").module->pins.settings.pipeline_schedule, ir::PipelineSchedule());
  EXPECT_EQ(WithBlocks("parallel { stages = auto; }").module->pins.settings.pipeline_schedule, std::nullopt);
  EXPECT_EQ(WithBlocks("parallel { stages = auto; pipeline_schedule = one_f_one_b; }")
                .module->pins.settings.pipeline_schedule,
            ir::PipelineSchedule());
  EXPECT_FALSE(WithBlocks("parallel { devices = 8; mesh = (dp = 8); stages = 2; }").module.has_value());
  EXPECT_FALSE(WithBlocks("parallel { stages = 0; }").module.has_value());
}

TEST(ParallelTest, ReadsTheObjective) {
  const Analyzed analyzed = WithBlocks("parallel { objective = compute_to_communication; }");
  ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  EXPECT_EQ(analyzed.module->pins.settings.objective, ir::Objective::kComputeToCommunication);
  EXPECT_TRUE(analyzed.module->pins.settings.objective_span.is_somewhere());
}

TEST(ParallelTest, ReadsTheOtherWords) {
  const auto settings = [](const std::string& text) {
    const Analyzed analyzed = WithBlocks("parallel { " + text + " }");
    EXPECT_TRUE(analyzed.module.has_value()) << text << "\n" << analyzed.messages;
    return analyzed.module ? analyzed.module->pins.settings : ir::ParallelSettings();
  };
  EXPECT_EQ(settings("search = sapp;").search, ir::SearchAlgorithm::kSapp);
  EXPECT_EQ(settings("search = propagate;").search, ir::SearchAlgorithm::kPropagate);
  EXPECT_EQ(settings("search = exact;").search, ir::SearchAlgorithm::kExact);
  EXPECT_EQ(settings("search = replicate;").search, ir::SearchAlgorithm::kReplicate);
  EXPECT_EQ(settings("search = manual;").search, ir::SearchAlgorithm::kManual);
  EXPECT_EQ(settings("objective = memory;").objective, ir::Objective::kMemory);
  EXPECT_EQ(settings("cost = bytes;").cost, ir::Price::kBytes);
  EXPECT_EQ(settings("cost = time;").cost, ir::Price::kTime);
  EXPECT_EQ(settings("").price(), ir::Price::kTime);
  EXPECT_EQ(settings("search = propagate;").price(), ir::Price::kBytes);
  EXPECT_EQ(settings("search = propagate; cost = time;").price(), ir::Price::kTime);
  EXPECT_EQ(settings("").micro_batches, 1);
  EXPECT_EQ(settings("").row_updates, ir::TableRows::kAuto);
  EXPECT_EQ(settings("").sums, std::nullopt);
  EXPECT_EQ(settings("reduce = f32;").sums, ir::DType::kF32);
  EXPECT_EQ(settings("reduce = values;").sums, std::nullopt);
  EXPECT_EQ(settings("row_updates = none;").row_updates, ir::TableRows::kNone);
  EXPECT_EQ(settings("row_updates = all;").row_updates, ir::TableRows::kAll);
  EXPECT_EQ(settings("").collective_matmul, std::nullopt);
  EXPECT_EQ(settings("collective_matmul = none;").collective_matmul, 0);
  EXPECT_EQ(settings("collective_matmul = 4;").collective_matmul, 4);
  EXPECT_EQ(settings("").ring_attention, ir::RingAttentions::kAuto);
  EXPECT_EQ(settings("ring_attention = all;").ring_attention, ir::RingAttentions::kAll);
  EXPECT_EQ(settings("").zigzag, std::nullopt);
  EXPECT_EQ(settings("zigzag = auto;").zigzag, std::nullopt);
  EXPECT_EQ(settings("zigzag = none;").zigzag, 0);
  EXPECT_EQ(settings("zigzag = 2 * 2;").zigzag, 4);
  EXPECT_EQ(settings("").recompute, ir::Recompute::kAuto);
  EXPECT_FALSE(settings("").recompute_span.is_somewhere());
  EXPECT_EQ(settings("recompute = auto;").recompute, ir::Recompute::kAuto);
  EXPECT_TRUE(settings("recompute = auto;").recompute_span.is_somewhere());
  EXPECT_EQ(settings("recompute = none;").recompute, ir::Recompute::kNone);
  EXPECT_EQ(settings("recompute = full;").recompute, ir::Recompute::kFull);
  EXPECT_EQ(settings("").leave_idle, std::nullopt);
  EXPECT_EQ(settings("leave_idle = true;").leave_idle, true);
  EXPECT_EQ(settings("leave_idle = false;").leave_idle, false);
  EXPECT_EQ(settings("devices = batch;").devices->value, 8) << "an argument of the model";
  EXPECT_FALSE(settings("").dataset_given);
}

TEST(ParallelTest, RefusesImpossibleValues) {
  CheckParallel("epochs = 4;", "E0507]: `parallel` has no setting `epochs`");
  CheckParallel("devices = 0;", "E0508]: `devices` must be 1 to 1,048,576");
  CheckParallel("devices = 1048577;", "E0508]: `devices` must be 1 to 1,048,576");
  CheckParallel("devices = 2.0;", "E0204]: `devices` must be an int");
  CheckParallel("mesh = 4;", "E0508]: `mesh` is a list of named axes");
  CheckParallel("mesh = ();", "E0508]: `mesh` is a list of named axes");
  CheckParallel("mesh = (dp = 0);", "E0508]: a mesh axis has 1 to 1,048,576 devices");
  CheckParallel("mesh = (dp = 1024, tp = 1025);", "E0508]: a mesh has at most 1,048,576 devices");
  CheckParallel("mesh = (dp = 2, dp = 2);", "E0202]: mesh axis `dp` is defined twice");
  CheckParallel("mesh = (4,);", "E0508]: an axis of the mesh needs a name");
  CheckParallel("mesh = (dp = 2); devices = 4;", "E0306]: the mesh has 2 devices, not 4");
  CheckParallel("zero = 4;", "E0508]: `zero` is 0, 1, 2, 3 or `auto`");
  CheckParallel("zero = -1;", "E0508]: `zero` is 0, 1, 2, 3 or `auto`");
  CheckParallel("micro_batches = 0;", "E0508]: `micro_batches` is 1 to 65536 or `auto`");
  CheckParallel("micro_batches = 65537;", "E0508]: `micro_batches` is 1 to 65536 or `auto`");
  CheckParallel("zigzag = 0;", "E0508]: `zigzag` is 1 to 65536, `auto` or `none`");
  CheckParallel("zigzag = all;", "E0201]: unknown name `all`");
  CheckParallel("zero = all;", "E0201]: unknown name `all`");
  CheckParallel("memory = 0B;", "E0508]: `memory` must be positive");
  CheckParallel("cost = classic; redistribution_weight = -1;", "E0508]: `redistribution_weight` must be 0 to 1e9");
  CheckParallel("redistribution_weight = 0;", "E0508]: `redistribution_weight` belongs to the price `classic`");
  CheckParallel("cost = bytes; leave_idle = true;", "E0508]: `leave_idle` belongs to the price `time`");
  CheckParallel("leave_idle = 1;", "E0508]: `leave_idle` must be a bool");
  CheckParallel("gradient_weight = -1;", "E0508]: `gradient_weight` must be 0 to 1e9");
  CheckParallel("gradient_weight = 1.1e9;", "E0508]: `gradient_weight` must be 0 to 1e9");
  CheckParallel("search = quick;", "E0508]: `search` takes ");
  CheckParallel("cost = money;", "E0508]: `cost` takes `bytes`, `classic` or `time`");
  CheckParallel("objective = 2;", "E0508]: `objective` takes ");
  CheckParallel("micro_batches = all;", "E0201]: unknown name `all`");
  CheckParallel("reduce = bf16;", "E0508]: `reduce` takes `values` or `f32`");
  CheckParallel("row_updates = some;", "E0508]: `row_updates` takes `auto`, `none` or `all`");
  CheckParallel("recompute = some;", "E0508]: `recompute` takes `auto`, `none` or `full`");
  CheckParallel("recompute = 1;", "E0508]: `recompute` takes `auto`, `none` or `full`");
  CheckParallel("outside = here;", "E0508]: `outside` takes `replicate` or `search`");
  CheckParallel("dataset = (1, 2);", "E0508]: `dataset` takes `data_parallel` or `full_batch`");
}

TEST(ParallelTest, LayoutsOfInputs) {
  CheckParallel("dataset = { \"y\": replicate };", "E0301]: the model has no input `y`");
  CheckParallel("dataset = { \"x\": replicate, \"x\": replicate };", "E0202]: input `x` is named twice");
  CheckParallel("dataset = { \"x\": relu };",
                "E0508]: the layout of an input is `layout(…)`, `shard(…)` or `replicate`");
  CheckParallel("dataset = { \"x\": shard((4, 1, 1)) };", "E0302]: slices for 3 dimensions, but `x` has 2");
  const Analyzed analyzed = WithBlocks("parallel { dataset = { \"x\": shard((4, 1)) }; }");
  ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  ASSERT_EQ(analyzed.module->pins.pins.size(), 1u);
  EXPECT_EQ((*std::get<ir::ShardPin>(analyzed.module->pins.pins[0].demand).out)[0].value, 4);
}

TEST(ParallelTest, AWrongAxisIsOneMistake) {
  for (const char* mesh : {"(dp = 0, tp = 2)", "(dp = 4, dp = 2)"}) {
    const Analyzed analyzed = WithBlocks(std::string("parallel { devices = 8; mesh = ") + mesh + "; }");
    EXPECT_EQ(analyzed.messages.find("E0306"), std::string::npos) << analyzed.messages;
  }
}

}  // namespace
}  // namespace cleave::frontend
