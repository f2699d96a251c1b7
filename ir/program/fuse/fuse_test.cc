#include "ir/program/fuse/fuse.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/training/training.h"
#include "ir/program/fuse/image_blocks.h"
#include "ir/program/fuse/storage.h"
#include "ir/program/partition/partition.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/testing/graphs.h"
#include "ir/testing/optimizers.h"
#include "ir/testing/plans.h"
#include "ir/testing/sources.h"
#include "ir/transforms/differentiate/differentiate.h"

namespace cleave::ir {
namespace {

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

Program DataParallelProgram(const Graph& graph, const Mesh& mesh) {
  absl::StatusOr<Program> program = Partition(graph, DataParallelPlan(graph, mesh));
  CLEAVE_CHECK(program.ok()) << program.status();
  return *std::move(program);
}

Program SingleRankProgram(const Graph& graph) { return DataParallelProgram(graph, Mesh::OfDevices(1)); }

// Two dense layers on flattened images of 2 x 3, and a loss.
Graph DenseForward() {
  GraphBuilder builder;
  const OpId image = AddInput(builder, "image", {8, 2, 3});
  const OpId label = AddInput(builder, "label", {8}, DType::kI32);
  const auto dense = [&](OpId x, int64_t width, const std::string& name) {
    const Shape weight_shape = {width, builder.type(x).shape[1]};
    const OpId weight = AddParameter(builder, name + ".weight", weight_shape);
    const OpId bias = AddParameter(builder, name + ".bias", {width});
    const OpId product = builder.Add(OpKind::kMatmul, {x, weight}, {{attribute::kTransposeB, true}}, name + ".matmul");
    return builder.Add(OpKind::kBiasAdd, {product, bias}, {}, name + ".bias_add");
  };
  const OpId flat = builder.Add(OpKind::kReshape, {image}, {{attribute::kShape, Shape{8, 6}}}, "flat");
  const OpId hidden = builder.Add(OpKind::kRelu, {dense(flat, 5, "h1")}, {}, "h1.relu");
  const OpId loss = builder.Add(OpKind::kCrossEntropy, {dense(hidden, 3, "logits"), label}, {}, "loss");
  builder.mutable_graph().loss = loss;
  return std::move(builder).Build();
}

Graph Trained(const Graph& forward, const TestOptimizer& optimizer) {
  absl::StatusOr<Graph> graph = Differentiate(forward, optimizer);
  CLEAVE_CHECK(graph.ok()) << graph.status();
  return *std::move(graph);
}

// Two convolutions of images of 8 x 8 with a bias, the first of which is pooled; the second one makes
// `channels`, whose places then are one dimension.
Graph Convolutions(int64_t channels) {
  using Ints = std::vector<int64_t>;
  GraphBuilder builder;
  OpId x = AddInput(builder, "image", {4, 3, 8, 8});
  const auto convolve = [&](int64_t filters, const std::string& name) {
    const OpId filter = AddParameter(builder, name + ".weight", {filters, builder.type(x).shape[1], 3, 3});
    x = builder.Add(OpKind::kConv2d, {x, filter}, {{attribute::kPadding, Ints{1}}}, name + ".conv2d");
    const OpId bias = AddParameter(builder, name + ".bias", {filters, 1, 1});
    x = builder.Add(OpKind::kAdd, {x, bias}, {}, name + ".add");
  };
  convolve(32, "conv1");
  x = builder.Add(OpKind::kRelu, {x}, {}, "conv1.relu");
  x = builder.Add(OpKind::kMaxPool, {x}, {{attribute::kKernel, Ints{2}}}, "conv1.max_pool");
  convolve(channels, "conv2");
  x = builder.Add(OpKind::kReshape, {x}, {{attribute::kShape, Shape{4, channels, 16}}}, "places");
  x = builder.Add(OpKind::kSquare, {x}, {}, "squares");
  x = builder.Add(OpKind::kReduceMean, {x}, {{attribute::kAxes, Ints{-1}}}, "means");
  const OpId label = AddInput(builder, "label", {4}, DType::kI32);
  builder.mutable_graph().loss = builder.Add(OpKind::kCrossEntropy, {x, label}, {}, "loss");
  return std::move(builder).Build();
}

// The names of the values in blocks, in the order of the program.
std::string InBlocksText(const Program& program, ImageOrder order = ImageOrder::kBlocks) {
  const ValueSet in_blocks = FindImagesInBlocks(program, order);
  std::string text;
  for (int i = 0; i < static_cast<int>(program.values.size()); ++i) {
    if (in_blocks.contains(ValueId(i))) text += (text.empty() ? "" : " ") + program.value(ValueId(i)).name;
  }
  return text;
}

constexpr char kFirstInBlocks[] = "conv1.conv2d conv1.add conv1.relu conv1.max_pool";
constexpr char kSecondInBlocks[] = " conv2.conv2d conv2.add places squares";

TEST(ImageBlocks, AreWhereAllTakeThem) {
  EXPECT_EQ(InBlocksText(SingleRankProgram(Convolutions(48))), absl::StrCat(kFirstInBlocks, kSecondInBlocks));
  EXPECT_EQ(InBlocksText(SingleRankProgram(Convolutions(24))), kFirstInBlocks);
  const Program program = SingleRankProgram(Convolutions(48));
  EXPECT_EQ(StagesText(program, Fuse(program, {.images = ImageOrder::kBlocks})), StagesText(program, Fuse(program)));
  EXPECT_FALSE(Fuse(program).in_blocks.contains(Named(program, "conv1.relu")));
  EXPECT_EQ(InBlocksText(SingleRankProgram(DenseForward())), "");
}

// One block of all channels may have any number of them, and groups; what has one channel lies so in any order.
TEST(ImageBlocks, MayHaveAllChannels) {
  EXPECT_EQ(InBlocksText(SingleRankProgram(Convolutions(24)), ImageOrder::kChannelsLast),
            absl::StrCat(kFirstInBlocks, kSecondInBlocks));
  EXPECT_EQ(InBlocksText(SingleRankProgram(Convolutions(24)), ImageOrder::kPlanes), "");
  EXPECT_EQ(SizesInBlocks(ImageOrder::kChannelsLast, {2, 24, 5, 6}), (Shape{2, 1, 5, 6, 24}));
  EXPECT_EQ(SizesInBlocks(ImageOrder::kBlocks, {2, 48, 5, 6}), (Shape{2, 3, 5, 6, 16}));
}

// One reader that takes no blocks is enough.
TEST(ImageBlocks, AreNotLookedAt) {
  Graph graph = Convolutions(48);
  for (const Op& op : graph.ops) {
    if (op.name == "squares") graph.looks = {{.kind = LookKind::kPrint, .value = op.id, .name = "look"}};
  }
  EXPECT_EQ(InBlocksText(SingleRankProgram(graph)), kFirstInBlocks);
}

// Gradients lie like what they are of.
TEST(ImageBlocks, AreInBothDirections) {
  const Program program = SingleRankProgram(Trained(Convolutions(48), {}));
  const ValueSet in_blocks = FindImagesInBlocks(program, ImageOrder::kBlocks);
  for (const char* name :
       {"places.grad", "conv2.add.grad", "conv1.max_pool.grad", "conv1.max_pool.index", "conv1.add.grad"}) {
    EXPECT_TRUE(in_blocks.contains(Named(program, name))) << name;
  }
}

// Of what a rank has: 32 channels are two pieces of full blocks, but not four, and samples are pieces of any size.
TEST(ImageBlocks, AreOfPieces) {
  EXPECT_EQ(InBlocksText(DataParallelProgram(Convolutions(48), Mesh::OfDevices(4))),
            absl::StrCat(kFirstInBlocks, kSecondInBlocks));
  for (const int devices : {2, 4}) {
    const Graph graph = Convolutions(48);
    Plan plan = DataParallelPlan(graph, Mesh::OfDevices(devices));
    for (const Op& op : graph.ops) {
      for (AxisList& cuts : plan.ops[op.id].strategy.cuts) cuts.clear();
      if (!absl::StartsWith(op.name, "conv1.") || op.type.rank() != 4 || op.inputs.empty()) continue;
      const auto channels = static_cast<size_t>(RuleOf(graph, op).output[1].front());
      plan.ops[op.id].strategy.cuts[channels] = plan.mesh.AxisIds();
    }
    absl::StatusOr<Program> program = Partition(graph, plan);
    ASSERT_TRUE(program.ok()) << program.status();
    // What is pooled is gathered, and the gathered images are read by a convolution alone.
    EXPECT_EQ(InBlocksText(*program),
              absl::StrCat(devices == 2 ? "conv1.conv2d conv1.add conv1.relu" : "", kSecondInBlocks)
                  .substr(devices == 2 ? 0 : 1));
  }
}

// What is looked at in the middle of a loop is written there, and the loop stays whole.
TEST(Fuse, AGlanceWaitsForItsLoop) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, "x", {4, 6});
  const OpId a = builder.Add(OpKind::kTanh, {x}, {}, "a");
  const OpId b = builder.Add(OpKind::kExp, {a}, {}, "b");
  builder.Add(OpKind::kReduceSum, {b}, {}, "total");
  Graph graph = std::move(builder).Build();
  const Program silent = SingleRankProgram(graph);
  EXPECT_EQ(StagesText(silent, Fuse(silent)), "a b | total");
  EXPECT_TRUE(Fuse(silent).inside.contains(Named(silent, "a")));
  graph.looks = {{.kind = LookKind::kPrint, .value = a, .name = "look at a"}};
  const Program program = SingleRankProgram(graph);
  const Fusion fusion = Fuse(program);
  EXPECT_EQ(StagesText(program, fusion), "a b | look at a | total");
  EXPECT_FALSE(fusion.inside.contains(Named(program, "a")));
  EXPECT_TRUE(PlanStorage(program, fusion).root[Named(program, "a")].has_value());
}

TEST(Fuse, ChainsOfOneShapeBecomeOneLoop) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, "x", {4, 6});
  const OpId row = AddInput(builder, "row", {6});
  const OpId a = builder.Add(OpKind::kAdd, {x, row}, {}, "a");
  const OpId b = builder.Add(OpKind::kExp, {a}, {}, "b");
  const OpId sum = builder.Add(OpKind::kReduceSum, {b}, {{attribute::kAxes, std::vector<int64_t>{0}}}, "sum");
  const OpId c = builder.Add(OpKind::kNeg, {sum}, {}, "c");
  builder.Add(OpKind::kMul, {b, c}, {}, "d");
  const Program program = SingleRankProgram(std::move(builder).Build());
  const Fusion fusion = Fuse(program);
  EXPECT_EQ(StagesText(program, fusion), "a b | sum | c | d");
  for (int i = 0; i < static_cast<int>(program.values.size()); ++i) {
    EXPECT_EQ(fusion.inside.contains(ValueId(i)), ValueId(i) == Named(program, "a")) << i;
  }
  EXPECT_EQ(fusion.written_by[Named(program, "x")], -1);
  EXPECT_EQ(fusion.written_by[Named(program, "d")], 3);
}

TEST(Fuse, AReshapeOfAnotherValueGoesAhead) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, "x", {4, 6});
  const OpId a = builder.Add(OpKind::kExp, {x}, {}, "a");
  const OpId flat = builder.Add(OpKind::kReshape, {x}, {{attribute::kShape, Shape{24}}}, "flat");
  const OpId b = builder.Add(OpKind::kNeg, {a}, {}, "b");
  const OpId own = builder.Add(OpKind::kReshape, {b}, {{attribute::kShape, Shape{24}}}, "own");
  builder.Add(OpKind::kAdd, {flat, own}, {}, "c");
  const Program program = SingleRankProgram(std::move(builder).Build());
  EXPECT_EQ(StagesText(program, Fuse(program)), "flat | a b | own | c");
}

TEST(Fuse, MatMulTakesItsBias) {
  const Program program = SingleRankProgram(DenseForward());
  EXPECT_EQ(StagesText(program, Fuse(program)),
            "flat | h1.matmul h1.bias_add | h1.relu | logits.matmul logits.bias_add | loss");
}

Program InMicroBatches(const Graph& graph, int64_t count) {
  Plan plan = DataParallelPlan(graph, Mesh::OfDevices(1));
  plan.micro_batches = count;
  return *Partition(graph, plan);
}

// The gradient of a weight is added to the sum over micro-batches where it is computed, and has no memory itself.
TEST(Fuse, ProductsAddToSumsOverMicroBatches) {
  const Program program = InMicroBatches(Trained(DenseForward(), {}), 2);
  const Fusion fusion = Fuse(program);
  const std::string stages = StagesText(program, fusion);
  EXPECT_TRUE(absl::StrContains(stages, "| h1.weight.grad h1.weight.grad.total |")) << stages;
  EXPECT_TRUE(absl::StrContains(stages, "| logits.weight.grad logits.weight.grad.total |")) << stages;
  EXPECT_TRUE(absl::StrContains(stages, "| h1.bias.grad | h1.bias.grad.total |")) << stages;
  const Storage storage = PlanStorage(program, fusion);
  EXPECT_EQ(storage.root[Named(program, "h1.weight.grad")], std::nullopt);
  EXPECT_EQ(storage.root[Named(program, "h1.weight.grad.total")], Named(program, "h1.weight.grad.total"));
}

// a b + c d: the second product is added where the first one is, if nothing else reads that.
TEST(Fuse, ProductsAddToOtherValues) {
  for (const bool first_is_read : {false, true}) {
    GraphBuilder builder;
    const OpId x = AddInput(builder, "x", {4, 6});
    const OpId w = AddInput(builder, "w", {6, 5});
    const OpId first = builder.Add(OpKind::kMatmul, {x, w}, {}, "first");
    const OpId y = builder.Add(OpKind::kExp, {x}, {}, "y");
    const OpId second = builder.Add(OpKind::kMatmul, {y, w}, {}, "second");
    const OpId sum = builder.Add(OpKind::kAdd, {first, second}, {}, "sum");
    if (first_is_read) builder.Add(OpKind::kSoftmax, {first}, {}, "other");
    builder.Add(OpKind::kSoftmax, {sum}, {}, "z");
    const Program program = SingleRankProgram(std::move(builder).Build());
    const Fusion fusion = Fuse(program);
    const Storage storage = PlanStorage(program, fusion);
    if (first_is_read) {
      EXPECT_EQ(StagesText(program, fusion), "first | y | second | sum | other | z");
    } else {
      EXPECT_EQ(StagesText(program, fusion), "first | y | second sum | z");
      EXPECT_EQ(storage.root[Named(program, "second")], std::nullopt);
      EXPECT_EQ(storage.root[Named(program, "sum")], Named(program, "first"));
    }
  }
}

// A table that is looked up and multiplied: the rows of its gradient are added to that of the product, which stays
// where it is.
TEST(Fuse, RowsAddToTheGradientOfATable) {
  const Program program = SingleRankProgram(TestTiedWeights());
  const Fusion fusion = Fuse(program);
  const std::string stages = StagesText(program, fusion);
  EXPECT_TRUE(absl::StrContains(stages, "| x.grad_table table.grad |")) << stages;
  const Storage storage = PlanStorage(program, fusion);
  EXPECT_EQ(storage.root[Named(program, "table.grad")], Named(program, "logits.grad_b")) << stages;
}

// An input, or a value of another shape, is not added to.
TEST(Fuse, ProductsLeaveWhatIsNotTheirs) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, "x", {5, 5});
  const OpId row = builder.Add(OpKind::kExp, {AddInput(builder, "row", {1, 5})}, {}, "exp");
  const OpId a = builder.Add(OpKind::kMatmul, {x, x}, {}, "a");
  const OpId b = builder.Add(OpKind::kAdd, {a, AddInput(builder, "c", {5, 5})}, {}, "b");
  const OpId d = builder.Add(OpKind::kMatmul, {b, x}, {}, "d");
  builder.Add(OpKind::kAdd, {d, row}, {}, "e");
  const Program program = SingleRankProgram(std::move(builder).Build());
  EXPECT_EQ(StagesText(program, Fuse(program)), "exp | a | b | d | e");
}

// A part that is also read otherwise is stored.
TEST(Fuse, ProductsThatAreLookedAtStandApartFromTheirSums) {
  Graph graph = Trained(DenseForward(), {});
  const Program silent = InMicroBatches(graph, 2);
  Program program = silent;
  const auto is_product = [](const Step& step) { return step.name == "h1.weight.grad"; };
  const auto product = std::find_if(program.steps.begin(), program.steps.end(), is_product);
  Step glance = *product;
  glance.name = "look";
  glance.action = Glance{.kind = LookKind::kPrintLocal, .input = Named(program, "h1.weight.grad")};
  program.steps.insert(product + 1, glance);
  const std::string stages = StagesText(program, Fuse(program));
  EXPECT_TRUE(absl::StrContains(stages, "| h1.weight.grad | look | h1.weight.grad.total |")) << stages;
}

TEST(Fuse, OpsThatDependOnThePlaceStandAlone) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, "x", {2, 3, 8});
  const OpId a = builder.Add(OpKind::kExp, {x}, {}, "a");
  const OpId turned = builder.Add(OpKind::kRope, {a}, {}, "turned");
  const OpId b = builder.Add(OpKind::kNeg, {turned}, {}, "b");
  builder.Add(OpKind::kExp, {builder.Add(OpKind::kCausalMask, {b}, {}, "masked")}, {}, "c");
  const Program program = SingleRankProgram(std::move(builder).Build());
  EXPECT_EQ(StagesText(program, Fuse(program)), "a | turned | b | masked | c");
}

TEST(Fuse, MatMulThatSomeoneElseReadsStandsAlone) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, "x", {4, 6});
  const OpId w = AddInput(builder, "w", {6, 5});
  const OpId bias = AddInput(builder, "bias", {5});
  const OpId product = builder.Add(OpKind::kMatmul, {x, w}, {}, "product");
  const OpId y = builder.Add(OpKind::kBiasAdd, {product, bias}, {}, "y");
  builder.Add(OpKind::kMul, {y, product}, {}, "z");
  const Program program = SingleRankProgram(std::move(builder).Build());
  EXPECT_EQ(StagesText(program, Fuse(program)), "product | y z");
}

TEST(Storage, OptimizersUpdateInPlace) {
  for (const TestOptimizer::Kind kind : {TestOptimizer::Kind::kSgd, TestOptimizer::Kind::kMomentum,
                                         TestOptimizer::Kind::kAdam, TestOptimizer::Kind::kAdam}) {
    TestOptimizer optimizer;
    optimizer.kind = kind;
    optimizer.weight_decay = 0.01;
    const Program program = SingleRankProgram(Trained(DenseForward(), optimizer));
    const Fusion fusion = Fuse(program);
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
  const OpId state = builder.Add(OpKind::kState, {}, {{attribute::kShape, Shape{16}}}, "state");
  const OpId fresh = builder.Add(OpKind::kExp, {state}, {}, "fresh");
  const OpId sum = builder.Add(OpKind::kReduceSum, {state}, {}, "sum");
  builder.Add(OpKind::kNeg, {sum}, {}, "late");
  Graph graph = std::move(builder).Build();
  graph.updates = {{state, fresh}};
  const Program program = SingleRankProgram(graph);
  const Storage storage = PlanStorage(program, Fuse(program));
  ASSERT_EQ(storage.copies.size(), 1u);
  EXPECT_NE(storage.root[Named(program, "fresh")], storage.root[Named(program, "state")]);
}

TEST(Fuse, ACastOfTheBiasGoesBeforeTheProduct) {
  const Attributes bf16 = {{attribute::kDType, DType::kBf16}};
  GraphBuilder builder;
  const OpId x = builder.Add(OpKind::kCast, {AddInput(builder, "image", {8, 6})}, bf16, "x");
  const OpId weight = builder.Add(OpKind::kCast, {AddInput(builder, "weight", {6, 4})}, bf16, "w");
  const OpId bias = AddInput(builder, "bias", {4});
  const OpId product = builder.Add(OpKind::kMatmul, {x, weight}, {}, "product");
  const OpId cast = builder.Add(OpKind::kCast, {bias}, bf16, "bias.bf16");
  builder.Add(OpKind::kRelu, {builder.Add(OpKind::kBiasAdd, {product, cast}, {}, "sum")}, {}, "result");
  const Program program = SingleRankProgram(std::move(builder).Build());
  EXPECT_EQ(StagesText(program, Fuse(program)), "x | w | bias.bf16 | product sum | result");
}

TEST(Storage, LoopsWriteOverInputsThatDie) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, "x", {16});
  const OpId a = builder.Add(OpKind::kReshape, {x}, {{attribute::kShape, Shape{4, 4}}}, "a");
  const OpId soft = builder.Add(OpKind::kSoftmax, {a}, {}, "soft");
  const OpId b = builder.Add(OpKind::kExp, {soft}, {}, "b");
  const OpId more = builder.Add(OpKind::kSoftmax, {b}, {}, "more");
  builder.Add(OpKind::kAdd, {more, b}, {}, "c");
  const Program program = SingleRankProgram(std::move(builder).Build());
  const Storage storage = PlanStorage(program, Fuse(program));
  EXPECT_EQ(storage.root[Named(program, "a")], Named(program, "x"));
  EXPECT_EQ(storage.root[Named(program, "b")], Named(program, "soft"));
  EXPECT_EQ(storage.root[Named(program, "c")], Named(program, "more"));
  // Inputs stay.
  EXPECT_EQ(storage.root[Named(program, "soft")], Named(program, "soft"));
}

TEST(Storage, AllReducesAreInPlaceAndMergedOnesContiguous) {
  const Mesh mesh = Mesh::OfDevices(2);
  const Graph graph = Trained(DenseForward(), {.kind = TestOptimizer::Kind::kMomentum});
  const Program program = DataParallelProgram(graph, mesh);
  const Fusion fusion = Fuse(program);
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
}  // namespace cleave::ir
