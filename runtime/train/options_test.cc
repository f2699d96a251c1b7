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
  EXPECT_FALSE(options.value().log_all_ranks);
  EXPECT_FALSE(Parse({"--log-ranks=0"}).value().log_all_ranks);
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
  EXPECT_TRUE(options.value().log_all_ranks);
  EXPECT_EQ(options.value().out, "a/b");
  EXPECT_EQ(options.value().data, "c=d");
  EXPECT_EQ(options.value().params, "x.safetensors");
  EXPECT_EQ(options.value().evaluate_every, 0);
  EXPECT_TRUE(options.value().quiet);
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
