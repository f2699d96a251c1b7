// What models mean: names, paths, shapes, loops, metrics.
#include "frontend/frontend.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/testing.h"
#include "ir/graph/text.h"

namespace cleave {
namespace {

// The ops of a model, one "name: type = kind(inputs)" per line.
std::string Ops(const Analyzed& analyzed) {
  if (!analyzed.module) return analyzed.messages;
  std::string text;
  for (const Op& op : analyzed.module->graph.ops) {
    std::vector<std::string> inputs;
    for (OpId input : op.inputs) inputs.push_back(analyzed.module->graph.op(input).name);
    absl::StrAppend(&text, op.name, ": ", op.type.ToString(), " = ", op.kind, "(", absl::StrJoin(inputs, ", "), ")\n");
  }
  return text;
}

std::string ParameterNames(const Analyzed& analyzed) {
  if (!analyzed.module) return analyzed.messages;
  std::vector<std::string> names;
  for (const Op& op : analyzed.module->graph.ops) {
    if (op.kind == "parameter") names.push_back(op.name);
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
  const Graph& graph = analyzed.module->graph;
  EXPECT_EQ(graph.model, "MnistMlp");
  EXPECT_EQ(graph.file, "test.model");
  EXPECT_EQ(graph.op(*graph.Find("h1.matmul")).line, 6);
  EXPECT_EQ(graph.op(*graph.Find("logits.bias")).line, 8);
  EXPECT_EQ(graph.op(*graph.Find("metric.accuracy")).phase, Phase::kMetric);
  EXPECT_EQ(graph.op(*graph.Find("loss.cross_entropy")).phase, Phase::kForward);
  ASSERT_EQ(graph.metrics.size(), 1u);
  EXPECT_EQ(graph.metrics[0].name, "accuracy");
  EXPECT_EQ(graph.hash.size(), std::string("xxh3:").size() + 16);
}

}  // namespace
}  // namespace cleave
