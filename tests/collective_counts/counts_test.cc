// Tests the numbers of collectives that known plans need. The plans are given by pins; for data parallel rows the
// search of that name is used. Gradient reductions that are merged count once, the loss is not counted.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "ir/program/redistribute/redistribute.h"
#include "tests/collective_counts/programs.h"

namespace cleave::tests {
namespace {

constexpr char kFour[] = "parallel { devices = 4; cost = bytes; gradient_weight = 1.0; }";
constexpr char kPropagate[] = "parallel { devices = 4; gradient_weight = 1.0; search = propagate; }";
constexpr char kDataParallel[] = "parallel { devices = 4; gradient_weight = 1.0; search = data_parallel; }";

// Dense layers with relu between; `pins` by layer, repeated when there are fewer. The loss has the layout `ends`:
// without a pin the search lets it use a cut input, and the last all_reduce is a reduce_scatter.
std::string Layers(int layers, int batch, int width, const std::vector<std::string>& pins,
                   const std::string& ends = "") {
  std::string text =
      absl::Substitute("model Layers() { input x: f32[$0, $1]; input target: f32[$0, $1];\n", batch, width);
  std::string input = "x";
  for (int i = 0; i < layers; ++i) {
    const std::string pin = pins.empty() ? "" : pins[static_cast<size_t>(i) % pins.size()];
    absl::StrAppend(&text, absl::Substitute("param w$0: f32[$1, $1] = he_uniform(); param b$0: f32[$1] = zeros();\n"
                                            "$2 let p$0 = matmul($3, w$0, transpose_b = true);\n"
                                            "let y$0 = bias_add(p$0, b$0);\n",
                                            i, width, pin, input));
    input = absl::StrCat(i + 1 < layers ? "relu(y" : "y", i, i + 1 < layers ? ")" : "");
  }
  return absl::StrCat(text, ends, " let error = mse(", input, ", target);\nloss error; }\n");
}

// An encoder of post-norm transformer layers on data. The places of the pins: qkv and fc1 (COLUMN), out and fc2 (ROW),
// the products of attention (HEADS), the loss (ENDS).
std::string Encoder(int layers, int batch, int seq, int width, const std::string& column, const std::string& row,
                    const std::string& heads, const std::string& ends) {
  const std::string text = absl::Substitute(
      R"(
fn encoder(x: f32[b, s, w], wide: int, hidden: int, heads: int) -> f32[b, s, w] {
    param qkv_weight: f32[wide, w] = he_uniform();
    param qkv_bias: f32[wide] = zeros();
    COLUMN let qkv = matmul(x, qkv_weight, transpose_b = true);
    let parts = reshape(bias_add(qkv, qkv_bias), (b, s, heads, 3, w / heads));
    let query = transpose(parts[.., .., .., 0], (0, 2, 1, 3));
    let key = transpose(parts[.., .., .., 1], (0, 2, 1, 3));
    let value = transpose(parts[.., .., .., 2], (0, 2, 1, 3));
    HEADS let scores = matmul(query, key, transpose_b = true);
    let weights = softmax(scores * 0.25);
    HEADS let mixed = matmul(weights, value);
    let joined = reshape(transpose(mixed, (0, 2, 1, 3)), (b, s, w));
    param out_weight: f32[w, w] = he_uniform();
    param out_bias: f32[w] = zeros();
    ROW let out = matmul(joined, out_weight, transpose_b = true);
    let middle = layer_norm(x + bias_add(out, out_bias));
    param up_weight: f32[hidden, w] = he_uniform();
    param up_bias: f32[hidden] = zeros();
    COLUMN let up = matmul(middle, up_weight, transpose_b = true);
    let active = gelu(bias_add(up, up_bias));
    param down_weight: f32[w, hidden] = he_uniform();
    param down_bias: f32[w] = zeros();
    ROW let down = matmul(active, down_weight, transpose_b = true);
    let end = layer_norm(middle + bias_add(down, down_bias));
    return end;
}
model Encoder() {
    input x: f32[$0, $1, $2];
    input target: f32[$0, $1, $2];
    let mut h = x;
    for i in 0..$3 { h = encoder(h, 3 * $2, 4 * $2, 8); }
    ENDS let error = mse(h, target);
    loss error;
}
)",
      batch, seq, width, layers);
  return absl::StrReplaceAll(text, {{"COLUMN", column}, {"ROW", row}, {"HEADS", heads}, {"ENDS", ends}});
}

struct ExpectedCounts {
  std::string name;
  std::string model;
  std::string parallel;
  std::string forward;
  std::string backward;
  std::string update;
  std::string all;
};

const char kColumn[] = "#[shard((1, 1), (4, 1))]";
const char kRow[] = "#[shard(in = ((1, 4), (1, 4)), out = (1, 1))]";
const char kWhole[] = "#[shard((1, 1), (1, 1))]";
const char kRowsOfTwo[] = "#[shard((2, 1), (2, 1))]";
const char kColumnOfTwo[] = "#[shard((2, 1), (2, 1))]";
const char kRowOfTwo[] = "#[shard(in = ((2, 2), (1, 2)), out = (2, 1))]";

std::vector<ExpectedCounts> MlpCases() {
  const std::string shard_optimizer = "search = data_parallel; devices = 4; gradient_weight = 1.0; ";
  return {
      {"1: data parallel", Layers(6, 256, 32, {}), kDataParallel, "", "", "all_reduce 1", "all_reduce 1"},
      {"1 by pins", Layers(6, 256, 32, {"#[shard((4, 1), (1, 1))]"}), kFour, "", "", "all_reduce 1", "all_reduce 1"},
      {"2: tensor parallel", Layers(6, 32, 256, {kColumn, kRow}, kWhole), kFour, "all_reduce 3", "all_reduce 2", "",
       "all_reduce 5"},
      {"3: both", Layers(6, 256, 32, {kColumnOfTwo, kRowOfTwo}, kRowsOfTwo), kFour, "all_reduce 3", "all_reduce 2",
       "all_reduce 1", "all_reduce 6"},
      {"products of the update", Layers(2, 256, 32, {}) + "train Layers { data = synthetic(); optimizer = muon(); }\n",
       "parallel { " + shard_optimizer + "zero = 1; cost = bytes; }", "", "",
       "all_reduce 1, all_gather 3, reduce_scatter 1", "all_reduce 1, all_gather 3, reduce_scatter 1"},
      {"4: sharded optimizer, level 1", Layers(6, 256, 32, {}), "parallel { " + shard_optimizer + "zero = 1; }", "", "",
       "all_gather 1, reduce_scatter 1", "all_gather 1, reduce_scatter 1"},
      {"4: level 2", Layers(6, 256, 32, {}), "parallel { " + shard_optimizer + "zero = 2; }", "", "reduce_scatter 1",
       "all_gather 1", "all_gather 1, reduce_scatter 1"},
      {"4: level 3", Layers(6, 256, 32, {}), "parallel { " + shard_optimizer + "zero = 3; }", "all_gather 1",
       "all_gather 1, reduce_scatter 1", "", "all_gather 2, reduce_scatter 1"},
  };
}

std::vector<ExpectedCounts> EncoderCases() {
  const std::string column = "#[shard((1, 1, 1), (4, 1))]";
  const std::string row = "#[shard(in = ((1, 1, 4), (1, 4)), out = (1, 1, 1))]";
  const std::string heads = "#[shard((1, 4, 1, 1), (1, 4, 1, 1))]";
  const std::string whole = "#[shard((1, 1, 1), (1, 1, 1))]";
  const std::string ends_of_two = "#[shard((2, 1, 1), (2, 1, 1))]";
  const std::string column_of_two = "#[shard((2, 1, 1), (2, 1))]";
  const std::string row_of_two = "#[shard(in = ((2, 1, 2), (1, 2)), out = (2, 1, 1))]";
  const std::string heads_of_two = "#[shard((2, 2, 1, 1), (2, 2, 1, 1))]";
  return {
      {"5: Megatron", Encoder(2, 8, 8, 128, column, row, heads, whole), kFour, "all_reduce 4", "all_reduce 3", "",
       "all_reduce 7"},
      {"6: Megatron and data parallel", Encoder(2, 8, 8, 128, column_of_two, row_of_two, heads_of_two, ends_of_two),
       kFour, "all_reduce 4", "all_reduce 3", "all_reduce 1", "all_reduce 8"},
      {"7: data parallel", Encoder(2, 64, 64, 32, "", "", "", ""), kDataParallel, "", "", "all_reduce 1",
       "all_reduce 1"},
  };
}

std::vector<ExpectedCounts> LayerCases() {
  const auto pair = [](const std::string& x, const std::string& out, const std::string& ends) {
    return absl::StrCat(
        "model Pair() { ", x, " input x: f32[8, 10]; input target: f32[8, 10];\n",
        "param w1: f32[16, 10] = he_uniform(); param w2: f32[10, 16] = he_uniform();\n",
        "#[shard((1, 1), (4, 1))] let h = matmul(x, w1, transpose_b = true);\n#[shard(in = ((1, 4), (1, 4)), out = ",
        out, ")] let y = matmul(relu(h), w2, transpose_b = true);\n", ends,
        " let error = mse(y, target);\nloss error; }\n");
  };
  const auto layer = [](const std::string& x, const std::string& pin, const std::string& ends) {
    return absl::StrCat("model Layer() { ", x, " param x: f32[8, 12] = he_uniform(); input target: f32[8, 8];\n",
                        "param w: f32[8, 12] = he_uniform();\n", pin, " let y = matmul(x, w, transpose_b = true);\n",
                        ends, " let error = mse(y, target);\nloss error; }\n");
  };
  const std::string mesh = "parallel { mesh = (tp = 4); gradient_weight = 1.0; }";
  const std::string cut = "#[layout(\"tp\", _)]";
  const std::string whole = "#[layout(_, _)]";
  const std::string rows = "#[shard((4, 1), (4, 1))]";
  const std::string columns = "#[shard((1, 4), (1, 4))]";
  return {
      {"8: column, row", pair("", "(1, 1)", kWhole), mesh, "all_reduce 1", "", "", "all_reduce 1"},
      {"8: cut ends", pair(cut, "(4, 1)", rows), mesh, "all_gather 1, reduce_scatter 1", "all_gather 1", "",
       "all_gather 2, reduce_scatter 1"},
      {"9: column", layer(whole, kColumn, columns), mesh, "", "", "all_reduce 1", "all_reduce 1"},
      {"9: cut input", layer(cut, kColumn, columns), mesh, "all_gather 1", "", "reduce_scatter 1",
       "all_gather 1, reduce_scatter 1"},
      {"10: row", layer("", kRow, kWhole), mesh, "all_reduce 1", "", "", "all_reduce 1"},
      {"10: cut output", layer("", "#[shard(in = ((1, 4), (1, 4)), out = (4, 1))]", rows), mesh, "reduce_scatter 1",
       "all_gather 1", "", "all_gather 1, reduce_scatter 1"},
  };
}

void ExpectCounts(const std::vector<ExpectedCounts>& cases) {
  for (const ExpectedCounts& one : cases) {
    SCOPED_TRACE(one.name);
    const Compiled compiled = CompileModel(absl::StrCat(one.model, one.parallel), 4);
    EXPECT_EQ(CollectivesOf(compiled, {ir::Phase::kForward}), one.forward);
    EXPECT_EQ(CollectivesOf(compiled, {ir::Phase::kBackward}), one.backward);
    EXPECT_EQ(CollectivesOf(compiled, {ir::Phase::kUpdate}), one.update);
    EXPECT_EQ(CollectivesOf(compiled), one.all);
  }
}

// The same plans with fewer pins: the search propagates them.
std::vector<ExpectedCounts> PropagatedCases() {
  const std::string column = "#[shard((1, 1, 1), (4, 1))]";
  const std::string row = "#[shard((1, 1, 4), (1, 4))]";
  const std::string column_of_two = "#[shard((2, 1, 1), (2, 1))]";
  const std::string row_of_two = "#[shard((2, 1, 2), (1, 2))]";
  return {
      {"1: one layer's rows", Layers(6, 256, 32, {"#[shard((4, 1), (1, 1))]", "", "", "", "", ""}), kPropagate, "", "",
       "all_reduce 1", "all_reduce 1"},
      {"2: columns, rows follow", Layers(6, 32, 256, {kColumn, ""}), kPropagate, "all_reduce 3", "all_reduce 2", "",
       "all_reduce 5"},
      {"5: Megatron", Encoder(2, 8, 8, 128, column, row, "", ""), kPropagate, "all_reduce 4", "all_reduce 3", "",
       "all_reduce 7"},
      {"5: columns alone", Encoder(2, 8, 8, 128, column, "", "", ""), kPropagate, "all_reduce 4", "all_reduce 3", "",
       "all_reduce 7"},
      {"5: one layer's columns", Encoder(2, 8, 8, 128, "", "", "", ""),
       "parallel { devices = 4; gradient_weight = 1.0; search = propagate; pin \"h.0.qkv.matmul\" = shard((1, 1, 1), "
       "(4, 1)); "
       "pin \"h.0.up.matmul\" = shard((1, 1, 1), (4, 1)); }",
       "all_reduce 4", "all_reduce 3", "", "all_reduce 7"},
      {"6: Megatron and data parallel", Encoder(2, 8, 8, 128, column_of_two, row_of_two, "", ""), kPropagate,
       "all_reduce 4", "all_reduce 3", "all_reduce 1", "all_reduce 8"},
  };
}

TEST(CountsTest, Propagated) { ExpectCounts(PropagatedCases()); }
TEST(CountsTest, Mlp) { ExpectCounts(MlpCases()); }
TEST(CountsTest, Encoder) { ExpectCounts(EncoderCases()); }
TEST(CountsTest, Layers) { ExpectCounts(LayerCases()); }

// For any depth: L - 1 for column and row in turn, 4L - 1 for an encoder on data.
TEST(CountsTest, ByDepth) {
  for (int layers : {1, 2, 3, 5}) {
    const Compiled mlp =
        CompileModel(Layers(layers, 32, 256, {kColumn, kRow}, layers % 2 == 0 ? kWhole : "") + kFour, 4);
    EXPECT_EQ(CollectivesOf(mlp), layers == 1 ? "" : absl::StrCat("all_reduce ", layers - 1)) << layers;
  }
  const std::string three =
      Encoder(3, 8, 8, 128, "#[shard((1, 1, 1), (4, 1))]", "#[shard(in = ((1, 1, 4), (1, 4)), out = (1, 1, 1))]",
              "#[shard((1, 4, 1, 1), (1, 4, 1, 1))]", "#[shard((1, 1, 1), (1, 1, 1))]");
  EXPECT_EQ(CollectivesOf(CompileModel(three + kFour, 4)), "all_reduce 11");
}

// Row 11: a tensor of 12, 13 or 14 over 4 ranks.
TEST(CountsTest, RedistributionOfOneTensor) {
  const ir::Mesh mesh = *ir::Mesh::Create({{.name = "m0", .size = 4}});
  const ir::Layout cut{.dimensions = {{ir::AxisId(0)}}, .partial = {}};
  const ir::Layout whole = ir::Layout::Replicated(1);
  const ir::Layout partial{.dimensions = {{}}, .partial = {{.axis = ir::AxisId(0)}}};
  const auto moves = [&](int64_t size, const ir::Layout& from, const ir::Layout& to) {
    const auto found = ir::PlanRedistribution(mesh, {.dtype = ir::DType::kF32, .shape = {size}}, from, to);
    std::string text;
    for (const ir::Move& move : found->moves) {
      absl::StrAppend(&text, move.collective.has_value() ? ir::CollectiveKindName(*move.collective) : "slice");
    }
    return text;
  };
  for (int64_t size : {12, 13, 14}) {
    EXPECT_EQ(moves(size, cut, whole), "all_gather");
    EXPECT_EQ(moves(size, whole, cut), "slice");
    EXPECT_EQ(moves(size, whole, whole), "");
    EXPECT_EQ(moves(size, partial, whole), "all_reduce");
  }
}

// Row 12: rows feeding columns.
TEST(CountsTest, RowsFeedingColumns) {
  const std::string text =
      "model Chain() { input x: f32[8, 8]; param w1: f32[8, 8] = he_uniform(); param w2: f32[8, 8] = he_uniform();\n"
      "#[shard((4, 1), (1, 1))] let a = matmul(x, w1);\n#[shard((1, 1), (1, 4))] let b = matmul(a, w2);\n"
      "loss reduce_mean(b); }\n";
  EXPECT_EQ(CollectivesOf(CompileModel(text + kFour, 4), {ir::Phase::kForward}), "all_gather 1");
}

// A bias that is added to the channels of images, and the scale of a norm, have another shape where they are used.
// Their gradients are reduced together with all others nevertheless.
TEST(CountsTest, GradientsThatAreReshaped) {
  const std::string text =
      "fn twice(x: f32[b, c, h, w], channels: int) -> f32[b, channels, h, w] {\n"
      "    let first = relu(group_norm(conv2d(x, channels, 3, padding = 1), 2));\n"
      "    return relu(group_norm(conv2d(first, channels, 3, padding = 1), 2));\n"
      "}\n"
      "model UNet() { input x: f32[8, 1, 16, 16]; input target: f32[8, 1, 16, 16];\n"
      "let down = twice(x, 4); let bottom = twice(max_pool(down, 2, stride = 2), 8);\n"
      "let wide = reshape(conv2d(bottom, 16, 1), (8, 4, 2, 2, 8, 8));\n"
      "let large = reshape(transpose(wide, (0, 1, 4, 2, 5, 3)), (8, 4, 16, 16));\n"
      "loss mse(conv2d(twice(concat((down, large), axis = 1), 4), 1, 1), target); }\n";
  EXPECT_EQ(CollectivesOf(CompileModel(text + kDataParallel, 4)), "all_reduce 1");
}

// With small buckets gradients are reduced as soon as they are made, the last ones in the update.
TEST(CountsTest, BucketsOfLimitedSize) {
  const std::string text = Layers(6, 256, 32, {}) + kDataParallel;
  const auto of_size = [](int64_t bytes) {
    return ir::PartitionOptions{.buckets = ir::BucketSizes::All(Bytes(bytes))};
  };
  const int64_t layer = 4 * (32 * 32 + 32);
  const Compiled pairs = CompileModel(text, 4, of_size(2 * layer));
  EXPECT_EQ(CollectivesOf(pairs, {ir::Phase::kBackward}), "all_reduce 3");
  EXPECT_EQ(CollectivesOf(pairs, {ir::Phase::kUpdate}), "");
  const Compiled fours = CompileModel(text, 4, of_size(4 * layer));
  EXPECT_EQ(CollectivesOf(fours, {ir::Phase::kBackward}), "all_reduce 1");
  EXPECT_EQ(CollectivesOf(fours, {ir::Phase::kUpdate}), "all_reduce 1");
  EXPECT_EQ(CollectivesOf(CompileModel(text, 4, of_size(0))), "all_reduce 1");
  EXPECT_EQ(CollectivesOf(CompileModel(text, 4, of_size(1))), "all_reduce 12");
  EXPECT_EQ(CollectivesOf(CompileModel(text, 4, {.merge_collectives = false})), "all_reduce 12");
}

}  // namespace
}  // namespace cleave::tests
