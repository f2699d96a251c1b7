// Tests manual models: what differs between ranks, messages between ranks, and what is refused.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/frontend.h"
#include "frontend/testing.h"
#include "ir/graph/graph.h"
#include "ir/graph/ops/ops.h"

namespace cleave::frontend {
namespace {

constexpr char kParallel[] = "\nparallel { devices = 4; }\n";

// `body` after the inputs, on line 2, and `rest`; a loss is added unless there is one.
Analyzed AnalyzeManual(const std::string& body, const std::string& rest = kParallel) {
  std::string text =
      absl::StrCat("#[manual] model Test(batch: int = 8) { input x: f32[batch, 6]; input t: i32[batch];\n", body, "\n");
  if (body.find("loss ") == std::string::npos) absl::StrAppend(&text, "loss reduce_mean(x);");
  return AnalyzeText(absl::StrCat(text, " let _t = t; let _x = x; }", rest));
}

// The ops that communicate or depend on the rank, one "name = kind(inputs) attributes" per line; else the messages.
std::string RankOps(const Analyzed& analyzed) {
  if (!analyzed.module) return analyzed.messages;
  const ir::Graph& graph = analyzed.module->graph;
  EXPECT_EQ(ir::VerifyGraph(graph), std::vector<std::string>());
  std::string text;
  for (const ir::Op& op : graph.ops) {
    if (ir::DefinitionOf(op).rank_use == ir::RankUse::kNone) continue;
    absl::StrAppend(&text, op.name, ": ", op.type.ToString());
    for (const auto& [name, value] : op.attributes.values()) {
      absl::StrAppend(&text, " ", name, "=");
      if (const auto* word = std::get_if<std::string>(&value)) absl::StrAppend(&text, *word);
      if (const auto* number = std::get_if<int64_t>(&value)) absl::StrAppend(&text, *number);
      if (const auto* numbers = std::get_if<std::vector<int64_t>>(&value)) {
        absl::StrAppend(&text, "(", absl::StrJoin(*numbers, " "), ")");
      }
      if (const auto* numbers = std::get_if<std::vector<double>>(&value)) {
        absl::StrAppend(&text, "(", absl::StrJoin(*numbers, " "), ")");
      }
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

struct ManualBody {
  const char* body;
  const char* expected;
};

TEST(ManualTest, RanksAreThoseOfTheMesh) {
  const std::string body = "let y = x * world; print(y);";
  EXPECT_EQ(AnalyzeManual(body).module->graph.rank_axes, (std::vector<ir::RankAxis>{{"world", 4}}));
  EXPECT_EQ(AnalyzeManual(body, "").module->graph.rank_axes, (std::vector<ir::RankAxis>{{"world", 1}}));
  EXPECT_EQ(AnalyzeManual(body, "parallel { mesh = (dp = 2, tp = 3); }").module->graph.rank_axes,
            (std::vector<ir::RankAxis>{{"dp", 2}, {"tp", 3}}));
  EXPECT_FALSE(AnalyzeBody("").module->graph.is_manual());
}

TEST(ManualTest, SlicesAndNumbersByRank) {
  for (const ManualBody& c : {
           ManualBody{"let y = x[rank * 2 .. (rank + 1) * 2]; print(y);",
                      "y.rank_slice: f32[2, 6] axis=0 size=2 starts=(0 2 4 6)\n"},
           ManualBody{"let y = x[rank, 1..3]; print(y);", "y.rank_slice: f32[1, 2] axis=0 size=1 starts=(0 1 2 3)\n"},
           // The begin is the same on all ranks, so this is an ordinary slice.
           ManualBody{"let y = x[rank - rank .. 2 + 0 * rank]; print(y);", ""},
           ManualBody{"let y = x * rank; print(y);", "y.rank_value: f32[] values=(0 1 2 3)\n"},
           ManualBody{"let y = 1.5 / (rank + 1) - x; print(y);", "y.rank_value: f32[] values=(1.5 0.75 0.5 0.375)\n"},
           ManualBody{"let y = maximum(x, sqrt(rank)); print(y);",
                      "y.rank_value: f32[] values=(0 1 1.41421 1.73205)\n"},
           ManualBody{"let y = x * choose(rank == 0, 2, 1); print(y);", "y.rank_value: f32[] values=(2 1 1 1)\n"},
           ManualBody{"let y = x * -half(rank); print(y);", "y.rank_value: f32[] values=(0 0 -1 -1)\n"},
           ManualBody{"let mut k = 0; for i in 0..world { k = k + i * rank; } let y = x + k; print(y);",
                      "y.rank_value: f32[] values=(0 6 12 18)\n"},
       }) {
    EXPECT_EQ(RankOps(AnalyzeManual(c.body, absl::StrCat(kParallel, "fn half(n: int) -> int { return n / 2; }"))),
              absl::StrCat(c.expected))
        << c.body;
  }
}

TEST(ManualTest, Collectives) {
  for (const ManualBody& c : {
           ManualBody{"let y = all_reduce(x * rank, max); print(y);",
                      "y.rank_value: f32[] values=(0 1 2 3)\n"
                      "y.all_reduce: f32[8, 6] group=dp tp reduction=max size=4\n"},
           ManualBody{"let y = all_gather(x, axis = -1, group = group(\"tp\")); print(y);",
                      "y.all_gather: f32[8, 12] axis=1 group=tp size=2\n"},
           ManualBody{"let y = reduce_scatter(x, group = group(\"tp\", \"dp\")); print(y);",
                      "y.reduce_scatter: f32[2, 6] axis=0 group=dp tp size=4\n"},
           ManualBody{"let y = broadcast(x, root = size(group(\"dp\")) - 1, group = group(\"dp\")); print(y);",
                      "y.broadcast: f32[8, 6] group=dp root=1 size=2\n"},
           ManualBody{"let y = all_to_all(x, split = 0, concat = 1, group = group(\"tp\")); print(y);",
                      "y.all_to_all: f32[4, 12] concat_axis=1 group=tp size=2 split_axis=0\n"},
           ManualBody{"let y = x * index(group(\"dp\")) + index(group(\"tp\")); print(y);",
                      "y.rank_value: f32[] values=(0 0 1 1)\ny.rank_value_1: f32[] values=(0 1 0 1)\n"},
       }) {
    EXPECT_EQ(RankOps(AnalyzeManual(c.body, "parallel { mesh = (dp = 2, tp = 2); }")), absl::StrCat(c.expected))
        << c.body;
  }
}

TEST(ManualTest, AMeanIsASumAndAScale) {
  const Analyzed analyzed = AnalyzeManual("let y = x * rank; loss all_reduce(reduce_mean(y), mean);");
  ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  const ir::Graph& graph = analyzed.module->graph;
  EXPECT_EQ(graph.op(*graph.loss).kind, ir::OpKind::kScale);
  EXPECT_EQ(graph.op(*graph.loss).attributes.Get(ir::attribute::kFactor), 0.25);
}

TEST(ManualTest, Messages) {
  for (const ManualBody& c : {
           ManualBody{"send(x, to = (rank + 1) % world); let y = recv(x, from = (rank + 3) % world); print(y);",
                      "y.send_recv: f32[48] primitive=send_recv receive_ranks=(3 0 1 2) receive_sizes=(48) "
                      "send_ranks=(1 2 3 0) send_sizes=(48)\n"},
           // No rank sends to any other: the result is zeros.
           ManualBody{"let y = recv((2, 3), from = -1); print(y);", ""},
           ManualBody{"send(x[0], to = choose(rank == 0, 1, -1), tag = 1);"
                      "send(x[1, ..2], to = choose(rank == 0, 2, -1));"
                      "let a = recv((2,), from = choose(rank == 2, 0, -1));"
                      "let b = recv((6,), from = choose(rank == 1, 0, -1), tag = 1); print(a); print(b);",
                      "a.send_recv: f32[2] primitive=send_recv receive_ranks=(-1 -1 0 -1) receive_sizes=(2) "
                      "send_ranks=(2 -1 -1 -1) send_sizes=(2)\n"
                      "b.send_recv: f32[6] primitive=send_recv receive_ranks=(-1 0 -1 -1) receive_sizes=(6) "
                      "send_ranks=(1 -1 -1 -1) send_sizes=(6)\n"},
           ManualBody{
               "let n = (rank + 1) % 4; let p = (rank + 3) % 4;"
               "let y = neighbor_exchange((x, x[0]), send = (n, p), receive = (p, n)); print(y[0]); print(y[1]);",
               "y.neighbor_exchange: f32[54] primitive=neighbor_exchange receive_ranks=(3 1 0 2 1 3 2 0) "
               "receive_sizes=(48 6) send_ranks=(1 3 2 0 3 1 0 2) send_sizes=(48 6)\n"},
       }) {
    EXPECT_EQ(RankOps(AnalyzeManual(c.body)), absl::StrCat(c.expected)) << c.body;
  }
}

TEST(ManualTest, HaloOfAGrid) {
  // Two ranks, one above the other, with borders of one row.
  const Analyzed analyzed = AnalyzeManual(
      "let image = reshape(x, (2, 1, 4, 6)); let up = choose(rank == 1, 0, -1); let down = choose(rank == 0, 1, -1);"
      "let around = (up, -1, -1, -1, down, -1, -1, -1);"
      "let y = neighbor_exchange_v2(image, send = around, receive = around, lengths = (1, 2, 0, 0)); print(y);",
      "parallel { devices = 2; }");
  EXPECT_EQ(RankOps(analyzed),
            "y.neighbor_exchange_v2: f32[36] primitive=neighbor_exchange_v2 receive_ranks=(1 -1 -1 0) "
            "receive_sizes=(12 24) send_ranks=(-1 1 0 -1) send_sizes=(12 24)\n");
  ASSERT_TRUE(analyzed.module.has_value());
  const ir::Graph& graph = analyzed.module->graph;
  // The values from above are those that the neighbour there sends down.
  EXPECT_EQ(graph.op(*graph.Find("y.concat_1")).type.ToString(), "f32[2, 1, 7, 6]");
}

TEST(ManualTest, LocalParameters) {
  const std::string body = "#[local] param w: f32[6] = zeros(); loss all_reduce(reduce_mean(x * w), mean);";
  const Analyzed analyzed = AnalyzeManual(body);
  ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  EXPECT_TRUE(analyzed.module->graph.op(*analyzed.module->graph.Find("w")).attributes.Get(ir::attribute::kLocal));
  EXPECT_NE(AnalyzeBody(body).messages.find("error[E0707]: `#[local]` outside a manual model"), std::string::npos);
}

TEST(ManualTest, MetricsLeaveOutPadding) {
  const Analyzed analyzed = AnalyzeManual(
      "let y = dense(x[rank * 2 .. (rank + 1) * 2], 3); let own = t[rank * 2 .. (rank + 1) * 2];"
      "loss all_reduce(cross_entropy(y, own), sum) / world; metric all_reduce(accuracy(y, own), sum) / world;");
  ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  EXPECT_EQ(analyzed.messages, "");
  const ir::Graph& graph = analyzed.module->graph;
  EXPECT_EQ(graph.metrics[0].name, "accuracy");
  EXPECT_EQ(graph.op(*graph.Find("metric.accuracy")).inputs.size(), 3u);
}

TEST(ManualTest, RefusesWhatWouldDifferBetweenRanks) {
  for (const ManualBody& c : {
           ManualBody{"for i in 0..rank { print(x); }", "error[E0701]: a loop whose passes differ between ranks"},
           ManualBody{"let y = choose(rank == 0, x, -x); print(y);", "error[E0701]: `choose` between tensors"},
           ManualBody{"let y = x[..rank + 1]; print(y);", "error[E0702]: a slice whose length differs between ranks"},
           ManualBody{"let y = reshape(x, (rank + 1, 6)); print(y);",
                      "error[E0702]: argument `shape` of `reshape` differs between ranks"},
           ManualBody{"param w: f32[rank + 1] = zeros(); print(w);",
                      "error[E0702]: a dimension that differs between ranks"},
           ManualBody{"let y = all_gather(x, axis = rank % 2); print(y);",
                      "error[E0702]: `axis` differs between ranks"},
           ManualBody{"let y = broadcast(x, root = rank); print(y);", "error[E0703]: `root` differs between ranks"},
           ManualBody{"let y = broadcast(x, root = 4); print(y);", "error[E0709]: member 4 of a group of 4 ranks"},
           ManualBody{"let y = x[rank * 3 .. (rank + 1) * 3]; print(y);", "note: on rank 2"},
           ManualBody{"let k = 6 / rank; let y = x * k; print(y);", "note: on rank 0"},
           ManualBody{"let y = x / rank; print(y);", "error[E0208]: division by zero"},
           ManualBody{"assert(rank < 3, \"rank {rank} of {world}\");", "error[E0212]: rank 3 of 4"},
           ManualBody{"let y = all_reduce(x, total); print(y);", "error[E0204]: unknown reduction"},
           ManualBody{"let y = all_reduce(x, sum, group = group(\"tp\")); print(y);",
                      "error[E0310]: unknown mesh axis `tp`"},
           ManualBody{"let y = send(x, to = 1); print(y);", "error[E0211]: `send` is a statement"},
           ManualBody{"send(x, to = rank + 1);", "error[E0709]: rank 4 of 4 ranks"},
           ManualBody{"send(x, to = -1); let y = recv((1,), from = choose(rank == 1, 2, -1)); print(y);",
                      "error[E0705]: rank 1 waits for a message of rank 2, which sends none"},
           ManualBody{"send(x, to = choose(rank == 0, 1, -1));",
                      "error[E0705]: rank 0 sends to rank 1, which never receives it"},
           ManualBody{
               "send(x, to = choose(rank == 0, 1, -1)); let y = recv((3,), from = choose(rank == 1, 0, -1)); print(y);",
               "error[E0704]: `recv` of f32[3] gets f32[8, 6]"},
           ManualBody{"let y = neighbor_exchange((x[0],), send = (choose(rank == 0, 1, -1),), "
                      "receive = (choose(rank == 1, 0, -1),), shapes = ((5,),)); print(y[0]);",
                      "error[E0704]: rank 0 sends 6 elements to rank 1, which receives 5"},
           ManualBody{"loss reduce_mean(x[rank]);", "error[E0706]: the loss differs between ranks"},
           ManualBody{"metric reduce_mean(x[rank]);", "error[E0706]: the metric differs between ranks"},
           ManualBody{"loss all_reduce(reduce_mean(x));",
                      "warning[W0701]: an all_reduce of a value that is already equal"},
       }) {
    const Analyzed analyzed = AnalyzeManual(c.body);
    EXPECT_NE(analyzed.messages.find(c.expected), std::string::npos) << c.body << "\n" << analyzed.messages;
  }
}

TEST(ManualTest, SamplesThatNoRankTakes) {
  const std::string body = "let n = batch / world; loss all_reduce(reduce_mean(x[rank * n .. (rank + 1) * n]), mean);";
  EXPECT_EQ(AnalyzeManual(body).messages, "");
  EXPECT_NE(AnalyzeManual(body, "parallel { devices = 3; }")
                .messages.find("warning[W0702]: no rank reads 2 of the 8 samples of `x`"),
            std::string::npos);
}

TEST(ManualTest, WordsOfManualModelsInOthers) {
  for (const char* body : {"let y = x * world;", "let y = x * rank;", "let y = all_reduce(x);", "send(x, to = 1);",
                           "let y = recv((1,), from = 0);", "let g = group(\"dp\");"}) {
    const Analyzed analyzed = AnalyzeBody(body);
    EXPECT_NE(analyzed.messages.find("error[E0707]: "), std::string::npos) << body << "\n" << analyzed.messages;
    EXPECT_NE(analyzed.messages.find("#[manual]"), std::string::npos) << body;
  }
  EXPECT_NE(AnalyzeText("#[manual] model Test(batch: int = world) { input x: f32[batch, 6]; loss reduce_mean(x); }")
                .messages.find("error[E0707]: `world` where the number of ranks is not known yet"),
            std::string::npos);
  // Words of manual models are names of functions elsewhere.
  EXPECT_EQ(AnalyzeBody("loss size(x);", "fn size(x: f32[a, b]) -> f32[] { return reduce_mean(x); }").messages, "");
}

}  // namespace
}  // namespace cleave::frontend
