// Tests what the communicating ops of a manual model become.

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/partition/partition.h"
#include "ir/sharding/plan/plan.h"
#include "ir/testing/optimizers.h"
#include "ir/transforms/differentiate/differentiate.h"

namespace cleave::ir {
namespace {

using Values = Attributes;

// On the ranks (dp = 2, tp = 4); the mesh divides the axis tp further.
class ManualPartitionTest : public testing::Test {
 protected:
  ManualPartitionTest() {
    builder_.mutable_graph().rank_axes = {{"dp", 2}, {"tp", 4}};
    x_ = builder_.Add(OpKind::kParameter, {}, {{attribute::kShape, Shape{4, 8}}}, "x");
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
  Program Of(OpKind kind, Values attributes) {
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
    more.Set(attribute::kGroup, group);
    more.Set(attribute::kSize, size);
    return more;
  }

  GraphBuilder builder_;
  OpId x_;
};

using Texts = std::vector<std::string>;

TEST_F(ManualPartitionTest, AnAllReduceOfPartsOfOneSum) {
  const Program program = Of(OpKind::kAllReduce, Group("tp", 4, {{attribute::kReduction, "prod"}}));
  EXPECT_TRUE(program.is_manual);
  EXPECT_EQ(Steps(program), (Texts{"x f32[4, 8] [-, -]", "y.view f32[4, 8] [-, -] partial(tp.0: prod, tp.1: prod)",
                                   "y f32[4, 8] [-, -]"}));
  EXPECT_EQ(CollectiveOf(program).axes, (AxisList{AxisId(1), AxisId(2)}));
  EXPECT_EQ(CollectiveOf(program).reduction, Reduction::kProd);
  EXPECT_EQ(CollectiveOf(program).why, "written in the model");
}

TEST_F(ManualPartitionTest, AnAllGatherOfRowsThatTheRanksHoldTogether) {
  const Program program = Of(OpKind::kAllGather, Group("dp tp", 8, {{attribute::kAxis, 0}}));
  EXPECT_EQ(Steps(program),
            (Texts{"x f32[4, 8] [-, -]", "y.view f32[32, 8] [dp tp.0 tp.1, -]", "y f32[32, 8] [-, -]"}));
  EXPECT_EQ(CollectiveOf(program).transfers[0].from_dimension, 0);
}

TEST_F(ManualPartitionTest, AReduceScatterWhosePartIsALocalTensor) {
  const Program program = Of(OpKind::kReduceScatter, Group("dp", 2, {{attribute::kAxis, 1}}));
  EXPECT_EQ(Steps(program), (Texts{"x f32[4, 8] [-, -]", "y.view f32[4, 8] [-, -] partial(dp: sum)",
                                   "y.reduce_scatter f32[4, 8] [-, dp]", "y f32[4, 4] [-, -]"}));
  EXPECT_EQ(CollectiveOf(program).transfers[0].to_dimension, 1);
}

TEST_F(ManualPartitionTest, AnAllToAllBetweenTwoDimensions) {
  const Program program =
      Of(OpKind::kAllToAll, Group("tp", 4, {{attribute::kSplitAxis, 1}, {attribute::kConcatAxis, 0}}));
  EXPECT_EQ(Steps(program), (Texts{"x f32[4, 8] [-, -]", "y.view f32[16, 8] [tp.0 tp.1, -]",
                                   "y.all_to_all f32[16, 8] [-, tp.0 tp.1]", "y f32[16, 2] [-, -]"}));
}

TEST_F(ManualPartitionTest, AnAllToAllWithinOneDimension) {
  const Program program =
      Of(OpKind::kAllToAll, Group("dp", 2, {{attribute::kSplitAxis, 1}, {attribute::kConcatAxis, 1}}));
  EXPECT_EQ(Steps(program), (Texts{"x f32[4, 8] [-, -]", "y.view f32[4, 2, 2, 4] [-, dp, -, -]",
                                   "y.all_to_all f32[4, 2, 2, 4] [-, -, dp, -]", "y f32[4, 8] [-, -]"}));
}

TEST_F(ManualPartitionTest, ABroadcastFromItsRoot) {
  const Program program = Of(OpKind::kBroadcast, Group("tp", 4, {{attribute::kRoot, 3}}));
  EXPECT_EQ(CollectiveOf(program).root, 3);
  EXPECT_EQ(CollectiveOf(program).axes, (AxisList{AxisId(1), AxisId(2)}));
}

TEST_F(ManualPartitionTest, AGroupOfOneRankHasNothingToSay) {
  builder_.mutable_graph().rank_axes = {{"dp", 8}, {"tp", 1}};
  const Program program = Of(OpKind::kAllReduce, Group("tp", 1, {{attribute::kReduction, "sum"}}));
  EXPECT_EQ(Steps(program), (Texts{"x f32[4, 8] [-, -]", "y f32[4, 8] [-, -]"}));
  EXPECT_TRUE(std::holds_alternative<View>(program.steps[1].action));
}

TEST_F(ManualPartitionTest, AnExchangeOfMessagesBetweenAllRanks) {
  const std::vector<int64_t> next = {1, 2, 3, 4, 5, 6, 7, -1};
  const std::vector<int64_t> previous = {-1, 0, 1, 2, 3, 4, 5, 6};
  const OpId flat = builder_.Add(OpKind::kReshape, {x_}, {{attribute::kShape, Shape{32}}}, "flat");
  const OpId y = builder_.Add(OpKind::kNeighborExchange, {flat},
                              {{attribute::kPrimitive, "send_recv"},
                               {attribute::kSendSizes, std::vector<int64_t>{32}},
                               {attribute::kReceiveSizes, std::vector<int64_t>{32}},
                               {attribute::kSendRanks, next},
                               {attribute::kReceiveRanks, previous}},
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

// Two layers with different rows on each rank; the activations between them are summed, as the model asks.
TEST_F(ManualPartitionTest, GradientsAreMergedAndWhatIsWrittenIsNot) {
  const auto sum = [&](OpId value, const std::string& name) {
    return builder_.Add(OpKind::kAllReduce, {value}, Group("dp tp", 8, {{attribute::kReduction, "sum"}}), name);
  };
  std::vector<int64_t> starts;
  for (int64_t rank = 0; rank < 8; ++rank) starts.push_back(rank * 2);
  const OpId data =
      builder_.Add(OpKind::kInput, {}, {{attribute::kShape, Shape{16, 4}}, {attribute::kData, "data"}}, "data");
  const OpId rows = builder_.Add(OpKind::kRankSlice, {data},
                                 {{attribute::kAxis, 0}, {attribute::kSize, 2}, {attribute::kStarts, starts}}, "rows");
  const OpId h = builder_.Add(OpKind::kTanh, {builder_.Add(OpKind::kMatmul, {rows, x_}, {}, "product")}, {}, "h");
  const OpId scale = builder_.Add(OpKind::kParameter, {}, {{attribute::kShape, Shape{8}}}, "scale");
  const OpId scaled = builder_.Add(OpKind::kMul, {h, scale}, {}, "scaled");
  const OpId a = sum(builder_.Add(OpKind::kReduceMean, {scaled}, {}, "mean"), "a");
  const OpId b = sum(builder_.Add(OpKind::kReduceMax, {scaled}, {}, "max"), "b");
  builder_.mutable_graph().loss = builder_.Add(OpKind::kAdd, {a, b}, {}, "loss");
  const Graph graph = *Differentiate(builder_.graph(), {.rate = 0.1});
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
}  // namespace cleave::ir
