// Tests the memory that single steps need besides the arena.
#include "ir/program/memory/workspace.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"

namespace cleave::ir {
namespace {

ValueId AddValue(Program& program, const Shape& shape, const std::string& layout = "", DType dtype = DType::kF32) {
  const Layout parsed =
      layout.empty() ? Layout::Replicated(static_cast<int>(shape.size())) : *ParseLayout(layout, program.mesh);
  program.values.push_back({.name = "v", .type = {dtype, shape}, .layout = parsed, .origin = OpId(0)});
  return ValueId(static_cast<int64_t>(program.values.size()) - 1);
}

void AddCompute(Program& program, OpKind kind, const std::vector<Shape>& inputs, const Shape& output,
                Attributes attributes = {}) {
  Compute compute{
      .op = OpId(0), .kind = kind, .attributes = std::move(attributes), .inputs = {}, .output = {}, .strategy = {}};
  for (const Shape& shape : inputs) compute.inputs.push_back(AddValue(program, shape));
  compute.output = AddValue(program, output);
  program.steps.push_back({.action = std::move(compute), .name = std::string(OpKindName(kind))});
}

Attributes Padded() { return {{attribute::kStride, {1}}, {attribute::kPadding, {1}}, {attribute::kDilation, {1}}}; }

Attributes Reducing(std::vector<int64_t> axes) {
  return {{attribute::kAxes, std::move(axes)}, {attribute::kKeepDims, false}};
}

int64_t Needed(OpKind kind, const std::vector<Shape>& inputs, const Shape& output, Attributes attributes = {}) {
  Program program;
  program.mesh = Mesh::OfDevices(1);
  AddCompute(program, kind, inputs, output, std::move(attributes));
  return WorkspaceOf(program, {}, {}).value();
}

TEST(Workspace, ConvolutionsAreReorderedIntoBlocksOfChannels) {
  const Shape one = {128, 1, 28, 28}, filters = {32, 1, 3, 3}, results = {128, 32, 28, 28};
  // Of 128 samples 19 are convolved at once; a gradient of the filter is added to that of the samples before.
  EXPECT_EQ(Needed(OpKind::kConv2d, {one, filters}, results, Padded()), 1152 + 19 * 100352);
  EXPECT_EQ(Needed(OpKind::kConv2dGradientInput, {results, filters}, one, Padded()), 19 * 50176 + 18432 + 19 * 100352);
  EXPECT_EQ(Needed(OpKind::kConv2dGradientFilter, {results, one}, filters, Padded()), 1152 + 1152 + 19 * 100352);
  const Shape images = {128, 8, 14, 14}, wide = {16, 8, 3, 3}, wide_results = {128, 16, 14, 14};
  EXPECT_EQ(Needed(OpKind::kConv2d, {images, wide}, wide_results, Padded()), 4608 + 64 * 12544);
  EXPECT_EQ(Needed(OpKind::kConv2dGradientFilter, {wide_results, images}, wide, Padded()),
            4608 + 64 * 6272 + 4608 + 64 * 12544);
  EXPECT_EQ(Needed(OpKind::kConv2d, {{16, 24, 14, 14}, {16, 24, 3, 3}}, {16, 16, 14, 14}, Padded()),
            401408 + 18432 + 200704);
}

// What lies in blocks already is not reordered, and all samples are convolved at once.
TEST(Workspace, ImagesInBlocksStayWhereTheyAre) {
  const auto needed = [](OpKind kind, const std::vector<Shape>& inputs, const Shape& output,
                         const std::vector<int64_t>& in_blocks, Attributes attributes = {}) {
    Program program;
    program.mesh = Mesh::OfDevices(1);
    AddCompute(program, kind, inputs, output, std::move(attributes));
    Fusion fusion;
    for (const int64_t value : in_blocks) fusion.in_blocks.insert(ValueId(value));
    return WorkspaceOf(program, fusion, {}).value();
  };
  const Shape one = {128, 1, 28, 28}, filters = {32, 1, 3, 3}, results = {128, 32, 28, 28};
  EXPECT_EQ(needed(OpKind::kConv2d, {one, filters}, results, {2}, Padded()), 1152);
  EXPECT_EQ(needed(OpKind::kConv2dGradientFilter, {results, one}, filters, {0}, Padded()), 1152);
  const Shape images = {128, 32, 14, 14}, wide = {64, 32, 3, 3}, wide_results = {128, 64, 14, 14};
  EXPECT_EQ(needed(OpKind::kConv2d, {images, wide}, wide_results, {0, 2}, Padded()), 73728);
  EXPECT_EQ(needed(OpKind::kConv2dGradientInput, {wide_results, wide}, images, {0, 2}, Padded()), 73728);
  // Those that do not are convolved in parts: 64 and 32 samples.
  EXPECT_EQ(needed(OpKind::kConv2d, {images, wide}, wide_results, {2}, Padded()), 64 * 25088 + 73728);
  EXPECT_EQ(needed(OpKind::kConv2dGradientFilter, {wide_results, images}, wide, {1}, Padded()),
            73728 + 73728 + 32 * 50176);
  EXPECT_EQ(needed(OpKind::kReduceSum, {{8, 32, 5, 4}}, {32}, {0}, Reducing({0, -2, -1})), 8 * 32 * 4);
}

TEST(Workspace, PiecesThatStayAreAsLargeAsTheLargest) {
  Program program;
  program.mesh = Mesh::OfDevices(1);
  AddCompute(program, OpKind::kConv2d, {{128, 1, 28, 28}, {32, 1, 3, 3}}, {128, 32, 28, 28}, Padded());
  AddCompute(program, OpKind::kConv2d, {{128, 32, 14, 14}, {64, 32, 3, 3}}, {128, 64, 14, 14}, Padded());
  AddCompute(program, OpKind::kMse, {{1000}, {1000}}, {});
  AddCompute(program, OpKind::kMse, {{500}, {500}}, {});
  EXPECT_EQ(WorkspaceOf(program, {}, {}).value(), 26 * 25088 + 73728 + 19 * 100352 + 4000);
}

TEST(Workspace, Temporaries) {
  EXPECT_EQ(Needed(OpKind::kReduceSum, {{8, 6, 5, 4}}, {6}, Reducing({0, 2, 3})), 8 * 6 * 4);
  EXPECT_EQ(Needed(OpKind::kReduceSum, {{8, 6, 5, 4}}, {8, 6}, Reducing({2, 3})), 0);
  // Two sums for each 4 rows, or for as many that there are 512 or 256 parts, or 2^18 sums of each kind.
  EXPECT_EQ(Needed(OpKind::kLayerNormGradientScale, {{32, 16}, {32, 16}}, {16}), 2 * 8 * 16 * 4);
  EXPECT_EQ(Needed(OpKind::kLayerNormGradientScale, {{513, 64}, {513, 64}}, {64}), 2 * 129 * 64 * 4);
  EXPECT_EQ(Needed(OpKind::kLayerNormGradientScale, {{8, 1024, 768}, {8, 1024, 768}}, {768}), 2 * 512 * 768 * 4);
  EXPECT_EQ(Needed(OpKind::kLayerNormGradientScale, {{2000, 4096}, {2000, 4096}}, {4096}), 2 * 250 * 4096 * 4);
  EXPECT_EQ(Needed(OpKind::kLayerNormGradientScale, {{99999, 16}, {99999, 16}}, {16}), 2 * 14286 * 16 * 4);
  EXPECT_EQ(Needed(OpKind::kLayerNormGradientScale, {{0, 64}, {0, 64}}, {64}), 0);
  const auto sum = [](const Shape& shape, const Shape& result, std::vector<int64_t> axes) {
    return Needed(OpKind::kReduceSum, {shape}, result, Reducing(std::move(axes)));
  };
  EXPECT_EQ(sum({513, 64}, {64}, {0}), 3 * 64 * 4);
  EXPECT_EQ(sum({511, 64}, {64}, {0}), 0);
  EXPECT_EQ(sum({513, 257}, {257}, {0}), 0);
  EXPECT_EQ(sum({200, 100}, {}, {0, 1}), 5 * 4);
  EXPECT_EQ(sum({200, 100}, {200}, {1}), 0);
  EXPECT_EQ(sum({513, 64}, {513}, {-1}), 0);
  EXPECT_EQ(sum({7, 2, 4, 3, 5}, {2, 3}, {0, 2, 4}), (7 * 2 * 4 * 3 + 7 * 2 * 3) * 4);
  EXPECT_EQ(Needed(OpKind::kRelu, {{32, 16}}, {32, 16}), 0);
  EXPECT_EQ(Needed(OpKind::kTotal, {{10, 10}}, {10, 10}), 800);
  const auto einsum = [](const std::string& equation, const Shape& a, const Shape& b, const Shape& result) {
    return Needed(OpKind::kEinsum, {a, b}, result, {{attribute::kEquation, equation}});
  };
  EXPECT_EQ(einsum("bik,bkj->bij", {2, 3, 4}, {2, 4, 5}, {2, 3, 5}), 0);
  EXPECT_EQ(einsum("bik,bkj->bji", {2, 3, 4}, {2, 4, 5}, {2, 5, 3}), 0);  // As the product of the second and the first.
  EXPECT_EQ(einsum("ibk,bkj->bij", {3, 2, 4}, {2, 4, 5}, {2, 3, 5}), 4 * 24);
  EXPECT_EQ(einsum("ibk,bkj->ibj", {3, 2, 4}, {2, 4, 5}, {3, 2, 5}), 4 * (24 + 30));
  EXPECT_EQ(einsum("ij,jk->i", {3, 2}, {2, 5}, {3}), 0);
}

TEST(Workspace, OfAJointCallIsThatOfTheCall) {
  Program program;
  program.mesh = Mesh::OfDevices(1);
  AddCompute(program, OpKind::kLayerNormGradientScale, {{600, 100}, {600, 100}}, {100}, {{attribute::kEpsilon, 1e-5}});
  AddCompute(program, OpKind::kReduceSum, {{600, 100}}, {100}, Reducing({0}));
  std::get<Compute>(program.steps[1].action).inputs = {std::get<Compute>(program.steps[0].action).inputs[0]};
  program.loss = std::get<Compute>(program.steps[1].action).output;
  const Fusion fusion = Fuse(program);
  ASSERT_EQ(fusion.stages.size(), 1u);
  // Without that of a sum by itself, which is made of blocks of 163 rows.
  EXPECT_EQ(Needed(OpKind::kReduceSum, {{600, 100}}, {100}, Reducing({0})), 4 * 100 * 4);
  EXPECT_EQ(WorkspaceOf(program, fusion, {}).value(), 2 * 150 * 100 * 4);
}

Attributes PlainAttention() {
  return {{attribute::kHeadsInside, std::vector<int64_t>{0, 0, 0, 0}}, {attribute::kCap, 0.0}, {attribute::kRate, 0.0}};
}

// What the kernels took of the runtime's workspace for these sizes, forward and backward.
TEST(Workspace, AttentionOnTheCpu) {
  struct Case {
    DType dtype;
    Shape q, k;
    int64_t forward, both;
  };
  for (const Case& each : {Case{DType::kF32, {2, 4, 100, 40}, {2, 4, 300, 40}, 242176, 413952},
                           Case{DType::kBf16, {2, 4, 100, 40}, {2, 4, 300, 40}, 205312, 385280},
                           Case{DType::kF32, {1, 700, 16}, {1, 1200, 16}, 429056, 736256},
                           Case{DType::kBf16, {1, 700, 16}, {1, 1200, 16}, 457728, 872704},
                           Case{DType::kF32, {1, 8, 200, 16}, {1, 2, 1200, 16}, 419840, 1648640},
                           Case{DType::kBf16, {1, 8, 200, 16}, {1, 2, 1200, 16}, 440320, 1777920}}) {
    Program program;
    program.mesh = Mesh::OfDevices(1);
    const ValueId q = AddValue(program, each.q, "", each.dtype);
    const ValueId k = AddValue(program, each.k, "", each.dtype);
    Compute compute;
    compute.kind = OpKind::kAttention;
    compute.attributes = PlainAttention();
    program.steps.push_back({.action = compute, .name = "attention"});
    const AttentionInputs inputs = {.q = q, .k = k, .v = k};
    Fusion fusion;
    fusion.stages.push_back({.action = AttentionForward{.steps = {0}, .inputs = inputs, .output = q}});
    const FuseOptions fuse = {.attention_workspace = AttentionWorkspace::kBlocks};
    EXPECT_EQ(WorkspaceOf(program, fusion, fuse).value(), each.forward);
    AttentionBackward backward;
    backward.steps = {0};
    backward.inputs = inputs;
    backward.q_gradient = q;
    backward.k_gradient = backward.v_gradient = k;
    fusion.stages.push_back({.action = backward});
    EXPECT_EQ(WorkspaceOf(program, fusion, fuse).value(), each.both);
    // A gradient of the bias for each sample, and for each of a head's pieces.
    backward.inputs.bias = backward.bias_gradient = AddValue(program, {each.q[1], 16}, "", DType::kF32);
    fusion.stages.back().action = backward;
    EXPECT_GE(WorkspaceOf(program, fusion, fuse).value(), each.both + 4 * each.q[0] * each.q[1] * 16);
  }
}

// The bytes that plans of cuDNN have taken (bench/cudnn_plans), of f32 a number of each row; in units of 512.
TEST(Workspace, AttentionOnAGpu) {
  const auto needed = [](DType dtype, const std::vector<std::pair<Shape, Shape>>& calls, double cap = 0) {
    Program program;
    program.mesh = Mesh::OfDevices(1);
    Fusion fusion;
    for (const auto& [of_q, of_k] : calls) {
      const ValueId q = AddValue(program, of_q, "", dtype), k = AddValue(program, of_k, "", dtype);
      Compute compute;
      compute.kind = OpKind::kAttention;
      compute.attributes = PlainAttention();
      compute.attributes.Set(attribute::kCap, cap);
      program.steps.push_back({.action = compute, .name = "attention"});
      AttentionBackward backward;
      backward.steps = {static_cast<int>(program.steps.size()) - 1};
      backward.inputs = {.q = q, .k = k, .v = k};
      backward.q_gradient = q;
      backward.k_gradient = backward.v_gradient = k;
      fusion.stages.push_back({.action = backward});
    }
    return WorkspaceOf(program, fusion, {}).value();
  };
  const auto rounded = [](int64_t bytes) { return (bytes + 511) / 512 * 512; };
  const auto alike = [](const Shape& shape) { return std::pair(shape, shape); };
  EXPECT_EQ(needed(DType::kF32, {alike({8, 12, 1024, 64})}), rounded(4 * 8 * 12 * 1024));
  EXPECT_EQ(needed(DType::kBf16, {alike({8, 12, 1024, 20})}), rounded(4 * 8 * 12 * 1024));
  EXPECT_EQ(needed(DType::kBf16, {alike({8, 12, 1024, 64})}, 2.0), rounded(4 * 8 * 12 * 1024));
  EXPECT_EQ(needed(DType::kBf16, {alike({8, 12, 1024, 64})}), rounded(201720064));
  EXPECT_EQ(needed(DType::kF16, {{{3, 8, 100, 64}, {3, 8, 300, 64}}}), rounded(2369152));
  EXPECT_EQ(needed(DType::kBf16, {{{2, 8, 128, 64}, {2, 1, 128, 64}}}), rounded(1057024));
  // 672137472 bytes on an H100, so in slices of 2 samples of 8; a B200 takes more, all at once.
  EXPECT_EQ(needed(DType::kBf16, {{{8, 32, 1024, 128}, {8, 8, 1024, 128}}}), rounded(269484160));
  // 64 heads of 8 MiB of scores: 32 of them.
  EXPECT_EQ(needed(DType::kBf16, {alike({1, 64, 2048, 64})}), rounded(32 * (2 * 2048 * 2048 + 4 * 2048) + 256));
  // One head takes 512 MiB: kernels of the runtime compute it.
  EXPECT_EQ(needed(DType::kBf16, {alike({1, 2, 16384, 64})}), rounded(4 * 2 * 16384));
  // Memory is taken again for as many bytes only.
  EXPECT_EQ(needed(DType::kBf16, {alike({8, 12, 1024, 64}), alike({8, 12, 1024, 32}), alike({2, 8, 128, 16})}),
            rounded(201720064) + rounded(532736));
}

// One collective over both axes of a mesh of 2 x 2, of one tensor or several alike.
int64_t NeededFor(CollectiveKind kind, const std::string& from, const std::string& to, int from_dimension,
                  int to_dimension, int tensors = 1, PieceCounts counts = PieceCounts::kAny,
                  const Shape& shape = {8, 16}) {
  Program program;
  program.mesh = Mesh::OfDevices(4);
  Collective collective{.kind = kind, .axes = program.mesh.AxisIds(), .transfers = {}, .why = ""};
  for (int i = 0; i < tensors; ++i) {
    collective.transfers.push_back({.input = AddValue(program, shape, from),
                                    .output = AddValue(program, shape, to),
                                    .from_dimension = from_dimension,
                                    .to_dimension = to_dimension});
  }
  program.steps.push_back({.action = collective, .name = "collective"});
  return WorkspaceOf(program, {}, {.piece_counts = counts}).value();
}

TEST(Workspace, CollectivesPackWhatIsNotContiguous) {
  constexpr int64_t kWhole = 8 * 16 * 4;
  const std::string rows = "[m0 m1, -]", columns = "[-, m0 m1]", whole = "[-, -]";
  const std::string partial = "[-, -] partial(m0: sum, m1: sum)";
  EXPECT_EQ(NeededFor(CollectiveKind::kAllGather, rows, whole, 0, -1), 0);
  EXPECT_EQ(NeededFor(CollectiveKind::kAllGather, columns, whole, 1, -1), kWhole / 4 + kWhole);
  EXPECT_EQ(NeededFor(CollectiveKind::kAllGather, rows, whole, 0, -1, 3), 3 * (kWhole / 4 + kWhole));
  EXPECT_EQ(NeededFor(CollectiveKind::kReduceScatter, partial, rows, -1, 0), 0);
  EXPECT_EQ(NeededFor(CollectiveKind::kReduceScatter, partial, columns, -1, 1), kWhole + kWhole / 4);
  EXPECT_EQ(NeededFor(CollectiveKind::kReduceScatter, partial, rows, -1, 0, 2), 2 * (kWhole + kWhole / 4));
  // Where all ranks must have equally much, several tensors of which they have are taken as they lie, and one of which
  // they have not is packed: 4 parts with places for 3 of 10 rows of 60 bytes, 16 bytes apart.
  EXPECT_EQ(NeededFor(CollectiveKind::kReduceScatter, partial, rows, -1, 0, 2, PieceCounts::kEqual), 0);
  EXPECT_EQ(NeededFor(CollectiveKind::kReduceScatter, partial, columns, -1, 1, 1, PieceCounts::kEqual), kWhole * 5 / 4);
  EXPECT_EQ(NeededFor(CollectiveKind::kAllGather, rows, whole, 0, -1, 1, PieceCounts::kEqual, {10, 15}), 5 * 192);
  EXPECT_EQ(NeededFor(CollectiveKind::kAllGather, rows, whole, 0, -1, 1, PieceCounts::kAny, {10, 15}), 0);
  EXPECT_EQ(NeededFor(CollectiveKind::kAllToAll, rows, columns, 0, 1), 2 * kWhole / 4);
  EXPECT_EQ(NeededFor(CollectiveKind::kAllReduce, partial, whole, -1, -1, 2), 0);
}

}  // namespace
}  // namespace cleave::ir
