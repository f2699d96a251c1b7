#include "codegen/fuse/fuse.h"

#include <set>

#include "codegen/fixtures/fixtures.h"
#include "codegen/fuse/storage.h"
#include "gtest/gtest.h"
#include "ir/ops/builder.h"
#include "ir/ops/ops.h"

namespace cleave {
namespace {

bool IsElementwise(const Compute& compute) {
  return FindOp(compute.kind)->op_class == OpClass::kElementwise && compute.kind != "causal_mask";
}

OpId Input(GraphBuilder& builder, const std::string& name, Shape shape) {
  return builder.Add("input", {}, {{"shape", shape}, {"dtype", std::string("f32")}, {"data", name}}, name);
}

// The names of the steps of each stage, as "a b | c".
std::string StagesText(const Program& program, const Fusion& fusion) {
  std::string text;
  for (const FusedStage& stage : fusion.stages) {
    if (!text.empty()) text += " | ";
    bool first = true;
    for (const int i : StepsOf(stage)) {
      text += (first ? "" : " ") + program.steps[static_cast<size_t>(i)].name;
      first = false;
    }
  }
  return text;
}

ValueId Named(const Program& program, absl::string_view name) {
  for (int i = 0; i < static_cast<int>(program.values.size()); ++i) {
    if (program.value(ValueId(i)).name == name) return ValueId(i);
  }
  ADD_FAILURE() << "no value " << name;
  return ValueId(0);
}

TEST(Fuse, ChainsOfOneShapeBecomeOneLoop) {
  GraphBuilder builder;
  const OpId x = Input(builder, "x", {4, 6});
  const OpId row = Input(builder, "row", {6});
  const OpId a = builder.Add("add", {x, row}, {}, "a");
  const OpId b = builder.Add("exp", {a}, {}, "b");
  const OpId sum = builder.Add("reduce_sum", {b}, {{"axes", std::vector<int64_t>{0}}}, "sum");
  const OpId c = builder.Add("neg", {sum}, {}, "c");
  builder.Add("mul", {b, c}, {}, "d");
  const Program program = SingleRankProgram(std::move(builder).Build());
  const Fusion fusion = Fuse(program, IsElementwise);
  EXPECT_EQ(StagesText(program, fusion), "a b | sum | c | d");
  EXPECT_EQ(fusion.inside, std::set<ValueId>{Named(program, "a")});
  EXPECT_EQ(fusion.written_by[Named(program, "x")], -1);
  EXPECT_EQ(fusion.written_by[Named(program, "d")], 3);
}

TEST(Fuse, AReshapeOfAnotherValueGoesAhead) {
  GraphBuilder builder;
  const OpId x = Input(builder, "x", {4, 6});
  const OpId a = builder.Add("exp", {x}, {}, "a");
  const OpId flat = builder.Add("reshape", {x}, {{"shape", Shape{24}}}, "flat");
  const OpId b = builder.Add("neg", {a}, {}, "b");
  const OpId own = builder.Add("reshape", {b}, {{"shape", Shape{24}}}, "own");
  builder.Add("add", {flat, own}, {}, "c");
  const Program program = SingleRankProgram(std::move(builder).Build());
  EXPECT_EQ(StagesText(program, Fuse(program, IsElementwise)), "flat | a b | own | c");
}

TEST(Fuse, MatMulTakesBiasAndRelu) {
  const Program program = SingleRankProgram(MlpForward(8, {5, 3}));
  const Fusion fusion = Fuse(program, IsElementwise);
  EXPECT_EQ(StagesText(program, fusion),
            "image.flat | h1.matmul h1.bias_add h1.relu | logits.matmul logits.bias_add | loss | accuracy");
}

TEST(Fuse, MatMulThatSomeoneElseReadsStandsAlone) {
  GraphBuilder builder;
  const OpId x = Input(builder, "x", {4, 6});
  const OpId w = Input(builder, "w", {6, 5});
  const OpId bias = Input(builder, "bias", {5});
  const OpId product = builder.Add("matmul", {x, w}, {}, "product");
  const OpId y = builder.Add("bias_add", {product, bias}, {}, "y");
  builder.Add("mul", {y, product}, {}, "z");
  const Program program = SingleRankProgram(std::move(builder).Build());
  EXPECT_EQ(StagesText(program, Fuse(program, IsElementwise)), "product | y z");
}

TEST(Storage, OptimizersUpdateInPlace) {
  for (const Optimizer::Kind kind :
       {Optimizer::Kind::kSgd, Optimizer::Kind::kMomentum, Optimizer::Kind::kAdam, Optimizer::Kind::kAdamW}) {
    Optimizer optimizer;
    optimizer.kind = kind;
    optimizer.weight_decay = 0.01;
    const Program program = SingleRankProgram(TrainingGraph(MlpForward(8, {5, 3}), optimizer));
    const Fusion fusion = Fuse(program, IsElementwise);
    const Storage storage = PlanStorage(program, fusion);
    EXPECT_TRUE(storage.copies.empty());
    for (const ProgramUpdate& update : program.updates) EXPECT_EQ(storage.root[update.value], update.state);
    // One loop for each of the four parameters.
    int loops = 0;
    for (const FusedStage& stage : fusion.stages) {
      loops += stage.phase == Phase::kUpdate && std::holds_alternative<FusedLoop>(stage.action);
    }
    EXPECT_EQ(loops, 4);
  }
}

TEST(Storage, AnOldStateThatIsReadLaterIsNotOverwritten) {
  GraphBuilder builder;
  builder.SetPhase(Phase::kUpdate);
  const OpId state = builder.Add("state", {}, {{"shape", Shape{16}}}, "state");
  const OpId fresh = builder.Add("exp", {state}, {}, "fresh");
  const OpId sum = builder.Add("reduce_sum", {state}, {}, "sum");
  builder.Add("neg", {sum}, {}, "late");
  Graph graph = std::move(builder).Build();
  graph.updates = {{state, fresh}};
  const Program program = SingleRankProgram(graph);
  const Storage storage = PlanStorage(program, Fuse(program, IsElementwise));
  ASSERT_EQ(storage.copies.size(), 1u);
  EXPECT_NE(storage.root[Named(program, "fresh")], storage.root[Named(program, "state")]);
}

TEST(Storage, LoopsWriteOverInputsThatDie) {
  GraphBuilder builder;
  const OpId x = Input(builder, "x", {16});
  const OpId a = builder.Add("reshape", {x}, {{"shape", Shape{4, 4}}}, "a");
  const OpId soft = builder.Add("softmax", {a}, {}, "soft");
  const OpId b = builder.Add("exp", {soft}, {}, "b");
  const OpId more = builder.Add("softmax", {b}, {}, "more");
  builder.Add("add", {more, b}, {}, "c");
  const Program program = SingleRankProgram(std::move(builder).Build());
  const Storage storage = PlanStorage(program, Fuse(program, IsElementwise));
  EXPECT_EQ(storage.root[Named(program, "a")], Named(program, "x"));
  EXPECT_EQ(storage.root[Named(program, "b")], Named(program, "soft"));
  EXPECT_EQ(storage.root[Named(program, "c")], Named(program, "more"));
  // Inputs stay.
  EXPECT_EQ(storage.root[Named(program, "soft")], Named(program, "soft"));
}

TEST(Storage, AllReducesAreInPlaceAndMergedOnesContiguous) {
  const Mesh mesh = Mesh::OfDevices(2);
  const Graph graph = TrainingGraph(MlpForward(8, {5, 3}), DigitsTraining().optimizer);
  const Program program = PartitionedProgram(graph, mesh, DataParallelCuts(mesh));
  const Fusion fusion = Fuse(program, IsElementwise);
  const Storage storage = PlanStorage(program, fusion);
  int merged = 0;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const auto* collective = std::get_if<Collective>(&program.steps[i].action);
    if (collective == nullptr || collective->kind != CollectiveKind::kAllReduce) continue;
    for (const Transfer& transfer : collective->transfers) {
      EXPECT_TRUE(storage.SameBuffer(transfer.input, transfer.output)) << program.steps[i].name;
    }
    if (collective->transfers.size() == 1) continue;
    ++merged;
    const Bucket& bucket = storage.buckets.at(static_cast<int>(i));
    ASSERT_EQ(bucket.size(), collective->transfers.size());
    for (size_t part = 1; part < bucket.size(); ++part) {
      const BufferPlan::Buffer& before = *storage.buffers.Find(bucket[part - 1]);
      const int64_t gap = storage.buffers.Find(bucket[part])->offset - before.offset - before.size.value();
      EXPECT_GE(gap, 0);
      EXPECT_LT(gap, BufferPlan::kAlignment);
    }
  }
  EXPECT_EQ(merged, 1);
}

}  // namespace
}  // namespace cleave
