#include "tools/driver/outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/source/source.h"
#include "dsl/parse/parse.h"
#include "ir/graph/ops/ops.h"

namespace cleave::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kModel[] = R"(model Net(batch: int = 8) {
    input x: f32[batch, 4];
    input label: i32[batch];
    #[shard((2, 1))]
    let h = relu(dense(x, 6));
    let logits = dense(h, 3);
    let probability = softmax(logits);
    print(h);
    loss cross_entropy(logits, label);
    metric accuracy(logits, label);
}
train Net { data = synthetic(); }
)";

// The module of the model after KeepOutputs, and what was reported.
struct Kept {
  explicit Kept(const std::vector<std::string>& names) {
    const FileId file = sources.Add("net.model", kModel);
    const auto parsed = dsl::Parse(file, sources, diagnostics);
    module = *frontend::Analyze(*parsed, sources, {.default_devices = 2, .outputs = names}, diagnostics);
    is_kept = KeepOutputs(names, module, diagnostics);
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const ir::Op& op : module.graph.ops) names.push_back(op.name);
    return names;
  }
  std::string Text() const { return RenderText(diagnostics, sources); }

  SourceSet sources;
  Diagnostics diagnostics;
  frontend::Module module;
  bool is_kept = false;
};

TEST(KeepOutputs, LeavesWhatTheyNeed) {
  const Kept kept({"probability", "h"});
  ASSERT_TRUE(kept.is_kept);
  EXPECT_THAT(ir::VerifyGraph(kept.module.graph), ElementsAre());
  EXPECT_THAT(kept.Names(), ElementsAre("x", "h.weight", "h.bias", "h.matmul", "h.bias_add", "h.relu", "logits.weight",
                                        "logits.bias", "logits.matmul", "logits.bias_add", "probability.softmax"));
  EXPECT_FALSE(kept.module.graph.loss.has_value());
  EXPECT_TRUE(kept.module.graph.metrics.empty());
  ASSERT_EQ(kept.module.graph.looks.size(), 2u);
  EXPECT_EQ(kept.module.graph.op(kept.module.graph.looks[0].value).name, "probability.softmax");
  EXPECT_EQ(kept.module.graph.looks[1].kind, ir::LookKind::kOutput);
  EXPECT_EQ(kept.module.graph.looks[1].name, "h");
}

TEST(KeepOutputs, ANameOfALetIsItsLastOp) {
  const Kept kept({"logits"});
  ASSERT_TRUE(kept.is_kept);
  EXPECT_EQ(kept.module.graph.op(kept.module.graph.looks[0].value).name, "logits.bias_add");
}

TEST(KeepOutputs, RefusesWhatIsNotThere) {
  const Kept kept({"logit"});
  EXPECT_FALSE(kept.is_kept);
  EXPECT_THAT(kept.Text(), HasSubstr("E0610"));
  EXPECT_THAT(kept.Text(), HasSubstr("no value matches `--output logit`"));
}

TEST(KeepOutputs, RefusesWhatHasNoSamples) {
  const Kept kept({"loss.cross_entropy"});
  EXPECT_FALSE(kept.is_kept);
  EXPECT_THAT(kept.Text(), HasSubstr("E0612"));
}

}  // namespace
}  // namespace cleave::tools
