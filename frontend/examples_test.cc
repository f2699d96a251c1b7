// Tests that the models under examples/ mean what their READMEs say.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "frontend/testing.h"
#include "ir/graph/ops/ops.h"

namespace cleave::frontend {
namespace {

Analyzed AnalyzeExample(const std::string& path) {
  std::ifstream file("examples/" + path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_TRUE(file.good()) << path;
  return AnalyzeText(text.str(), {}, "examples/" + path);
}

class ExamplesTest : public testing::TestWithParam<const char*> {};

TEST_P(ExamplesTest, CompilesWithoutAWord) {
  const Analyzed analyzed = AnalyzeExample(GetParam());
  EXPECT_EQ(analyzed.messages, "");
  ASSERT_TRUE(analyzed.module.has_value());
  EXPECT_EQ(ir::VerifyGraph(analyzed.module->graph), std::vector<std::string>());
}

INSTANTIATE_TEST_SUITE_P(All, ExamplesTest,
                         testing::Values("custom_op/custom_op.model", "global_view/columns_rows.model",
                                         "global_view/data_parallel.model", "global_view/rows.model",
                                         "manual_halo/manual_halo.model", "manual_mlp/manual_mlp.model",
                                         "manual_transpose/manual_transpose.model", "mnist_cnn/mnist_cnn.model",
                                         "mnist_mlp/mnist_mlp.model", "region_function/region_function.model",
                                         "regions/regions.model", "sapp_mlp/sapp_mlp.model", "tiny_gpt/tiny_gpt.model",
                                         "vmap/vmap.model"));

TEST(ExampleTest, SappMlpIsThePublishedNetwork) {
  const Analyzed analyzed = AnalyzeExample("sapp_mlp/sapp_mlp.model");
  ASSERT_TRUE(analyzed.module.has_value());
  const ir::Graph& graph = analyzed.module->graph;
  const ir::Op& first = graph.op(*graph.Find("h1.matmul"));
  EXPECT_EQ(graph.op(first.inputs[0]).type.ToString(), "f32[256, 784]");
  EXPECT_EQ(graph.op(first.inputs[1]).type.ToString(), "f32[512, 784]");
  EXPECT_EQ(graph.op(*graph.loss).kind, ir::OpKind::kMae);
  EXPECT_EQ(analyzed.module->training.optimizer, "momentum");
  EXPECT_EQ(analyzed.module->training.learning_rate, "lr=0.001");
}

TEST(ExampleTest, TinyGptIsTiny) {
  const Analyzed analyzed = AnalyzeExample("tiny_gpt/tiny_gpt.model");
  ASSERT_TRUE(analyzed.module.has_value());
  const ir::Graph& graph = analyzed.module->graph;
  EXPECT_EQ(graph.op(*graph.Find("x.1.attn.scores.matmul")).type.ToString(), "f32[32, 4, 64, 64]");
  EXPECT_EQ(analyzed.module->training.data.kind, "tokens");
  EXPECT_TRUE(std::ifstream("examples/tiny_gpt/" + analyzed.module->training.data.path).good());
}

}  // namespace
}  // namespace cleave::frontend
