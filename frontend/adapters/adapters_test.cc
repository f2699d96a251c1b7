#include "frontend/adapters/adapters.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/graph/graph.h"
#include "ir/tensor/types/types.h"

namespace cleave::frontend {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two layers in a loop between a table and a dense layer; the train block has `settings`.
Analyzed Adapted(const std::string& settings, const std::string& layer = "", const std::string& rest = "") {
  return AnalyzeText(
      absl::StrCat("model M(batch: int = 8) {\n"
                   "input tokens: i32[batch, 4];\n"
                   "input next: i32[batch, 4];\n"
                   "let mut x = embedding(tokens, 11, 6);\n"
                   "for i in 0..2 {\n",
                   layer, " x = dense(rms_norm(x), 6);\n", "}\n", rest,
                   "loss cross_entropy(dense(x, 11), next);\n"
                   "}\n"
                   "train M { data = synthetic(); optimizer = adamw(); ",
                   settings, " }"));
}

// The parameters that are trained.
std::vector<std::string> Trained(const Analyzed& analyzed) {
  EXPECT_EQ(analyzed.messages, "");
  std::vector<std::string> names;
  if (!analyzed.module.has_value()) return names;
  for (const ir::Op& op : analyzed.module->graph.ops) {
    if (op.kind == ir::OpKind::kParameter && op.attributes.Get(ir::attribute::kTrained)) names.push_back(op.name);
  }
  return names;
}

TEST(AdaptersTest, TrainsAdaptersAlone) {
  const Analyzed analyzed = Adapted("adapt = lora(rank = 2, alpha = 4, on = \"x.*.dense_0.*\");");
  EXPECT_THAT(Trained(analyzed), ElementsAre("x.0.dense_0.weight_lora_a", "x.0.dense_0.weight_lora_b",
                                             "x.1.dense_0.weight_lora_a", "x.1.dense_0.weight_lora_b"));
  EXPECT_EQ(analyzed.module->training.adapters, "lora(rank = 2, alpha = 4.0)");
  EXPECT_EQ(analyzed.module->training.frozen, std::nullopt);
  EXPECT_EQ(Adapted("adapt = lora(rank = 2, on = \"x.*.dense_0.*\", frozen = i8);").module->training.frozen,
            ir::DType::kI8);
  const ir::Graph& graph = analyzed.module->graph;
  const auto biased = std::find_if(graph.ops.begin(), graph.ops.end(),
                                   [](const ir::Op& op) { return op.kind == ir::OpKind::kBiasAdd; });
  ASSERT_NE(biased, graph.ops.end());
  EXPECT_EQ(graph.op(biased->inputs[0]).name, "x.0.dense_0.matmul.lora_sum");
  for (const ir::StateUpdate& update : analyzed.module->updates.graph.updates) {
    EXPECT_THAT(analyzed.module->updates.graph.op(update.state).name, HasSubstr("_lora_"));
  }
}

TEST(AdaptersTest, AlsoTrainsOthers) {
  EXPECT_THAT(Trained(Adapted("adapt = lora(rank = 2, on = \"x.1.*\", also = (\"*.rms_norm_0.*\", \"loss.bias\"));")),
              ElementsAre("x.0.rms_norm_0.weight", "x.1.rms_norm_0.weight", "x.1.dense_0.weight_lora_a",
                          "x.1.dense_0.weight_lora_b", "loss.bias"));
}

TEST(AdaptersTest, GroupsAreOfWhatIsTrained) {
  const std::string adapt = "adapt = dora(rank = 2, on = \"x.0.*\"); ";
  const Analyzed analyzed = Adapted(adapt + "groups = { \"*_lora_b\": sgd(lr = 1.0), \"*.weight\": frozen };");
  EXPECT_EQ(Trained(analyzed).size(), 3u);
  EXPECT_EQ(analyzed.module->training.other_optimizers.count("x.0.dense_0.weight_lora_b"), 1u);
  EXPECT_THAT(Adapted(adapt + "groups = { \"*.bias\": sgd() };").messages,
              HasSubstr("error[E0525]: `*.bias` matches parameters that `adapt` freezes"));
  EXPECT_THAT(Adapted(adapt + "groups = { \"*.biass\": sgd() };").messages,
              HasSubstr("error[E0525]: no parameter matches `*.biass`"));
}

// Demands of a product are those of the ops beside it, and all others keep their places.
TEST(AdaptersTest, DemandsMove) {
  const Analyzed analyzed = Adapted("adapt = dora(rank = 2, dropout = 0.1, on = \"x.*.dense_0.*\");",
                                    "#[recompute] #[stage(0)]", "#[stage(1)] let y = relu(x); print(y); x = y;\n");
  EXPECT_EQ(analyzed.messages, "");
  ASSERT_TRUE(analyzed.module.has_value());
  const ir::Graph& graph = analyzed.module->graph;
  for (const ir::Op& op : graph.ops) {
    if (op.inputs.empty() || !absl::StrContains(op.name, ".lora_")) continue;
    const auto is_its_own = [&](const auto& pin) { return pin.op == op.id; };
    const auto& stages = analyzed.module->pins.stages;
    EXPECT_EQ(std::count_if(stages.begin(), stages.end(), is_its_own), 1) << op.name;
    const auto& retentions = analyzed.module->pins.retentions;
    EXPECT_EQ(std::count_if(retentions.begin(), retentions.end(), is_its_own), 1) << op.name;
  }
  for (const ir::StagePin& pin : analyzed.module->pins.stages) {
    EXPECT_EQ(pin.stage, graph.op(pin.op).name == "y.relu" ? 1 : 0) << graph.op(pin.op).name;
  }
}

// The looks and the losses that read a product read it with its change.
TEST(AdaptersTest, ReadersReadTheSum) {
  const Analyzed analyzed = Adapted("adapt = lora(rank = 2, on = \"y.*\");", "",
                                    "let y = dense(x, 6, bias = false); print(y); x = relu(y);\n");
  EXPECT_EQ(analyzed.messages, "");
  const ir::Graph& graph = analyzed.module->graph;
  ASSERT_EQ(graph.looks.size(), 1u);
  EXPECT_EQ(graph.op(graph.looks[0].value).name, "y.matmul.lora_sum");
  const std::optional<ir::OpId> reader = graph.Find("x.relu");
  ASSERT_TRUE(reader.has_value());
  EXPECT_EQ(graph.op(graph.op(*reader).inputs[0]).name, "y.matmul.lora_sum");
}

TEST(AdaptersTest, ManualModels) {
  const auto manual = [](const std::string& adapt) {
    return AnalyzeText(
        absl::StrCat("#[manual]\nmodel M(batch: int = 8) {\ninput x: f32[batch, 6];\n"
                     "loss reduce_mean(square(dense(x, 5)));\n}\n"
                     "train M { data = synthetic(); adapt = ",
                     adapt, ", on = \"*\"); }\nparallel { devices = 2; }"));
  };
  EXPECT_EQ(Trained(manual("lora(rank = 2")).size(), 2u);
  EXPECT_THAT(manual("dora(rank = 2").messages, HasSubstr("error[E0220]: `dora` in a manual model"));
  EXPECT_THAT(manual("lora(rank = 2, frozen = i8").messages,
              HasSubstr("error[E0220]: `frozen = i8` in a manual model"));
}

TEST(AdaptersTest, Mistakes) {
  const auto message = [](const std::string& adapt) { return Adapted(absl::StrCat("adapt = ", adapt, ";")).messages; };
  EXPECT_THAT(message("lora(rank = 2, on = \"x.*.dens_0.weight\")"),
              HasSubstr("error[E0529]: no weight matches `x.*.dens_0.weight`"));
  EXPECT_THAT(message("lora(rank = 2, on = (\"x.0.*\", \"*.bias\"))"),
              HasSubstr("error[E0529]: no weight matches `*.bias`"));
  EXPECT_THAT(message("lora(rank = 2, on = \"x.*\", also = \"x.0.dense_0.weight\")"),
              HasSubstr("no parameter without an adapter matches `x.0.dense_0.weight`"));
  const std::string all = message("lora(rank = 6, on = \"x.*\")");
  EXPECT_THAT(all, HasSubstr("`x.0.dense_0.weight` can have no adapter: it is 6x6, and a rank of 6"));
  EXPECT_THAT(all, HasSubstr("the same is true of 1 more"));
  EXPECT_FALSE(absl::StrContains(all, "`x.1.dense_0.weight` can"));
  EXPECT_THAT(message("lora(rank = 2, on = \"*\")"), HasSubstr("is read by `x.embedding`, line 4"));
  EXPECT_THAT(message("lora(rank = 2)"), HasSubstr("E0203"));
  EXPECT_THAT(message("qlora(rank = 2, on = \"*\")"), HasSubstr("error[E0508]: unknown adapter `qlora`"));
  EXPECT_THAT(message("lora(rank = 2, on = \"x.*\", frozen = int8)"),
              HasSubstr("error[E0508]: `frozen` takes `auto` or `i8`"));
  EXPECT_THAT(message("lora(rank = 0, on = \"*\")"), HasSubstr("`rank` must be at least 1"));
  EXPECT_THAT(message("lora(rank = 2, on = \"x.*\", alpha = 0)"), HasSubstr("`alpha` must be finite"));
  EXPECT_THAT(message("lora(rank = 2, on = \"x.*\", dropout = 1.0)"), HasSubstr("`dropout` must be at least 0"));
  EXPECT_THAT(message("lora(rank = 2, on = \"x.*\", scale = root)"), HasSubstr("`scale` takes"));
  EXPECT_THAT(message("lora(rank = 2, on = 7)"), HasSubstr("patterns of parameters' names"));
  EXPECT_EQ(message("none"), "");
}

}  // namespace
}  // namespace cleave::frontend
