// Tests `--set`, from the command line to its effect.
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
  EXPECT_EQ(analyzed.module->graph.op(ir::OpId(0)).type.ToString(), "f32[16, 6]");
  EXPECT_EQ(analyzed.module->training.epochs, 4);
  EXPECT_EQ(analyzed.module->training.seed, 9);
  EXPECT_EQ(analyzed.module->training.learning_rate, "lr=0.3");
  EXPECT_EQ(analyzed.module->pins.settings.devices->value, 2);
}

Analyzed WithRecord(const Overrides& overrides) {
  return AnalyzeText(
      "record Inner { name: string = \"a\"; act: layer = relu; }\n"
      "record Sizes { width: int; half: int = width / 2; inner: Inner = Inner(); }\n"
      "model M(batch: int = 8, c: Sizes = Sizes(width = 8)) { input x: f32[batch, c.half];\n"
      "if c.inner.name != \"a\" { print(x); } let y = dense(c.inner.act(x), 1); loss reduce_mean(y); }\n",
      overrides);
}

TEST(OverrideTest, ReplacesFieldsOfRecords) {
  const auto input = [](const Overrides& overrides) {
    const Analyzed analyzed = WithRecord(overrides);
    return analyzed.module ? analyzed.module->graph.op(ir::OpId(0)).type.ToString()
                           : analyzed.messages.substr(0, analyzed.messages.find('\n'));
  };
  EXPECT_EQ(input({}), "f32[8, 4]");
  EXPECT_EQ(input({{"c.width", "6"}}), "f32[8, 3]");
  EXPECT_EQ(input({{"c.half", "5"}, {"c.width", "6"}}), "f32[8, 5]");
  EXPECT_EQ(input({{"c.half", "5"}, {"c", "Sizes(width = 6)"}}), "f32[8, 3]");
  EXPECT_EQ(input({{"c", "Sizes(width = 6) with (half = 2)"}, {"c.inner.act", "tanh"}}), "f32[8, 2]");
  EXPECT_EQ(WithRecord({{"c.inner.name", "b"}}).module->graph.looks.size(), 1u);
  EXPECT_EQ(input({{"c.widht", "6"}}), "error[E0510]: `--set c.widht=6`: record `Sizes` has no field `widht`");
  EXPECT_EQ(input({{"c.width.x", "6"}}),
            "error[E0510]: `--set c.width.x=6`: field `width` of record `Sizes` is `int`, which has no fields");
  EXPECT_EQ(input({{"c.width", "0.5"}}), "error[E0204]: `--set c.width=0.5`: field `width` of `Sizes` is `int`");
  EXPECT_EQ(input({{"c.inner.act", "layer dense(3)"}}),
            "error[E0204]: `--set c.inner.act=layer dense(3)`: argument `c` has a layer of `dense`");
}

TEST(OverrideTest, TheLaterOneWins) {
  EXPECT_EQ(TrainingOf("epochs = 1;", {{"epochs", "2"}, {"epochs", "3"}}).epochs, 3);
}

TEST(OverrideTest, ChangesTheHash) {
  EXPECT_NE(WithBlocks("").module->graph.hash, WithBlocks("", {{"batch", "16"}}).module->graph.hash);
}

TEST(OverrideTest, MistakesNameTheOverride) {
  struct WrongOverride {
    const char* name;
    const char* value;
    const char* message;
  };
  for (const WrongOverride& wrong : {
           WrongOverride{
               "bach", "16",
               "error[E0510]: `--set bach=16`: neither an argument of model `M` nor a setting is called `bach`\nhelp: "
               "did you mean `batch`?\n"},
           WrongOverride{"batch", "0.5", "error[E0204]: `--set batch=0.5`: argument `batch` is `int`\n"},
           WrongOverride{"epochs", "0", "error[E0508]: `--set epochs=0`: `epochs` must be at least 1\n"},
           WrongOverride{"batch", "1; } train y { b = 2",
                         "error[E0510]: `--set batch=1; } train y { b = 2`: not one value of the language\n"},
           WrongOverride{"data.path", "\"a\"",
                         "error[E0510]: `--set data.path=\"a\"`: the `train` block has no `data = …(…)` to change\n"
                         "help: set it whole: `--set 'data=…(…)'`\n"},
       }) {
    EXPECT_EQ(WithBlocks("train M { epochs = 1; }", {{wrong.name, wrong.value}}).messages, wrong.message);
  }
}

}  // namespace
}  // namespace cleave::frontend
