// Attributes and `pin` statements.
#include <gtest/gtest.h>

#include "frontend/evaluate/pins/testing.h"
#include "frontend/frontend.h"
#include "frontend/testing.h"

namespace cleave::frontend {
namespace {

// The only pin of the model, and the name of the op it is on.
std::pair<std::string, ir::Pin> OnlyPin(const Analyzed& analyzed) {
  EXPECT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  if (!analyzed.module || analyzed.module->pins.pins.size() != 1) {
    ADD_FAILURE() << "not one pin";
    return {};
  }
  const ir::Pin& pin = analyzed.module->pins.pins[0];
  return {analyzed.module->graph.op(pin.op).name, pin};
}

TEST(PinsTest, ShardOnALet) {
  const auto [op, pin] =
      OnlyPin(AnalyzeBody("param w: f32[4, 6] = zeros(); #[shard((4, 2), (1, 2))] let y = matmul(x, w, transpose_b = "
                          "true); loss reduce_mean(y);"));
  EXPECT_EQ(op, "y.matmul");
  const auto& shard = std::get<ir::ShardPin>(pin.demand);
  ASSERT_EQ(shard.in.size(), 2u);
  EXPECT_EQ(NumbersOf(shard.in[0]), (std::vector<int64_t>{4, 2}));
  EXPECT_EQ(NumbersOf(shard.in[1]), (std::vector<int64_t>{1, 2}));
  EXPECT_FALSE(shard.out.has_value());
}

TEST(PinsTest, AutoAndOut) {
  const auto [op, pin] =
      OnlyPin(AnalyzeBody("param w: f32[6, 4] = zeros(); #[shard(in = ((8, 1), auto), out = (8, 1))] let y = matmul(x, "
                          "w); loss reduce_mean(y);"));
  const auto& shard = std::get<ir::ShardPin>(pin.demand);
  ASSERT_EQ(shard.in.size(), 2u);
  EXPECT_FALSE(shard.in[1].has_value());
  EXPECT_EQ(NumbersOf(shard.out), (std::vector<int64_t>{8, 1}));
}

TEST(PinsTest, AnAttributeBelongsToTheOutermostCall) {
  EXPECT_EQ(OnlyPin(AnalyzeBody("#[shard((2, 1))] let y = relu(dense(x, 4)); loss reduce_mean(y);")).first, "y.relu");
  EXPECT_EQ(OnlyPin(AnalyzeBody("let y = relu(#[shard((2, 1))] tanh(x)); loss reduce_mean(y);")).first, "y.tanh");
  EXPECT_EQ(OnlyPin(AnalyzeBody("#[layout(_, \"m0\")] let y = dense(x, 4); loss reduce_mean(y);")).first, "y.bias_add");
  EXPECT_EQ(OnlyPin(AnalyzeBody("#[shard((2, 1), (2, 1))] let y = x + tanh(x); loss reduce_mean(y);")).first, "y.add");
}

TEST(PinsTest, NumbersMayUseTheNamesAround) {
  const auto [op, pin] =
      OnlyPin(AnalyzeBody("let parts = 2; #[shard((parts * 2, 1))] let y = relu(x); loss reduce_mean(y);"));
  EXPECT_EQ(NumbersOf(std::get<ir::ShardPin>(pin.demand).in[0]), (std::vector<int64_t>{4, 1}));
}

TEST(PinsTest, PinsByName) {
  const auto [op, pin] = OnlyPin(AnalyzeBody("let y = dense(x, 4); loss reduce_mean(y);",
                                             "parallel { pin \"y.weight\" = layout((\"dp\", \"tp\"), _); }"));
  EXPECT_EQ(op, "y.weight");
  const auto& layout = std::get<ir::LayoutPin>(pin.demand);
  ASSERT_EQ(layout.dimensions.size(), 2u);
  ASSERT_EQ(layout.dimensions[0].size(), 2u);
  EXPECT_EQ(layout.dimensions[0][1].value, "tp");
  EXPECT_TRUE(layout.dimensions[1].empty());
}

TEST(PinsTest, ReplicateAndPriorityReachEveryOpOfACall) {
  const Analyzed analyzed = AnalyzeBody("#[replicate] #[priority(3)] let y = dense(x, 4); loss reduce_mean(y);");
  ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  EXPECT_EQ(analyzed.module->pins.pins.size(), 2u);
  ASSERT_EQ(analyzed.module->pins.priorities.size(), 2u);
  EXPECT_EQ(analyzed.module->pins.priorities[0].value, 3);
}

TEST(PinsTest, OfAParameter) {
  const std::string rest = " param w: f32[6, 4] = zeros(); loss reduce_mean(matmul(x, w));";
  const auto [op, layout] = OnlyPin(AnalyzeBody("#[layout(\"tp\", _)]" + rest));
  EXPECT_EQ(op, "w");
  EXPECT_EQ(std::get<ir::LayoutPin>(layout.demand).dimensions[0][0].value, "tp");
  const auto [also, slices] = OnlyPin(AnalyzeBody("#[shard((2, 1))]" + rest));
  EXPECT_EQ(also, "w");
  EXPECT_TRUE(std::get<ir::ShardPin>(slices.demand).in.empty());
  EXPECT_EQ(NumbersOf(std::get<ir::ShardPin>(slices.demand).out), (std::vector<int64_t>{2, 1}));
  const auto [third, whole] = OnlyPin(AnalyzeBody("#[replicate]" + rest));
  EXPECT_TRUE(std::holds_alternative<ir::ReplicatePin>(whole.demand));
  const auto [fourth, by_name] = OnlyPin(AnalyzeBody(rest, "parallel { pin \"w\" = shard((2, 1)); }"));
  EXPECT_EQ(NumbersOf(std::get<ir::ShardPin>(by_name.demand).out), (std::vector<int64_t>{2, 1}));
}

TEST(PinsTest, LayoutsOfInputs) {
  const auto [op, pin] = OnlyPin(
      AnalyzeBody("loss reduce_mean(relu(x));", "parallel { dataset = { \"x\": layout((\"dp\", \"tp\"), _) }; }"));
  EXPECT_EQ(op, "x");
  EXPECT_EQ(std::get<ir::LayoutPin>(pin.demand).dimensions[0].size(), 2u);
  const auto [also, slices] =
      OnlyPin(AnalyzeBody("loss reduce_mean(relu(x));", "parallel { dataset = { \"x\": shard((4, 1)) }; }"));
  EXPECT_EQ(NumbersOf(std::get<ir::ShardPin>(slices.demand).out), (std::vector<int64_t>{4, 1}));
  EXPECT_TRUE(std::holds_alternative<ir::ReplicatePin>(
      OnlyPin(AnalyzeBody("loss reduce_mean(relu(x));", "parallel { dataset = { \"x\": replicate }; }"))
          .second.demand));
  const Analyzed named =
      AnalyzeBody("loss reduce_mean(relu(x));", "parallel { dataset = { \"x\": layout(\"dp\", _) }; }");
  EXPECT_FALSE(named.module->pins.settings.dataset_given);
}

TEST(PinsTest, AttributesOfACallWithSeveralResults) {
  const std::string pair = "fn pair(x: f32[n, k]) -> (f32[n, k], f32[n, k]) { return (relu(x), tanh(x)); }";
  const Analyzed both = AnalyzeBody("#[replicate] #[priority(3)] let (y, z) = pair(x); loss reduce_mean(y + z);", pair);
  ASSERT_TRUE(both.module.has_value()) << both.messages;
  std::vector<std::string> names;
  for (const ir::Pin& pin : both.module->pins.pins) names.push_back(both.module->graph.op(pin.op).name);
  EXPECT_EQ(names, (std::vector<std::string>{"y.relu", "z.tanh"}));
  EXPECT_EQ(both.module->pins.priorities.size(), 2u);
  EXPECT_EQ(OnlyPin(AnalyzeBody("let (y, z) = pair(x); loss reduce_mean(y + z);",
                                pair + "parallel { pin \"z.tanh\" = shard((2, 1)); }"))
                .first,
            "z.tanh");
  EXPECT_EQ(OnlyPin(AnalyzeBody("let (y, z) = (#[shard((2, 1))] relu(x), tanh(x)); loss reduce_mean(y + z);")).first,
            "y.relu");
}

TEST(PinsTest, PinnedOpsStay) {
  const Analyzed analyzed =
      AnalyzeBody("let _z = tanh(x); loss reduce_mean(x);", "parallel { pin \"_z.tanh\" = shard((2, 1)); }");
  EXPECT_EQ(OnlyPin(analyzed).first, "_z.tanh");
}

TEST(PinsTest, Mistakes) {
  struct Mistake {
    const char* body;
    const char* rest;
    const char* code;
  };
  for (const Mistake& c : {
           Mistake{"#[shard((2, 1), (1, 1))] let y = relu(x); loss reduce_mean(y);", "", "E0302"},
           Mistake{"#[shard((2))] let y = relu(x); loss reduce_mean(y);", "", "E0302"},
           Mistake{"#[shard((2, 1), out = (1))] let y = relu(x); loss reduce_mean(y);", "", "E0302"},
           Mistake{"#[layout(_)] let y = relu(x); loss reduce_mean(y);", "", "E0302"},
           Mistake{"#[layout(\"a\", \"a\")] let y = relu(x); loss reduce_mean(y);", "", "E0308"},
           Mistake{"#[shard((0, 1))] let y = relu(x); loss reduce_mean(y);", "", "E0303"},
           Mistake{"#[shard(2)] let y = relu(x); loss reduce_mean(y);", "", "E0303"},
           Mistake{"#[shard] let y = relu(x); loss reduce_mean(y);", "", "E0303"},
           Mistake{"#[sharp((1, 1))] let y = relu(x); loss reduce_mean(y);", "", "E0303"},
           Mistake{"#[replicate(1)] let y = relu(x); loss reduce_mean(y);", "", "E0303"},
           Mistake{"#[shard((1, 1))] let y = dense(x, 4); loss reduce_mean(y);", "", "E0305"},
           Mistake{"#[replicate] let y = x; loss reduce_mean(y);", "", "E0305"},
           Mistake{"#[replicate] let (y, z) = (relu(x), x); loss reduce_mean(y + z);", "", "E0305"},
           Mistake{"#[shard((2, 1))] let (y, z) = split(x, 2, axis = 0); loss reduce_mean(y + z);", "", "E0305"},
           Mistake{"#[layout(\"a\", _)] let (y, z) = split(x, 2, axis = 0); loss reduce_mean(y + z);", "", "E0305"},
           Mistake{"#[replicate] let n = 3; let y = dense(x, n); loss reduce_mean(y);", "", "E0305"},
           Mistake{"#[shard((1, 1), (1, 1))] param w: f32[6, 6] = zeros(); loss reduce_mean(matmul(x, w));", "",
                   "E0302"},
           Mistake{"#[shard((1))] param w: f32[6, 6] = zeros(); loss reduce_mean(matmul(x, w));", "", "E0302"},
           Mistake{"#[region(out = data_parallel)] param w: f32[6, 6] = zeros(); loss reduce_mean(matmul(x, w));", "",
                   "E0305"},
           Mistake{"#[local] param w: f32[6, 6] = zeros(); loss reduce_mean(matmul(x, w));", "", "E0707"},
           Mistake{"let y = relu(x); loss reduce_mean(y);", "parallel { pin \"y.rely\" = replicate; }", "E0301"},
           Mistake{"", "parallel { dataset = { \"y\": layout(\"dp\", _) }; }", "E0301"},
           Mistake{"", "parallel { dataset = { \"x\": layout(\"dp\") }; }", "E0302"},
           Mistake{"", "parallel { dataset = { \"x\": shard((4, 1), (4, 1)) }; }", "E0302"},
           Mistake{"", "parallel { dataset = { \"x\": data_parallel }; }", "E0508"},
           Mistake{"", "parallel { dataset = { \"x\": replicate, \"x\": replicate }; }", "E0202"},
           Mistake{"let y = relu(x); loss reduce_mean(y);", "parallel { pin \"y\" = replicate; }", "E0301"},
           Mistake{"#[shard((2, 1))] let y = relu(x); loss reduce_mean(y);", "parallel { pin \"y.relu\" = replicate; }",
                   "E0307"},
       }) {
    const Analyzed analyzed = AnalyzeBody(c.body, c.rest);
    EXPECT_FALSE(analyzed.module.has_value()) << c.body;
    EXPECT_NE(analyzed.messages.find(c.code), std::string::npos) << c.body << " " << c.rest << "\n"
                                                                 << analyzed.messages;
  }
}

}  // namespace
}  // namespace cleave::frontend
