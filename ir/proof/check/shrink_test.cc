// What is simulated is small, however large the dimensions of a model are and however it is cut.

#include "ir/proof/check/shrink.h"

#include <functional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/row_updates/row_updates.h"
#include "ir/graph/text.h"
#include "ir/program/partition/partition.h"
#include "ir/proof/check/check.h"
#include "ir/proof/check/simulation_size.h"
#include "ir/testing/optimizers.h"
#include "ir/testing/plans.h"
#include "ir/testing/random_plan.h"
#include "ir/testing/seed.h"
#include "ir/transforms/differentiate/differentiate.h"
#include "ir/transforms/distribute/distribute.h"

namespace cleave::ir {
namespace {

using Numbers = std::vector<int64_t>;
using Draw = std::function<int64_t(int64_t least, int64_t most)>;

// Adds ops to a model whose value so far is `x`. Numbers come from `draw`.
class Layers {
 public:
  Layers(GraphBuilder& builder, Draw draw) : builder_(builder), draw_(std::move(draw)) {}

  const Shape& shape(OpId x) const { return builder_.type(x).shape; }
  int64_t Number(int64_t least, int64_t most) { return draw_(least, most); }
  OpId Add(OpKind kind, std::vector<OpId> inputs, Attributes attributes = {}) {
    return builder_.Add(kind, std::move(inputs), std::move(attributes), std::string(OpKindName(kind)));
  }
  OpId Parameter(Shape shape) { return Add(OpKind::kParameter, {}, {{attribute::kShape, std::move(shape)}}); }

  // x[.., begin..end, ..] of dimension `d`.
  OpId Slice(OpId x, size_t d, int64_t begin, int64_t end) {
    Numbers from(shape(x).size(), 0);
    Numbers to = shape(x);
    from[d] = begin;
    to[d] = end;
    return Add(OpKind::kSlice, {x}, {{attribute::kBegin, from}, {attribute::kEnd, to}});
  }
  OpId SomeSlice(OpId x, size_t d) {
    const int64_t begin = Number(0, shape(x)[d] - 2);
    return Slice(x, d, begin, Number(begin + 1, shape(x)[d]));
  }
  OpId Concat(std::vector<OpId> parts, int64_t axis) {
    return Add(OpKind::kConcat, std::move(parts), {{attribute::kAxis, axis}});
  }
  OpId Reshape(OpId x, Shape shape) { return Add(OpKind::kReshape, {x}, {{attribute::kShape, std::move(shape)}}); }
  // Images through five convolutions with stride 2 and one more of their own size after each. Each is normalized.
  OpId Halved(OpId images, const std::function<OpId(OpId)>& normalize) {
    for (int i = 0; i < 10; ++i) {
      const int64_t stride = i % 2 == 0 ? 2 : 1;
      const OpId filter = Parameter({8, shape(images)[1], 3, 3});
      const OpId convolved = Add(OpKind::kConv2d, {images, filter},
                                 {{attribute::kStride, Numbers{stride, stride}}, {attribute::kPadding, Numbers{1, 1}}});
      images = Add(OpKind::kRelu, {normalize(convolved)});
    }
    return images;
  }
  OpId Pad(OpId x, size_t d, int64_t before, int64_t after) {
    Numbers front(shape(x).size(), 0);
    Numbers back = front;
    front[d] = before;
    back[d] = after;
    return Add(OpKind::kPad, {x}, {{attribute::kBefore, front}, {attribute::kAfter, back}});
  }

 private:
  GraphBuilder& builder_;
  Draw draw_;
};

struct NamedLayers {
  std::string name;
  Shape input;
  std::function<OpId(Layers& layers, OpId x)> add;
};

constexpr int64_t kHuge = int64_t{1} << 40;

std::vector<NamedLayers> Models() {
  return {
      {"a slice", {8, kHuge}, [](Layers& l, OpId x) { return l.SomeSlice(x, 1); }},
      {"a slice of the batch", {kHuge, 4}, [](Layers& l, OpId x) { return l.SomeSlice(x, 0); }},
      {"neighbours",
       {8, kHuge},
       [](Layers& l, OpId x) {
         return l.Add(OpKind::kAdd, {l.Slice(x, 1, 0, kHuge - 1), l.Slice(x, 1, 1, kHuge)});
       }},
      {"halves that change places",
       {8, kHuge},
       [](Layers& l, OpId x) {
         const OpId turned = l.Concat({l.Slice(x, 1, kHuge / 2, kHuge), l.Slice(x, 1, 0, kHuge / 2)}, 1);
         return l.Add(OpKind::kMul, {x, turned});
       }},
      {"queries, keys and values",
       {4, kHuge / 1024, 96},
       [](Layers& l, OpId x) {
         const auto third = [&](int64_t i) { return l.Slice(x, 2, 32 * i, 32 * (i + 1)); };
         const OpId scores = l.Add(OpKind::kMul, {third(0), third(1)});
         return l.Concat({l.Add(OpKind::kMul, {scores, third(2)}), x}, 2);
       }},
      {"parts of parts",
       {8, kHuge},
       [](Layers& l, OpId x) {
         return l.SomeSlice(l.SomeSlice(l.Concat({l.SomeSlice(x, 1), l.SomeSlice(x, 1), x}, 1), 1), 1);
       }},
      {"padding",
       {8, kHuge},
       [](Layers& l, OpId x) {
         const OpId wide = l.Pad(x, 1, l.Number(0, kHuge), l.Number(0, kHuge));
         return l.Concat({l.SomeSlice(wide, 1), wide}, 1);
       }},
      {"padding that is cut off",
       {8, kHuge},
       [](Layers& l, OpId x) {
         const OpId wide = l.Pad(x, 1, 1000, 1);
         return l.Add(OpKind::kAdd, {x, l.Slice(wide, 1, 1000, kHuge + 1000)});
       }},
      {"a row of each",
       {8, kHuge},
       [](Layers& l, OpId x) {
         OpId sum = l.Slice(x, 1, 0, 1);
         for (int64_t i = 1; i < 20; ++i) sum = l.Add(OpKind::kAdd, {sum, l.Slice(x, 1, i * 1000, i * 1000 + 1)});
         return sum;
       }},
      {"a slice of what was reshaped",
       {8, kHuge / 64, 64},
       [](Layers& l, OpId x) {
         return l.SomeSlice(l.Add(OpKind::kFlatten, {x}, {{attribute::kStart, 1}}), 1);
       }},
      {"convolutions",
       {4, 3, 1 << 20, 1 << 20},
       [](Layers& l, OpId x) {
         const auto convolve = [&](OpId images, int64_t kernel, int64_t stride, int64_t padding) {
           const OpId filter = l.Parameter({2, l.shape(images)[1], kernel, kernel});
           return l.Add(
               OpKind::kConv2d, {images, filter},
               {{attribute::kStride, Numbers{stride, stride}}, {attribute::kPadding, Numbers{padding, padding}}});
         };
         const OpId first = convolve(convolve(x, 7, 2, 3), 3, 1, 1);
         return l.Add(OpKind::kAdd, {convolve(convolve(first, 3, 2, 1), 3, 1, 1), convolve(first, 1, 2, 0)});
       }},
      {"a convolution with large numbers",
       {2, 2, 1 << 21, 1 << 20},
       [](Layers& l, OpId x) {
         const OpId filter = l.Parameter({2, 2, l.Number(1, 2000), 1 << 18});
         return l.Add(OpKind::kConv2d, {x, filter},
                      {{attribute::kStride, Numbers{l.Number(1, 1000), l.Number(1, 1 << 19)}},
                       {attribute::kPadding, Numbers{l.Number(0, 1000), l.Number(0, 1 << 18)}},
                       {attribute::kDilation, Numbers{l.Number(1, 500), l.Number(1, 4)}}});
       }},
      {"patches",
       {4, 3, 1 << 20, 1 << 20},
       [](Layers& l, OpId x) {
         const OpId filter = l.Parameter({2, 3, 1 << 10, 1 << 10});
         return l.Add(OpKind::kConv2d, {x, filter}, {{attribute::kStride, Numbers{1 << 10, 1 << 10}}});
       }},
      {"down and up again",
       {4, 3, 1 << 20, 1 << 16},
       [](Layers& l, OpId x) {
         const OpId down = l.Parameter({2, 3, 3, 3});
         const OpId up = l.Parameter({2, 3, 3, 3});
         const Attributes halves = {{attribute::kStride, Numbers{2, 2}}, {attribute::kPadding, Numbers{1, 1}}};
         Attributes doubles = halves;
         doubles.Set(attribute::kOutputPadding, Numbers{1, 1});
         const OpId small = l.Add(OpKind::kConv2d, {x, down}, halves);
         return l.Concat({x, l.Add(OpKind::kConvTranspose2d, {small, up}, doubles)}, 1);
       }},
      {"poolings",
       {4, 3, 1 << 20, 1 << 20},
       [](Layers& l, OpId x) {
         const OpId first = l.Add(OpKind::kMaxPool, {x}, {{attribute::kKernel, Numbers{2, 3}}});
         return l.Add(OpKind::kAvgPool, {first},
                      {{attribute::kKernel, Numbers{3, 3}},
                       {attribute::kStride, Numbers{2, 1}},
                       {attribute::kPadding, Numbers{1, 1}}});
       }},
      {"a pooling of everything",
       {4, 3, 1 << 20, 1 << 10},
       [](Layers& l, OpId x) {
         return l.Add(OpKind::kAvgPool, {l.Add(OpKind::kRelu, {x})}, {{attribute::kKernel, Numbers{1 << 20, 1 << 10}}});
       }},
      {"a pooling with large numbers",
       {4, 3, 1 << 20, 1 << 20},
       [](Layers& l, OpId x) {
         const int64_t kernel = l.Number(2, 1 << 19);
         return l.Add(OpKind::kMaxPool, {x},
                      {{attribute::kKernel, Numbers{kernel, 2}},
                       {attribute::kStride, Numbers{l.Number(1, 1 << 19), 1 << 19}},
                       {attribute::kPadding, Numbers{l.Number(0, kernel - 1), 1}}});
       }},
      {"the largest",
       {8, (int64_t{1} << 31) - 1},
       [](Layers& l, OpId x) {
         return l.Add(OpKind::kTopK, {x}, {{attribute::kK, l.Number(1, 1 << 30)}});
       }},
  };
}

std::vector<NamedLayers> HalvedImages() {
  const Shape images = {1 << 20, 3, 224, 224};
  return {{"normalized in their own shape", images,
           [](Layers& l, OpId x) { return l.Halved(x, [](OpId convolved) { return convolved; }); }},
          {"normalized with their places as one dimension", images, [](Layers& l, OpId x) {
             return l.Halved(x, [&l](OpId convolved) {
               const Shape shape = l.shape(convolved);
               const OpId places = l.Reshape(convolved, {shape[0], shape[1], shape[2] * shape[3]});
               const OpId means = l.Add(OpKind::kReduceMean, {places},
                                        {{attribute::kAxes, Numbers{0, 2}}, {attribute::kKeepDims, true}});
               return l.Reshape(l.Add(OpKind::kSub, {places, means}), shape);
             });
           }}};
}

Graph GraphOf(const NamedLayers& model, const Draw& draw) {
  GraphBuilder builder;
  const OpId x = builder.Add(OpKind::kInput, {}, {{attribute::kShape, model.input}, {attribute::kData, "x"}}, "x");
  Layers layers(builder, draw);
  const OpId scale = layers.Parameter(Shape{model.input.back()});
  const OpId y = layers.Add(OpKind::kTanh, {model.add(layers, layers.Add(OpKind::kMul, {x, scale}))});
  builder.mutable_graph().loss = layers.Add(OpKind::kReduceMean, {y});
  return *Differentiate(std::move(builder).Build(), {.kind = TestOptimizer::Kind::kMomentum, .rate = 0.1});
}

// Every cut that a step makes is as uneven as it was, and leaves as many ranks without elements or with one.
void ExpectSameCuts(const Program& program, const Shrunk& shrunk) {
  if (program.mesh != shrunk.program.mesh) return;
  for (const Step& step : program.steps) {
    const auto* compute = std::get_if<Compute>(&step.action);
    if (compute == nullptr) continue;
    const Value& value = program.value(compute->output);
    const Shape& small = shrunk.program.value(compute->output).type.shape;
    for (size_t d = 0; d < small.size(); ++d) {
      const int64_t pieces = program.mesh.Size(value.layout.dimensions[d]);
      const int64_t size = value.type.shape[d];
      EXPECT_EQ(size % pieces == 0, small[d] % pieces == 0) << value.name << " " << size << " became " << small[d];
      EXPECT_EQ(size < pieces, small[d] < pieces) << value.name << " " << size << " became " << small[d];
      EXPECT_EQ(size == pieces, small[d] == pieces) << value.name << " " << size << " became " << small[d];
    }
  }
}

// `most`: elements that are simulated per value and rank.
void CheckModel(const Graph& graph, const Plan& plan, double most) {
  const absl::StatusOr<Distributed> distributed = Distribute(graph, plan);
  ASSERT_TRUE(distributed.ok()) << distributed.status();
  const absl::StatusOr<Program> program = Partition(distributed->graph, distributed->plan);
  ASSERT_TRUE(program.ok()) << program.status();
  ASSERT_EQ(CheckStatically(*program), std::vector<std::string>());
  const absl::StatusOr<Shrunk> shrunk = Shrink(distributed->graph, *program, plan.mesh);
  ASSERT_TRUE(shrunk.ok()) << shrunk.status();
  ExpectSameCuts(*program, *shrunk);
  const double tensors = static_cast<double>(program->values.size()) * program->mesh.rank_count() +
                         4 * static_cast<double>(distributed->graph.ops.size());
  EXPECT_LE(SimulatedElements(shrunk->graph, shrunk->program), most * tensors) << GraphText(shrunk->graph);
  const absl::StatusOr<SimulationReport> report = CheckBySimulation(graph, *distributed, *program);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_FALSE(report->too_large.has_value())
      << distributed->graph.op(report->too_large->op).name << ": " << report->too_large->size;
}

TEST(ShrinkTest, HugeModelsBecomeSmall) {
  constexpr double kMost = 20000;
  const uint64_t seed = TestSeed();
  for (const NamedLayers& model : Models()) {
    for (int64_t devices : {1, 2, 3, 4, 8}) {
      std::mt19937_64 random(seed + static_cast<uint64_t>(devices));
      SCOPED_TRACE(absl::StrCat(model.name, " on ", devices, " devices, seed ", seed));
      const Graph graph = GraphOf(model, [&](int64_t least, int64_t most) {
        return std::uniform_int_distribution<int64_t>(least, most)(random);
      });
      CheckModel(graph, DataParallelPlan(graph, Mesh::OfDevices(devices)), kMost);
      CheckModel(graph, RandomPlan(graph, Mesh::OfDevices(devices), random), kMost);
      if (HasFatalFailure()) return;
    }
  }
}

// Every convolution is cut along its rows by all axes, and nothing else is cut.
Plan RowsPlan(const Graph& graph, const Mesh& mesh) {
  Plan plan;
  plan.mesh = mesh;
  for (const Op& op : graph.ops) {
    const Rule rule = RuleOf(graph, op);
    plan.ops.push_back({.strategy = Strategy::Replicated(rule), .output = std::nullopt});
    if (op.kind != OpKind::kConv2d) continue;
    const size_t rows = static_cast<size_t>(rule.output[2].front());
    for (int axis = 0; axis < mesh.axis_count(); ++axis) plan.ops[op.id].strategy.cuts[rows].push_back(AxisId(axis));
  }
  return plan;
}

// The smallest images have 7 rows, which eight ranks leave uneven at every size but the largest ones.
TEST(ShrinkTest, HalvedImagesBecomeSmall) {
  for (const NamedLayers& model : HalvedImages()) {
    const Graph graph = GraphOf(model, [](int64_t least, int64_t) { return least; });
    for (int64_t devices : {1, 2, 3, 4, 8}) {
      SCOPED_TRACE(absl::StrCat(model.name, " on ", devices, " devices"));
      CheckModel(graph, DataParallelPlan(graph, Mesh::OfDevices(devices)), 10000);
      CheckModel(graph, RowsPlan(graph, Mesh::OfDevices(devices)), 20000);
      if (HasFatalFailure()) return;
    }
  }
}

// Two equal ops share the windows that they read, although the size of one of them is fixed.
TEST(ShrinkTest, WhoReadsTheSameWindowsKeepsTheSameSizes) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, "x", {4, 6});
  const Attributes attributes = {{attribute::kBefore, Shape{3, 0}}, {attribute::kAfter, Shape{0, 0}}};
  const OpId padded = builder.Add(OpKind::kPad, {x}, attributes, "padded");
  const OpId flat_padded = builder.Add(OpKind::kPad, {x}, attributes, "flat_padded");
  const OpId flat = builder.Add(OpKind::kReshape, {flat_padded}, {{attribute::kShape, Shape{42}}}, "flat");
  const OpId longer =
      builder.Add(OpKind::kPad, {flat}, {{attribute::kBefore, Shape{5}}, {attribute::kAfter, Shape{8}}}, "longer");
  const OpId rows = builder.Add(OpKind::kReshape, {longer}, {{attribute::kShape, Shape{5, 11}}}, "rows");
  const OpId first = builder.Add(OpKind::kReduceMean, {padded}, {}, "first");
  const OpId second = builder.Add(OpKind::kReduceMean, {rows}, {}, "second");
  builder.mutable_graph().loss = builder.Add(OpKind::kAdd, {first, second}, {}, "loss");
  const Graph graph = std::move(builder).Build();
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    const Plan plan = RandomPlan(graph, Mesh::OfDevices(38), random);
    CheckModel(graph, plan, 1000);
    if (HasFatalFailure()) return;
  }
}

// Places that are computed are beyond the rows of a smaller table: gradients by rows leave them out as whole ones do.
TEST(ShrinkTest, RowsBeyondTheTableCountNothing) {
  GraphBuilder builder;
  const OpId number = AddInput(builder, "number", {24}, DType::kI32);
  const OpId begin =
      builder.Add(OpKind::kConstant, {}, {{attribute::kValue, 900.0}, {attribute::kDType, DType::kI32}}, "begin");
  const OpId row = builder.Add(OpKind::kAdd, {number, begin}, {}, "row");
  const OpId table = AddParameter(builder, "table", {1000, 4});
  const OpId found = builder.Add(OpKind::kEmbedding, {row, table}, {}, "found");
  builder.mutable_graph().loss =
      builder.Add(OpKind::kReduceMean, {builder.Add(OpKind::kTanh, {found}, {}, "bounded")}, {}, "loss");
  const Graph whole = *Differentiate(std::move(builder).Build(), {.rate = 0.1, .clips = true});
  const RowUpdates updates = FindRowUpdates(whole);
  ASSERT_EQ(updates.possible.size(), 1u);
  const Graph graph = WithRowUpdates(whole, {updates.possible[0].gradient});
  CheckModel(graph, DataParallelPlan(graph, Mesh::OfDevices(2)), 1000);
}

}  // namespace
}  // namespace cleave::ir
