// What the communicating ops of a manual model become.

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/differentiate/differentiate.h"
#include "ir/ops/builder.h"
#include "ir/ops/ops.h"
#include "ir/partition/partition.h"
#include "ir/plan/plan.h"

namespace cleave {
namespace {

using Values = std::map<std::string, AttributeValue>;

// On the ranks (dp = 2, tp = 4); the mesh divides the axis tp further.
class ManualPartitionTest : public testing::Test {
 protected:
  ManualPartitionTest() {
    builder_.mutable_graph().rank_axes = {{"dp", 2}, {"tp", 4}};
    x_ = builder_.Add("parameter", {}, {{"shape", Shape{4, 8}}}, "x");
  }

  static Mesh FineMesh() {
    const auto axis = [](const std::string& name) {
      return MeshAxis{.name = name, .size = 2, .link = "memory", .weight = 1};
    };
    return *Mesh::Create({axis("dp"), axis("tp.0"), axis("tp.1")});
  }

  static Program ProgramOf(const Graph& graph, const PartitionOptions& options = {}) {
    Plan plan{.mesh = FineMesh(), .ops = {}, .search = {}};
    for (const Op& op : graph.ops) {
      plan.ops.push_back(
          {.strategy = Strategy::Replicated(RuleOf(graph, op)), .output = std::nullopt, .reason = "", .choices = {}});
    }
    absl::StatusOr<Program> program = Partition(graph, plan, options);
    EXPECT_TRUE(program.ok()) << program.status();
    return *std::move(program);
  }

  // The program of `kind` on x, whose result is a metric.
  Program Of(const std::string& kind, Values attributes) {
    const OpId y = builder_.Add(kind, {x_}, std::move(attributes), "y");
    Graph graph = builder_.graph();
    graph.metrics = {{"sum", y}};
    return ProgramOf(graph);
  }

  // "y.view f32[16, 8] [tp.0 tp.1, -]", in the order of the steps.
  static std::vector<std::string> Steps(const Program& program) {
    std::vector<std::string> steps;
    for (const Step& step : program.steps) {
      const Value& value = program.value(Writes(step).front());
      steps.push_back(
          absl::StrCat(value.name, " ", value.type.ToString(), " ", LayoutText(value.layout, program.mesh)));
    }
    return steps;
  }

  static const Collective& CollectiveOf(const Program& program) {
    for (const Step& step : program.steps) {
      if (const auto* collective = std::get_if<Collective>(&step.action)) return *collective;
    }
    ADD_FAILURE() << "no collective";
    static const Collective kNone;
    return kNone;
  }

  static Values Group(const std::string& group, int64_t size, Values more = {}) {
    more["group"] = group;
    more["size"] = size;
    return more;
  }

  GraphBuilder builder_;
  OpId x_;
};

using Texts = std::vector<std::string>;

TEST_F(ManualPartitionTest, AnAllReduceOfPartsOfOneSum) {
  const Program program = Of("all_reduce", Group("tp", 4, {{"reduction", std::string("prod")}}));
  EXPECT_TRUE(program.is_manual);
  EXPECT_EQ(Steps(program), (Texts{"x f32[4, 8] [-, -]", "y.view f32[4, 8] [-, -] partial(tp.0: prod, tp.1: prod)",
                                   "y f32[4, 8] [-, -]"}));
  EXPECT_EQ(CollectiveOf(program).axes, (std::vector<AxisId>{AxisId(1), AxisId(2)}));
  EXPECT_EQ(CollectiveOf(program).reduction, Reduction::kProd);
  EXPECT_EQ(CollectiveOf(program).why, "written in the model");
}

TEST_F(ManualPartitionTest, AnAllGatherOfRowsThatTheRanksHoldTogether) {
  const Program program = Of("all_gather", Group("dp tp", 8, {{"axis", int64_t{0}}}));
  EXPECT_EQ(Steps(program),
            (Texts{"x f32[4, 8] [-, -]", "y.view f32[32, 8] [dp tp.0 tp.1, -]", "y f32[32, 8] [-, -]"}));
  EXPECT_EQ(CollectiveOf(program).transfers[0].from_dimension, 0);
}

TEST_F(ManualPartitionTest, AReduceScatterWhosePartIsALocalTensor) {
  const Program program = Of("reduce_scatter", Group("dp", 2, {{"axis", int64_t{1}}}));
  EXPECT_EQ(Steps(program), (Texts{"x f32[4, 8] [-, -]", "y.view f32[4, 8] [-, -] partial(dp: sum)",
                                   "y.reduce_scatter f32[4, 8] [-, dp]", "y f32[4, 4] [-, -]"}));
  EXPECT_EQ(CollectiveOf(program).transfers[0].to_dimension, 1);
}

TEST_F(ManualPartitionTest, AnAllToAllBetweenTwoDimensions) {
  const Program program = Of("all_to_all", Group("tp", 4, {{"split_axis", int64_t{1}}, {"concat_axis", int64_t{0}}}));
  EXPECT_EQ(Steps(program), (Texts{"x f32[4, 8] [-, -]", "y.view f32[16, 8] [tp.0 tp.1, -]",
                                   "y.all_to_all f32[16, 8] [-, tp.0 tp.1]", "y f32[16, 2] [-, -]"}));
}

TEST_F(ManualPartitionTest, AnAllToAllWithinOneDimension) {
  const Program program = Of("all_to_all", Group("dp", 2, {{"split_axis", int64_t{1}}, {"concat_axis", int64_t{1}}}));
  EXPECT_EQ(Steps(program), (Texts{"x f32[4, 8] [-, -]", "y.view f32[4, 2, 2, 4] [-, dp, -, -]",
                                   "y.all_to_all f32[4, 2, 2, 4] [-, -, dp, -]", "y f32[4, 8] [-, -]"}));
}

TEST_F(ManualPartitionTest, ABroadcastFromItsRoot) {
  const Program program = Of("broadcast", Group("tp", 4, {{"root", int64_t{3}}}));
  EXPECT_EQ(CollectiveOf(program).root, 3);
  EXPECT_EQ(CollectiveOf(program).axes, (std::vector<AxisId>{AxisId(1), AxisId(2)}));
}

TEST_F(ManualPartitionTest, AGroupOfOneRankHasNothingToSay) {
  builder_.mutable_graph().rank_axes = {{"dp", 8}, {"tp", 1}};
  const Program program = Of("all_reduce", Group("tp", 1, {{"reduction", std::string("sum")}}));
  EXPECT_EQ(Steps(program), (Texts{"x f32[4, 8] [-, -]", "y f32[4, 8] [-, -]"}));
  EXPECT_TRUE(std::holds_alternative<View>(program.steps[1].action));
}

TEST_F(ManualPartitionTest, AnExchangeOfMessagesBetweenAllRanks) {
  const std::vector<int64_t> next = {1, 2, 3, 4, 5, 6, 7, -1};
  const std::vector<int64_t> previous = {-1, 0, 1, 2, 3, 4, 5, 6};
  const OpId flat = builder_.Add("reshape", {x_}, {{"shape", Shape{32}}}, "flat");
  const OpId y = builder_.Add("neighbor_exchange", {flat},
                              {{"primitive", std::string("send_recv")},
                               {"send_sizes", std::vector<int64_t>{32}},
                               {"receive_sizes", std::vector<int64_t>{32}},
                               {"send_ranks", next},
                               {"receive_ranks", previous}},
                              "y");
  Graph graph = builder_.graph();
  graph.metrics = {{"sum", y}};
  const Program program = ProgramOf(graph);
  const Collective& collective = CollectiveOf(program);
  EXPECT_EQ(collective.kind, CollectiveKind::kSendReceive);
  EXPECT_EQ(collective.axes, program.mesh.AxisIds());
  EXPECT_EQ(collective.messages->send_ranks, next);
  EXPECT_EQ(CollectiveBytes(program, collective), Bytes(128));
  EXPECT_EQ(SentBytes(program, collective), 128);
}

// Two layers on rows of their own; the activations between them are summed, as the model asks.
TEST_F(ManualPartitionTest, GradientsAreMergedAndWhatIsWrittenIsNot) {
  const auto sum = [&](OpId value, const std::string& name) {
    return builder_.Add("all_reduce", {value}, Group("dp tp", 8, {{"reduction", std::string("sum")}}), name);
  };
  std::vector<int64_t> starts;
  for (int64_t rank = 0; rank < 8; ++rank) starts.push_back(rank * 2);
  const OpId data = builder_.Add("input", {}, {{"shape", Shape{16, 4}}, {"data", std::string("data")}}, "data");
  const OpId rows =
      builder_.Add("rank_slice", {data}, {{"axis", int64_t{0}}, {"size", int64_t{2}}, {"starts", starts}}, "rows");
  const OpId h = builder_.Add("tanh", {builder_.Add("matmul", {rows, x_}, {}, "product")}, {}, "h");
  const OpId scale = builder_.Add("parameter", {}, {{"shape", Shape{8}}}, "scale");
  const OpId scaled = builder_.Add("mul", {h, scale}, {}, "scaled");
  const OpId a = sum(builder_.Add("reduce_mean", {scaled}, {}, "mean"), "a");
  const OpId b = sum(builder_.Add("reduce_max", {scaled}, {}, "max"), "b");
  builder_.mutable_graph().loss = builder_.Add("add", {a, b}, {}, "loss");
  const Graph graph = *Differentiate(builder_.graph(), {.learning_rate = {.rate = 0.1}});
  const Program program = ProgramOf(graph);
  std::vector<std::string> collectives;
  for (const Step& step : program.steps) {
    const auto* collective = std::get_if<Collective>(&step.action);
    if (collective == nullptr) continue;
    collectives.push_back(
        absl::StrCat(PhaseName(step.phase), ": ", collective->transfers.size(), ", ", collective->why));
  }
  EXPECT_EQ(collectives, (Texts{"forward: 1, written in the model", "forward: 1, written in the model",
                                "backward: 2, gradients of scale and x"}));
}

}  // namespace
}  // namespace cleave
