// Tests which communication the gradients of manual models need. ir/transforms/differentiate/manual_gradients_test.cc
// shows that they are right.

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/testing/optimizers.h"
#include "ir/transforms/differentiate/differentiate.h"

namespace cleave::ir {
namespace {

using Ints = std::vector<int64_t>;

class ManualModel {
 public:
  explicit ManualModel(std::vector<RankAxis> axes) { builder_.mutable_graph().rank_axes = std::move(axes); }

  OpId Add(OpKind kind, std::vector<OpId> inputs, Attributes attributes, const std::string& name) {
    return builder_.Add(kind, std::move(inputs), std::move(attributes), name);
  }
  OpId Parameter(const std::string& name, const Shape& shape, bool local = false) {
    return Add(OpKind::kParameter, {}, {{attribute::kShape, shape}, {attribute::kLocal, local}}, name);
  }
  OpId Rows(const Shape& shape, Ints starts) {
    const OpId x = Add(OpKind::kInput, {}, {{attribute::kShape, shape}, {attribute::kData, "x"}}, "x");
    const int64_t size = shape[0] / static_cast<int64_t>(starts.size());
    return Add(OpKind::kRankSlice, {x},
               {{attribute::kAxis, 0}, {attribute::kSize, size}, {attribute::kStarts, std::move(starts)}}, "rows");
  }
  OpId Mean(OpId value) { return Add(OpKind::kReduceMean, {value}, {}, "mean"); }

  // The backward ops as text, one op a line, followed by what VerifyGraph finds.
  std::string Backward(OpId mean, const std::string& group, int64_t size) {
    builder_.mutable_graph().loss =
        Add(OpKind::kAllReduce, {mean}, {{attribute::kGroup, group}, {attribute::kSize, size}}, "loss");
    const absl::StatusOr<Graph> graph = Differentiate(builder_.graph(), {.rate = 1});
    EXPECT_TRUE(graph.ok()) << graph.status();
    std::string text;
    for (const std::string& error : VerifyGraph(*graph)) absl::StrAppend(&text, error, "\n");
    for (const Op& op : graph->ops) {
      if (op.phase != Phase::kBackward) continue;
      absl::StrAppend(&text, op.name, " = ", OpKindName(op.kind), "(");
      for (OpId input : op.inputs) absl::StrAppend(&text, input == op.inputs[0] ? "" : ", ", graph->op(input).name);
      const bool grouped = op.attributes.Has(attribute::kGroup);
      absl::StrAppend(&text, ")", grouped ? absl::StrCat(" over ", op.attributes.Get(attribute::kGroup)) : "", "\n");
    }
    return text;
  }

 private:
  GraphBuilder builder_;
};

// Data parallelism written by hand: the gradient of the all-reduced loss is passed on unchanged, that of the weight is
// summed.
TEST(ManualDifferentiateTest, DataParallel) {
  ManualModel model({{"world", 2}});
  const OpId y = model.Add(OpKind::kMatmul, {model.Rows({4, 3}, {0, 2}), model.Parameter("weight", {3, 2})}, {}, "y");
  EXPECT_EQ(model.Backward(model.Mean(y), "world", 2),
            "loss.grad = constant()\n"
            "mean.grad_x = scale(loss.grad)\n"
            "mean.grad_x_1 = reshape(mean.grad_x)\n"
            "y.grad = broadcast_to(mean.grad_x_1)\n"
            "y.grad_b = matmul(rows, y.grad)\n"
            "weight.grad = all_reduce(y.grad_b) over world\n");
}

// Two uses on ranks that differ on the same axes: one all_reduce of their sum. A use on ranks that do not differ needs
// none.
TEST(ManualDifferentiateTest, ContributionsAreAddedFirst) {
  ManualModel model({{"dp", 2}, {"tp", 2}});
  const OpId rows = model.Rows({4, 3}, {0, 0, 1, 1});
  const OpId weight = model.Parameter("weight", {1, 3});
  const OpId twice =
      model.Add(OpKind::kMul, {model.Add(OpKind::kMul, {rows, weight}, {}, "once"), weight}, {}, "twice");
  const OpId alone = model.Mean(model.Add(OpKind::kSquare, {weight}, {}, "square"));
  const OpId mean = model.Add(OpKind::kAdd, {model.Mean(twice), alone}, {}, "both");
  EXPECT_EQ(model.Backward(mean, "dp", 2),
            "loss.grad = constant()\n"
            "mean_1.grad_x = scale(loss.grad)\n"
            "mean_1.grad_x_1 = reshape(mean_1.grad_x)\n"
            "twice.grad = broadcast_to(mean_1.grad_x_1)\n"
            "mean.grad = scale(loss.grad)\n"
            "mean.grad_x = scale(mean.grad)\n"
            "mean.grad_x_1 = reshape(mean.grad_x)\n"
            "square.grad = broadcast_to(mean.grad_x_1)\n"
            "square.grad_x = mul(square.grad, weight)\n"
            "square.grad_x_1 = scale(square.grad_x)\n"
            "once.grad = mul(twice.grad, weight)\n"
            "twice.grad_y = mul(twice.grad, once)\n"
            "once.grad_y = mul(once.grad, rows)\n"
            "weight.grad_part = add(twice.grad_y, once.grad_y)\n"
            "weight.grad_sum = all_reduce(weight.grad_part) over dp\n"
            "weight.grad = add(square.grad_x_1, weight.grad_sum)\n");
}

// A local parameter keeps the gradient of its rank.
TEST(ManualDifferentiateTest, LocalParametersNeedNoSum) {
  ManualModel model({{"world", 2}});
  const OpId y =
      model.Add(OpKind::kMul, {model.Rows({4, 3}, {0, 2}), model.Parameter("weight", {2, 3}, true)}, {}, "y");
  EXPECT_EQ(model.Backward(model.Mean(y), "world", 2),
            "loss.grad = constant()\n"
            "mean.grad_x = scale(loss.grad)\n"
            "mean.grad_x_1 = reshape(mean.grad_x)\n"
            "y.grad = broadcast_to(mean.grad_x_1)\n"
            "weight.grad = mul(y.grad, rows)\n");
}

// Weights stored in parts and gathered before use: their gradient comes in parts.
TEST(ManualDifferentiateTest, GatheredWeightsGetReduceScatter) {
  ManualModel model({{"dp", 2}, {"tp", 2}});
  const OpId part = model.Parameter("part", {3, 2}, true);
  const OpId weight = model.Add(OpKind::kAllGather, {part},
                                {{attribute::kAxis, 1}, {attribute::kGroup, "dp"}, {attribute::kSize, 2}}, "weight");
  const OpId y = model.Add(OpKind::kMatmul, {model.Rows({4, 3}, {0, 1, 2, 3}), weight}, {}, "y");
  EXPECT_EQ(model.Backward(model.Mean(y), "dp tp", 4),
            "loss.grad = constant()\n"
            "mean.grad_x = scale(loss.grad)\n"
            "mean.grad_x_1 = reshape(mean.grad_x)\n"
            "y.grad = broadcast_to(mean.grad_x_1)\n"
            "y.grad_b = matmul(rows, y.grad)\n"
            "part.grad = reduce_scatter(y.grad_b) over dp\n");
}

// The parts are equal on ranks that use the whole with different values: the remaining sum is taken over the parts.
TEST(ManualDifferentiateTest, TheRestIsSummedInParts) {
  ManualModel model({{"dp", 2}, {"tp", 2}});
  const OpId factor =
      model.Add(OpKind::kRankValue, {}, {{attribute::kValues, std::vector<double>{1, 1, 2, 2}}}, "factor");
  const OpId part = model.Add(OpKind::kMul, {model.Parameter("shared", {3, 2}), factor}, {}, "part");
  const OpId weight = model.Add(OpKind::kAllGather, {part},
                                {{attribute::kAxis, 1}, {attribute::kGroup, "dp"}, {attribute::kSize, 2}}, "weight");
  const OpId y = model.Add(OpKind::kMatmul, {model.Rows({4, 3}, {0, 1, 2, 3}), weight}, {}, "y");
  EXPECT_EQ(model.Backward(model.Mean(y), "dp tp", 4),
            "loss.grad = constant()\n"
            "mean.grad_x = scale(loss.grad)\n"
            "mean.grad_x_1 = reshape(mean.grad_x)\n"
            "y.grad = broadcast_to(mean.grad_x_1)\n"
            "y.grad_b = matmul(rows, y.grad)\n"
            "weight.grad_x = reduce_scatter(y.grad_b) over dp\n"
            "part.grad = all_reduce(weight.grad_x) over tp\n"
            "part.grad_x = mul(part.grad, factor)\n"
            "shared.grad = all_reduce(part.grad_x) over dp\n");
}

// Where the gradient of what was gathered is whole already, a rank takes its part.
TEST(ManualDifferentiateTest, GatheredActivationsGetTheirPart) {
  ManualModel model({{"world", 2}});
  const OpId own = model.Add(OpKind::kMul, {model.Rows({4, 3}, {0, 2}), model.Parameter("weight", {2, 3})}, {}, "own");
  const OpId all = model.Add(OpKind::kAllGather, {own},
                             {{attribute::kAxis, 0}, {attribute::kGroup, "world"}, {attribute::kSize, 2}}, "all");
  EXPECT_EQ(model.Backward(model.Mean(all), "world", 2),
            "loss.grad = constant()\n"
            "mean.grad = scale(loss.grad)\n"
            "mean.grad_x = scale(mean.grad)\n"
            "mean.grad_x_1 = reshape(mean.grad_x)\n"
            "all.grad = broadcast_to(mean.grad_x_1)\n"
            "own.grad = rank_slice(all.grad)\n"
            "own.grad_y = mul(own.grad, rows)\n"
            "weight.grad = all_reduce(own.grad_y) over world\n");
}

// Ranks that compute the same contribution need not send it to each other.
TEST(ManualDifferentiateTest, EqualContributionsAreMultiplied) {
  ManualModel model({{"world", 3}});
  const OpId mean = model.Mean(model.Parameter("weight", {2, 3}));
  EXPECT_EQ(model.Backward(mean, "world", 3),
            "loss.grad = constant()\n"
            "mean.grad = scale(loss.grad)\n"
            "mean.grad_x = scale(mean.grad)\n"
            "mean.grad_x_1 = reshape(mean.grad_x)\n"
            "weight.grad = broadcast_to(mean.grad_x_1)\n");
}

// The slots of a local parameter are local, those of others are not.
TEST(ManualDifferentiateTest, SlotsAreLocalAsTheirParameters) {
  GraphBuilder builder;
  builder.mutable_graph().rank_axes = {{"world", 2}};
  const OpId own =
      builder.Add(OpKind::kParameter, {}, {{attribute::kShape, Shape{}}, {attribute::kLocal, true}}, "own");
  const OpId shared = builder.Add(OpKind::kParameter, {}, {{attribute::kShape, Shape{}}}, "shared");
  const OpId product = builder.Add(OpKind::kMul, {own, shared}, {}, "product");
  builder.mutable_graph().loss =
      builder.Add(OpKind::kAllReduce, {product}, {{attribute::kGroup, "world"}, {attribute::kSize, 2}}, "loss");
  const absl::StatusOr<Graph> graph =
      Differentiate(std::move(builder).Build(), {.kind = TestOptimizer::Kind::kAdam, .rate = 1});
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(VerifyGraph(*graph), std::vector<std::string>());
  EXPECT_TRUE(graph->op(*graph->Find("own.adam_m")).attributes.Get(attribute::kLocal));
  EXPECT_TRUE(graph->op(*graph->Find("own.adam_v")).attributes.Get(attribute::kLocal));
  EXPECT_FALSE(graph->op(*graph->Find("shared.adam_m")).attributes.Get(attribute::kLocal));
}

}  // namespace
}  // namespace cleave::ir
