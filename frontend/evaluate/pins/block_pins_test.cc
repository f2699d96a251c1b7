// Attributes of functions and loops.
#include <set>

#include "absl/strings/str_cat.h"
#include "frontend/frontend.h"
#include "frontend/testing.h"
#include "gtest/gtest.h"

namespace cleave::frontend {
namespace {

// The pins in order, "x: layout(dp, _)", "w: shard(4, 1)", "y.relu: replicate"; checks that there are no messages.
std::vector<std::string> PinsOf(const Analyzed& analyzed) {
  EXPECT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  std::vector<std::string> texts;
  if (!analyzed.module) return texts;
  for (const ir::Pin& pin : analyzed.module->pins.pins) {
    std::string text = absl::StrCat(analyzed.module->graph.op(pin.op).name, ":");
    if (const auto* layout = std::get_if<ir::LayoutPin>(&pin.demand)) {
      for (const auto& axes : layout->dimensions) {
        absl::StrAppend(&text, " ");
        for (const auto& axis : axes) absl::StrAppend(&text, axis.value);
        if (axes.empty()) absl::StrAppend(&text, "_");
      }
    } else if (const auto* shard = std::get_if<ir::ShardPin>(&pin.demand)) {
      for (const ir::CountsPin& in : shard->in) {
        absl::StrAppend(&text, " in");
        for (const auto& count : *in) absl::StrAppend(&text, " ", count.value);
      }
      if (shard->out) absl::StrAppend(&text, " out");
      for (const auto& count : shard->out.value_or(std::vector<ir::Placed<int64_t>>()))
        absl::StrAppend(&text, " ", count.value);
    } else {
      absl::StrAppend(&text, " replicate");
    }
    texts.push_back(text);
  }
  return texts;
}

using Texts = std::vector<std::string>;

constexpr char kLayer[] =
    "fn layer(x: f32[n, k], units: int) -> f32[n, units] {\n"
    "  param weight: f32[units, k] = zeros();\n"
    "  return matmul(x, weight, transpose_b = true);\n"
    "}\n";

Analyzed AnalyzeLayers(const std::string& attribute, const std::string& body = "") {
  return AnalyzeBody(body.empty() ? "let y = layer(x, 4); let z = layer(y, 4); loss reduce_mean(z);" : body,
                     attribute + kLayer);
}

TEST(BlockPinsTest, AFunctionsTensorsInEveryCall) {
  EXPECT_EQ(PinsOf(AnalyzeLayers("#[layout(x = (\"dp\", _), weight = (\"tp\", _))]")),
            (Texts{"x: dp _", "y.weight: tp _", "y.matmul: dp _", "z.weight: tp _"}));
  EXPECT_EQ(PinsOf(AnalyzeLayers("#[shard(weight = (4, 1))]")), (Texts{"y.weight: out 4 1", "z.weight: out 4 1"}));
}

TEST(BlockPinsTest, NumbersMayUseTheCallsSymbols) {
  EXPECT_EQ(PinsOf(AnalyzeLayers("#[shard(weight = (units / 2, 1))]")),
            (Texts{"y.weight: out 2 1", "z.weight: out 2 1"}));
}

TEST(BlockPinsTest, AllOpsOfEveryCall) {
  EXPECT_EQ(PinsOf(AnalyzeLayers("#[replicate]")), (Texts{"y.matmul: replicate", "z.matmul: replicate"}));
  const Analyzed analyzed = AnalyzeLayers("#[priority(3)]");
  ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  EXPECT_EQ(analyzed.module->pins.priorities.size(), 2u);
}

TEST(BlockPinsTest, APriorityIsThatOfThePinsBesideIt) {
  const Analyzed analyzed = AnalyzeLayers("#[layout(weight = (\"tp\", _))] #[priority(2)]");
  ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  std::set<std::string> names;
  for (const ir::Priority& priority : analyzed.module->pins.priorities) {
    names.insert(analyzed.module->graph.op(priority.op).name);
    EXPECT_EQ(priority.value, 2);
  }
  EXPECT_EQ(names, (std::set<std::string>{"y.weight", "y.matmul", "z.weight", "z.matmul"}));
}

TEST(BlockPinsTest, AnInnerPriorityStays) {
  const Analyzed analyzed = AnalyzeBody(
      "#[priority(7)] for i in 0..2 { #[priority(1)] let y = relu(x); let z = tanh(y); print(z); } loss "
      "reduce_mean(x);");
  ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  std::multiset<int64_t> values;
  for (const ir::Priority& priority : analyzed.module->pins.priorities) values.insert(priority.value);
  EXPECT_EQ(values, (std::multiset<int64_t>{1, 1, 7, 7}));
}

TEST(BlockPinsTest, ALoopsValuesAtTheEndOfEveryPass) {
  EXPECT_EQ(PinsOf(AnalyzeBody("let mut h = x; #[layout(h = (\"dp\", _))] for i in 0..2 { h = relu(h); h = tanh(h); }\n"
                               "loss reduce_mean(h);")),
            (Texts{"h.0.tanh: dp _", "h.1.tanh: dp _"}));
  EXPECT_EQ(PinsOf(AnalyzeBody("let mut h = x; #[shard(h = (2, i + 1), x = (2, 1))] for i in 0..2 { h = relu(h); }\n"
                               "loss reduce_mean(h);")),
            (Texts{"h.0.relu: out 2 1", "x: out 2 1", "h.1.relu: out 2 2"}));
  EXPECT_EQ(PinsOf(AnalyzeBody("let mut h = x; #[replicate] for i in 0..2 { h = relu(h); }\nloss reduce_mean(h);")),
            (Texts{"h.0.relu: replicate", "h.1.relu: replicate"}));
}

TEST(BlockPinsTest, ParametersInsideOfLoops) {
  EXPECT_EQ(PinsOf(AnalyzeBody("let y = stack_of(x); loss reduce_mean(y);",
                               "#[layout(w = (\"tp\", _))]\nfn stack_of(x: f32[n, k]) -> f32[n, k] { let mut h = x;\n"
                               "for i in 0..2 { param w: f32[k, k] = zeros(); h = matmul(h, w); } return h; }")),
            (Texts{"y.w.0: tp _", "y.w.1: tp _"}));
}

TEST(BlockPinsTest, CallsThatAskForDifferentLayoutsOfOneValueContradictEachOther) {
  const Analyzed analyzed =
      AnalyzeBody("let y = up(x); let z = down(x); loss reduce_mean(y + z);",
                  "#[layout(x = (\"dp\", _))]\nfn up(x: f32[n, k]) -> f32[n, k] { return relu(x); }\n"
                  "#[layout(x = (_, \"dp\"))]\nfn down(x: f32[n, k]) -> f32[n, k] { return tanh(x); }");
  EXPECT_FALSE(analyzed.module.has_value());
  EXPECT_NE(analyzed.messages.find("E0307"), std::string::npos) << analyzed.messages;
  EXPECT_NE(analyzed.messages.find("layout(x = (\"dp\", _))"), std::string::npos) << analyzed.messages;
  EXPECT_NE(analyzed.messages.find("layout(x = (_, \"dp\"))"), std::string::npos) << analyzed.messages;
}

TEST(BlockPinsTest, Mistakes) {
  struct Mistake {
    const char* attribute;
    const char* code;
    const char* text;
  };
  for (const Mistake& c : {
           Mistake{"#[layout(weigth = (\"tp\", _))]", "E0301", "did you mean `weight`?"},
           Mistake{"#[layout(units = (\"tp\", _))]", "E0301", "neither a tensor that it takes nor a `param`"},
           Mistake{"#[layout(weight = (\"tp\"))]", "E0302", "a layout of 1 dimension"},
           Mistake{"#[shard(weight = (4, 1, 1))]", "E0302", "slices for 3 dimensions"},
           Mistake{"#[layout(\"tp\", _)]", "E0303", "of which tensor?"},
           Mistake{"#[layout]", "E0303", "of which tensor?"},
           Mistake{"#[shard(x = (2, 1), x = (2, 1))]", "E0303", "named twice"},
           Mistake{"#[shard(x = 2)]", "E0303", "expected a tuple"},
           Mistake{"#[layout(x = (\"tp\", \"tp\"))]", "E0308", "used twice"},
           Mistake{"#[replicate(x)]", "E0303", "takes no arguments"},
           Mistake{"#[region(out = auto)]", "E0305", "has no meaning here"},
       }) {
    const Analyzed analyzed = AnalyzeLayers(c.attribute);
    EXPECT_FALSE(analyzed.module.has_value()) << c.attribute;
    EXPECT_NE(analyzed.messages.find(c.code), std::string::npos) << c.attribute << "\n" << analyzed.messages;
    EXPECT_NE(analyzed.messages.find(c.text), std::string::npos) << c.attribute << "\n" << analyzed.messages;
  }
  for (const Mistake& c : {
           Mistake{"#[layout(g = (\"tp\", _))]", "E0301", "at the end of the loop's body"},
           Mistake{"#[layout(i = (\"tp\", _))]", "E0305", "`i` is no tensor"},
           Mistake{"#[layout(h = (\"tp\"))]", "E0302", "a layout of 1 dimension"},
           Mistake{"#[sharp(h = (1, 1))]", "E0305", "has no meaning on a loop"},
       }) {
    const Analyzed analyzed = AnalyzeBody(
        absl::StrCat("let mut h = x; ", c.attribute, " for i in 0..2 { h = relu(h); } loss reduce_mean(h);"));
    EXPECT_FALSE(analyzed.module.has_value()) << c.attribute;
    EXPECT_NE(analyzed.messages.find(c.code), std::string::npos) << c.attribute << "\n" << analyzed.messages;
    EXPECT_NE(analyzed.messages.find(c.text), std::string::npos) << c.attribute << "\n" << analyzed.messages;
  }
}

}  // namespace
}  // namespace cleave::frontend
