#include "ir/program/program.h"

#include <map>
#include <random>
#include <set>

#include "gtest/gtest.h"
#include "ir/graph/graph.h"
#include "ir/program/partition/partition.h"
#include "ir/program/text.h"
#include "ir/testing/graphs.h"
#include "ir/testing/plans.h"
#include "ir/testing/random_plan.h"
#include "ir/transforms/distribute/distribute.h"

namespace cleave::ir {
namespace {

// One tensor of `shape` that a collective takes from `from` to `to`.
struct OneCollective {
  Program program;
  const Collective& collective() const { return std::get<Collective>(program.steps[0].action); }
};

OneCollective Make(CollectiveKind kind, const Mesh& mesh, const Shape& shape, absl::string_view from,
                   absl::string_view to, AxisList axes) {
  OneCollective one;
  one.program.mesh = mesh;
  const TensorType type{DType::kF32, shape};
  const ValueId input =
      one.program.values.push_back({.name = "in", .type = type, .layout = *ParseLayout(from, mesh), .origin = {}});
  const ValueId output =
      one.program.values.push_back({.name = "out", .type = type, .layout = *ParseLayout(to, mesh), .origin = {}});
  one.program.steps.push_back({.action = Collective{.kind = kind,
                                                    .axes = std::move(axes),
                                                    .reduction = Reduction::kSum,
                                                    .transfers = {{.input = input, .output = output}},
                                                    .why = "a test"},
                               .name = "out"});
  return one;
}

TEST(ProgramTest, KindNames) {
  for (const CollectiveKind kind :
       {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
        CollectiveKind::kAllToAll, CollectiveKind::kBroadcast, CollectiveKind::kPermute}) {
    EXPECT_EQ(ParseCollectiveKind(CollectiveKindName(kind)), kind);
  }
  EXPECT_EQ(CollectiveKindName(CollectiveKind::kReduceScatter), "reduce_scatter");
  EXPECT_EQ(ParseCollectiveKind("gather"), std::nullopt);
}

TEST(ProgramTest, BytesOfCollectives) {
  const Mesh mesh = *Mesh::Create({{.name = "m0", .size = 4}});
  const AxisList m0 = {AxisId(0)};
  const auto reduce = Make(CollectiveKind::kAllReduce, mesh, {8, 4}, "[-, -] partial(m0: sum)", "[-, -]", m0);
  EXPECT_EQ(CollectiveBytes(reduce.program, reduce.collective()), Bytes(128));
  EXPECT_DOUBLE_EQ(SentBytes(reduce.program, reduce.collective()), 192);
  // The largest of the uneven pieces counts; after an all_gather the whole tensor counts.
  const auto gather = Make(CollectiveKind::kAllGather, mesh, {9, 4}, "[m0, -]", "[-, -]", m0);
  EXPECT_EQ(CollectiveBytes(gather.program, gather.collective()), Bytes(144));
  EXPECT_DOUBLE_EQ(SentBytes(gather.program, gather.collective()), 108);
  const auto exchange = Make(CollectiveKind::kAllToAll, mesh, {9, 4}, "[m0, -]", "[-, m0]", m0);
  EXPECT_EQ(CollectiveBytes(exchange.program, exchange.collective()), Bytes(48));
  EXPECT_DOUBLE_EQ(SentBytes(exchange.program, exchange.collective()), 36);
  const auto scatter = Make(CollectiveKind::kReduceScatter, mesh, {8, 4}, "[-, -] partial(m0: sum)", "[m0, -]", m0);
  EXPECT_DOUBLE_EQ(SentBytes(scatter.program, scatter.collective()), 96);
}

// In a permute every rank gets the piece that its new layout asks for, from one rank that has it, and sends once.
TEST(ProgramTest, PermutePartnersFitTogether) {
  struct NewLayout {
    Mesh mesh;
    Shape shape;
    std::string from, to;
    AxisList axes;
  };
  const Mesh cube = Mesh::OfDevices(8);
  const Mesh mixed = *Mesh::Create({{.name = "m0", .size = 2}, {.name = "m1", .size = 4}, {.name = "m2", .size = 2}});
  const std::vector<NewLayout> cases = {
      {cube, {8, 8}, "[m0, m1]", "[m1, m0]", {AxisId(0), AxisId(1)}},
      {cube, {8, 8}, "[m0, -]", "[m1, -]", {AxisId(0), AxisId(1)}},
      {cube, {2, 8}, "[m0 m1 m2, -]", "[m2 m1 m0, -]", {AxisId(0), AxisId(2)}},
      {cube, {3, 5}, "[m0 m1, m2]", "[m2 m0, m1]", {AxisId(0), AxisId(1), AxisId(2)}},
      {mixed, {8, 8}, "[m1, -]", "[m0 m2, -]", {AxisId(0), AxisId(1), AxisId(2)}},
  };
  for (const NewLayout& change : cases) {
    const auto permute = Make(CollectiveKind::kPermute, change.mesh, change.shape, change.from, change.to, change.axes);
    const Program& program = permute.program;
    const auto pieces = [&](ValueId value, int rank) {
      std::vector<int64_t> indices;
      for (const auto& axes : program.value(value).layout.dimensions) indices.push_back(change.mesh.Index(rank, axes));
      return indices;
    };
    std::set<int> destinations;
    for (int rank = 0; rank < change.mesh.rank_count(); ++rank) {
      const PermutePartners partners = PartnersOf(program, permute.collective(), rank);
      EXPECT_TRUE(destinations.insert(partners.destination).second) << change.from << " rank " << rank;
      EXPECT_EQ(PartnersOf(program, permute.collective(), partners.destination).origin, rank);
      EXPECT_EQ(pieces(ValueId(0), partners.origin), pieces(ValueId(1), rank));
      if (pieces(ValueId(0), rank) == pieces(ValueId(1), rank)) {
        EXPECT_EQ(partners, (PermutePartners{rank, rank}));
      }
    }
  }
}

TEST(ProgramTextTest, ReadsBackWhatItWrote) {
  constexpr uint64_t kSeed = 2;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937_64 random(kSeed);
  for (const Graph& graph : {TestMlp(), TestTiedWeights(), TestAttention()}) {
    for (int64_t devices : {1, 6, 8}) {
      for (const bool merge : {false, true}) {
        Plan plan = RandomPlan(graph, Mesh::OfDevices(devices), random);
        if (merge) plan = DataParallelPlan(graph, Mesh::OfDevices(devices));
        const Distributed distributed = *Distribute(graph, plan);
        const Program program = *Partition(distributed.graph, distributed.plan);
        const std::string text = ProgramText(program, static_cast<int>(devices) - 1);
        const absl::StatusOr<Program> back = ParseProgram(text);
        ASSERT_TRUE(back.ok()) << back.status() << "\n" << text;
        EXPECT_EQ(*back, program) << text;
        EXPECT_EQ(ProgramText(*back, static_cast<int>(devices) - 1), text);
      }
    }
  }
}

TEST(ProgramTextTest, ShowsLocalShapesAndRanks) {
  const Mesh mesh =
      *Mesh::Create({{.name = "dp", .size = 2, .weight = 0.5}, {.name = "tp", .size = 2, .link = "pcie"}});
  auto one = Make(CollectiveKind::kAllGather, mesh, {5, 4}, "[dp tp, -]", "[dp, -]", {AxisId(1)});
  Collective& collective = std::get<Collective>(one.program.steps[0].action);
  collective.transfers[0].from_dimension = 0;
  collective.why = "b reads a, whole";
  one.program.model = "M";
  one.program.file = "m.model";
  one.program.steps[0].line = 3;
  EXPECT_EQ(ProgramText(one.program, 2),
            "program M \"m.model\" mesh(dp=2, tp=2) rank 2 {\n"
            "  %1: f32[3, 4] = all_gather(%0) {from = 0, axes = (tp), ranks = (2, 3)}  // b reads a, whole, m.model:3\n"
            "  axis dp \"host\" \"0.5\"\n"
            "  axis tp \"pcie\" \"1.0\"\n"
            "  value %0 \"in\" f32[5, 4] \"[dp tp, -]\" of %0\n"
            "  value %1 \"out\" f32[5, 4] \"[dp, -]\" of %0\n"
            "}\n");
  EXPECT_EQ(*ParseProgram(ProgramText(one.program, 0)), one.program);
}

// Tensors of one call may lie along different dimensions.
TEST(ProgramTextTest, SeveralTensorsInOneCollective) {
  const Mesh mesh = *Mesh::Create({{.name = "m0", .size = 4}});
  auto one = Make(CollectiveKind::kAllGather, mesh, {5, 4}, "[-, m0]", "[-, -]", {AxisId(0)});
  Program& program = one.program;
  const TensorType type{DType::kF32, {6}};
  const ValueId input =
      program.values.push_back({.name = "b", .type = type, .layout = *ParseLayout("[m0]", mesh), .origin = {}});
  const ValueId output =
      program.values.push_back({.name = "all", .type = type, .layout = *ParseLayout("[-]", mesh), .origin = {}});
  Collective& collective = std::get<Collective>(program.steps[0].action);
  collective.transfers[0].from_dimension = 1;
  collective.transfers.push_back({.input = input, .output = output, .from_dimension = 0});
  EXPECT_EQ(CollectiveBytes(program, collective), Bytes(4 * (20 + 6)));
  EXPECT_DOUBLE_EQ(SentBytes(program, collective), 0.75 * 4 * (20 + 6));
  const std::string text = ProgramText(program, 1);
  EXPECT_NE(text.find("%1, %3: f32[5, 4], f32[6] = all_gather(%0, %2) {from = (1, 0), axes = (m0), "),
            std::string::npos)
      << text;
  const absl::StatusOr<Program> back = ParseProgram(text);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, program);
}

TEST(ProgramTextTest, SaysWhatIsWrong) {
  const auto message = [](absl::string_view text) { return std::string(ParseProgram(text).status().message()); };
  EXPECT_EQ(message("graph"), "line 1, column 1: expected `program`, found `graph`");
  EXPECT_EQ(message("program M \"m\" mesh(a=0) rank 0 {}"), "mesh axis `a` has size 0");
  EXPECT_EQ(message("program M \"m\" mesh(a=2) rank 0 {\n  %0: f32[2] = nothing(%1) cuts()\n}\n"),
            "line 2, column 28: expected an op instead of `nothing`, found `cuts`");
  EXPECT_EQ(message("program M \"m\" mesh(a=2) rank 0 {\n  loss %0\n}\n"), "%0 has no `value` line");
  EXPECT_EQ(message("program M \"m\" mesh(a=2) rank 0 {\n  value %0 \"x\" f32[2] \"[b]\" of %0\n}\n"),
            "line 2, column 29: expected a layout (no mesh axis `b` in (a=2)) before this, found `of`");
}

}  // namespace
}  // namespace cleave::ir
