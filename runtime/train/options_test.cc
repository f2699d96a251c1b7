#include "runtime/train/options.h"

#include <gtest/gtest.h>

#include <vector>

namespace cleave::runtime {
namespace {

Result<Options> Parse(std::vector<const char*> flags, const TrainingSettings& settings = {}) {
  flags.insert(flags.begin(), "program");
  return ParseOptions(static_cast<int>(flags.size()), flags.data(), settings);
}

TEST(ParseOptions, NoneGiven) {
  const Result<Options> options = Parse({});
  ASSERT_TRUE(options.ok());
  EXPECT_FALSE(options.value().steps.has_value());
  EXPECT_EQ(options.value().out, ".");
  EXPECT_FALSE(options.value().quiet);
  EXPECT_FALSE(options.value().log_all_ranks.has_value());
  EXPECT_EQ(Parse({"--log-ranks=0"}).value().log_all_ranks, false);
}

TEST(ParseOptions, AllGivenInBothForms) {
  const Result<Options> options =
      Parse({"--steps", "5", "--epochs=2", "--seed", "0", "--log-every=0", "--log-ranks", "all", "--out", "a/b",
             "--data=c=d", "--params", "x.safetensors", "--eval-every", "0", "--quiet"});
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_EQ(options.value().steps, 5);
  EXPECT_EQ(options.value().epochs, 2);
  EXPECT_EQ(options.value().seed, 0u);
  EXPECT_EQ(options.value().log_every, 0);
  EXPECT_EQ(options.value().log_all_ranks, true);
  EXPECT_EQ(options.value().out, "a/b");
  EXPECT_EQ(options.value().data, "c=d");
  EXPECT_EQ(options.value().params, "x.safetensors");
  EXPECT_EQ(options.value().evaluate_every, 0);
  EXPECT_TRUE(options.value().quiet);
}

TEST(ParseOptions, AProfileWithAFileOrWithout) {
  EXPECT_FALSE(Parse({}).value().profile.has_value());
  EXPECT_EQ(Parse({"--profile"}).value().profile, "");
  EXPECT_EQ(Parse({"--profile", "--quiet"}).value().profile, "");
  EXPECT_EQ(Parse({"--profile", "a.json"}).value().profile, "a.json");
  EXPECT_EQ(Parse({"--profile=a.json"}).value().profile, "a.json");
  EXPECT_EQ(FlagsText(Parse({"--profile=a.json"}).value()), "--profile a.json");
  TrainingSettings generates;
  generates.mode = Mode::kGenerate;
  EXPECT_EQ(Parse({"--profile=a.json"}, generates).value().profile, "a.json");
}

TEST(ParseOptions, MistakesAreUsageErrors) {
  const struct {
    std::vector<const char*> flags;
    const char* message;
  } cases[] = {
      {{"--stepz", "5"}, "unknown flag `--stepz`; did you mean `--steps`?"},
      {{"5"}, "unknown flag `5`"},
      {{"--quiet=1"}, "unknown flag `--quiet`"},
      {{"--steps"}, "`--steps` needs a value"},
      {{"--steps", "0"}, "`--steps` is `0`, and must be a whole number of at least 1"},
      {{"--steps", "1.5"}, "`--steps` is `1.5`, and must be a whole number of at least 1"},
      {{"--epochs", "-1"}, "`--epochs` is `-1`, and must be a whole number of at least 1"},
      {{"--seed", "99999999999999999999"},
       "`--seed` is `99999999999999999999`, and must be a whole number of at least 0"},
      {{"--log-every="}, "`--log-every` is ``, and must be a whole number of at least 0"},
      {{"--eval-every", "-1"}, "`--eval-every` is `-1`, and must be a whole number of at least 0"},
      {{"--log-ranks", "1"}, "`--log-ranks` is `1`, and must be 0 or all"},
      {{"--out="}, "`--out` needs a value"},
      {{"--params="}, "`--params` needs a value"},
      {{"--params", "a", "--resume"},
       "`--params` begins anew with parameters alone, and `--resume` goes on from a checkpoint: give one"},
  };
  for (const auto& [flags, message] : cases) {
    const Result<Options> options = Parse(flags);
    ASSERT_FALSE(options.ok()) << message;
    EXPECT_EQ(options.error().code, ExitCode::kUsage);
    EXPECT_EQ(options.error().message, std::string(message) + "\n" + Usage("program", {}));
  }
}

double rate = 0.05;

TEST(Numbers, AFlagChangesThem) {
  TrainingSettings settings;
  settings.schedule = "0.05";
  settings.learning_rate = [](double) { return rate; };
  settings.numbers = {{"lr", &rate}};
  EXPECT_NE(Usage("program", settings).find("--lr X         in `0.05`; default 0.05"), std::string::npos);
  const Result<Options> options = Parse({"--lr", "1e-3"}, settings);
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_FALSE(SetNumbers(options.value(), settings).has_value());
  EXPECT_EQ(rate, 1e-3);
  EXPECT_EQ(settings.schedule, "0.05, --lr 0.001");
  EXPECT_EQ(FlagsText(options.value()), "--lr 0.001");
}

double beta = 0.9;

TrainingSettings WithBeta() {
  TrainingSettings settings;
  settings.schedule = "0.05";
  settings.learning_rate = [](double) { return rate; };
  settings.numbers = {{"lr", &rate}, {"optimizer.beta1", &beta}};
  settings.fixed = {{"optimizer.weight_decay", 0}};
  settings.Demand([] { return beta < 1.0; }, "`beta1` must be less than 1, not {optimizer.beta1}");
  return settings;
}

TEST(Numbers, AreSetByTheirNames) {
  TrainingSettings settings = WithBeta();
  EXPECT_NE(Usage("program", settings).find("another number of the model; defaults optimizer.beta1=0.9"),
            std::string::npos);
  for (const std::vector<const char*>& flags :
       {std::vector<const char*>{"--set", "optimizer.beta1=0.5", "--set=lr=0.25"},
        std::vector<const char*>{"--set=optimizer.beta1=0.5", "--lr", "0.25"}}) {
    const Result<Options> options = Parse(flags, settings);
    ASSERT_TRUE(options.ok()) << options.error().message;
    EXPECT_EQ(FlagsText(options.value()), "--set optimizer.beta1=0.5 --lr 0.25");
    EXPECT_FALSE(SetNumbers(options.value(), settings).has_value());
    EXPECT_EQ(beta, 0.5);
    EXPECT_EQ(rate, 0.25);
  }
}

TEST(Numbers, OthersAreRefused) {
  TrainingSettings settings = WithBeta();
  const std::pair<const char*, const char*> cases[] = {
      {"optimizer.beta2=0.5",
       "`--set` changes no `optimizer.beta2`; did you mean `optimizer.beta1`? There is `lr`, `optimizer.beta1`"},
      {"decay=0.5", "`--set` changes no `decay`; there is `lr`, `optimizer.beta1`"},
      {"optimizer.weight_decay=0.1",
       "`optimizer.weight_decay` is 0 in this program, which decides what it computes: compile the model again for "
       "another "
       "number"},
      {"optimizer.beta1", "`--set` takes NAME=X, not `optimizer.beta1`"},
      {"optimizer.beta1=x", "`optimizer.beta1` is `x`, and must be a finite number"},
  };
  for (const auto& [flag, message] : cases) {
    const Result<Options> options = Parse({"--set", flag}, settings);
    ASSERT_FALSE(options.ok()) << flag;
    EXPECT_EQ(options.error().code, ExitCode::kUsage);
    EXPECT_EQ(options.error().message, std::string(message) + "\n" + Usage("program", settings));
  }
  EXPECT_FALSE(Parse({"--optimizer.beta1", "0.5"}, settings).ok());
  EXPECT_FALSE(Parse({"--patience", "2"}, settings).ok());
  settings.best.measure = "loss";
  EXPECT_EQ(Parse({"--patience", "2"}, settings).value().patience, 2);
  const std::optional<Error> error = SetNumbers(Parse({"--set", "optimizer.beta1=1.5"}, settings).value(), settings);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, ExitCode::kUsage);
  EXPECT_EQ(error->message, "`beta1` must be less than 1, not 1.5");
}

TEST(Numbers, MistakesAreUsageErrors) {
  TrainingSettings settings;
  settings.learning_rate = [](double) { return rate; };
  settings.numbers = {{"lr", &rate}};
  for (const char* wrong : {"", "fast", "1e-3x", "nan", "inf"}) {
    const Result<Options> options = Parse({"--lr", wrong}, settings);
    ASSERT_FALSE(options.ok()) << wrong;
    EXPECT_EQ(options.error().message,
              "`--lr` is `" + std::string(wrong) + "`, and must be a finite number\n" + Usage("program", settings));
  }
  const std::optional<Error> negative = SetNumbers(Parse({"--lr=-1"}, settings).value(), settings);
  ASSERT_TRUE(negative.has_value());
  EXPECT_EQ(negative->message, "the learning rate must be 0 or more, and is -1 at step 1: `, --lr -1`");
}

}  // namespace
}  // namespace cleave::runtime
