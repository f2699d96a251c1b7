#include "ir/differentiate/models.h"

#include "ir/ops/builder.h"
#include "ir/testing/sources.h"

namespace cleave {
namespace {

using Ints = std::vector<int64_t>;

OpId Reshape(GraphBuilder& builder, OpId x, const Shape& shape, const std::string& name) {
  return builder.Add(OpKind::kReshape, {x}, {{attribute::kShape, shape}}, name);
}

}  // namespace

Graph MlpGraph() {
  GraphBuilder builder;
  builder.SetLine(2);
  const OpId image = AddInput(builder, "image", {6, 1, 2, 2});
  const OpId label = AddInput(builder, "label", {6}, DType::kI32);
  builder.SetLine(4);
  const OpId flat = builder.Add("flatten", {image}, {}, "image.flat");
  const OpId w1 = AddParameter(builder, "h1.weight", {5, 4});
  const OpId b1 = AddParameter(builder, "h1.bias", {5});
  const OpId m1 = builder.Add("matmul", {flat, w1}, {{"transpose_b", true}}, "h1.matmul");
  const OpId a1 = builder.Add("bias_add", {m1, b1}, {}, "h1.bias_add");
  const OpId h1 = builder.Add("relu", {a1}, {}, "h1");
  builder.SetLine(5);
  const OpId w2 = AddParameter(builder, "logits.weight", {3, 5});
  const OpId logits = builder.Add("matmul", {h1, w2}, {{"transpose_b", true}}, "logits");
  builder.SetLine(6);
  builder.mutable_graph().loss = builder.Add(OpKind::kCrossEntropy, {logits, label}, {}, "loss");
  builder.SetPhase(Phase::kMetric);
  const OpId accuracy = builder.Add(OpKind::kAccuracy, {logits, label}, {}, "accuracy");
  builder.mutable_graph().metrics.push_back({.name = "accuracy", .value = accuracy});
  return std::move(builder).Build();
}

Graph AttentionGraph() {
  GraphBuilder builder;
  const OpId tokens = AddInput(builder, "tokens", {2, 3}, DType::kI32);
  const OpId next = AddInput(builder, "next", {2, 3}, DType::kI32);
  const OpId table = AddParameter(builder, "table", {3, 4});
  const OpId x = builder.Add("embedding", {tokens, table}, {}, "x");
  const OpId norm_scale = AddParameter(builder, "norm.scale", {4});
  const OpId norm_shift = AddParameter(builder, "norm.shift", {4});
  const OpId norm = builder.Add("layer_norm", {x, norm_scale, norm_shift}, {{"epsilon", 0.1}}, "norm");
  // Heads, then query, key and value within a head.
  const OpId qkv_weight = AddParameter(builder, "qkv.weight", {12, 4});
  const OpId qkv = builder.Add("matmul", {norm, qkv_weight}, {{"transpose_b", true}}, "qkv");
  const OpId split = Reshape(builder, qkv, {2, 3, 2, 3, 2}, "qkv.split");
  auto part = [&](int64_t index, const std::string& name) {
    const OpId slice = builder.Add(
        OpKind::kSlice, {split},
        {{attribute::kBegin, Ints{0, 0, 0, index, 0}}, {attribute::kEnd, Ints{2, 3, 2, index + 1, 2}}}, name);
    const OpId flat = Reshape(builder, slice, {2, 3, 2, 2}, name);
    return builder.Add(OpKind::kTranspose, {flat}, {{attribute::kPermutation, Ints{0, 2, 1, 3}}}, name);
  };
  const OpId query = part(0, "query");
  const OpId key = part(1, "key");
  const OpId value = part(2, "value");
  const OpId scores = builder.Add(OpKind::kMatmul, {query, key}, {{attribute::kTransposeB, true}}, "scores");
  const OpId scaled = builder.Add(OpKind::kScale, {scores}, {{attribute::kFactor, 0.7}}, "scores.scaled");
  const OpId masked = builder.Add(OpKind::kCausalMask, {scaled}, {}, "scores.masked");
  const OpId weights = builder.Add(OpKind::kSoftmax, {masked}, {}, "attention");
  const OpId mixed = builder.Add(OpKind::kMatmul, {weights, value}, {}, "mixed");
  const OpId back =
      builder.Add(OpKind::kTranspose, {mixed}, {{attribute::kPermutation, Ints{0, 2, 1, 3}}}, "mixed.back");
  const OpId joined = Reshape(builder, back, {2, 3, 4}, "mixed.joined");
  const OpId residual = builder.Add(OpKind::kAdd, {x, joined}, {}, "residual");
  const OpId logits = builder.Add(OpKind::kMatmul, {residual, table}, {{attribute::kTransposeB, true}}, "logits");
  builder.mutable_graph().loss = builder.Add(OpKind::kCrossEntropy, {logits, next}, {}, "loss");
  return std::move(builder).Build();
}

Graph MixedGraph() {
  GraphBuilder builder;
  const OpId x = AddInput(builder, "x", {4, 3});
  const OpId target = AddInput(builder, "target", {4, 1});
  const OpId a = AddParameter(builder, "a", {3});
  const OpId b = AddParameter(builder, "b", {4, 1});
  const OpId sum = builder.Add("add", {x, a}, {}, "sum");
  const OpId product = builder.Add("mul", {sum, b}, {}, "product");
  const OpId squared = builder.Add("mul", {product, product}, {}, "squared");
  const OpId left = builder.Add("slice", {squared}, {{"begin", Ints{0, 0}}, {"end", Ints{4, 2}}}, "left");
  const OpId both = builder.Add("concat", {left, product}, {{"axis", int64_t{1}}}, "both");
  const OpId curved = builder.Add("gelu", {both}, {}, "curved");
  const OpId mean = builder.Add("reduce_mean", {curved}, {{"axes", Ints{1}}, {"keep_dims", true}}, "mean");
  builder.mutable_graph().loss = builder.Add("mse", {mean, target}, {}, "loss");
  return std::move(builder).Build();
}

Graph ImageGraph() {
  GraphBuilder builder;
  const OpId image = AddInput(builder, "image", {4, 2, 9, 8});
  const OpId label = AddInput(builder, "label", {4}, DType::kI32);
  const OpId filter1 = AddParameter(builder, "c1.filter", {4, 2, 3, 3});
  const OpId c1 = builder.Add("conv2d", {image, filter1}, {{"padding", Ints{1}}}, "c1.conv2d");
  const OpId bias1 = AddParameter(builder, "c1.bias", {4, 1, 1});
  const OpId biased = builder.Add("add", {c1, bias1}, {}, "c1.add");
  const OpId pooled = builder.Add("max_pool", {builder.Add("tanh", {biased}, {}, "c1.tanh")},
                                  {{"kernel", Ints{3, 2}}, {"stride", Ints{2}}, {"padding", Ints{1, 0}}}, "c1.pool");
  const OpId filter2 = AddParameter(builder, "c2.filter", {6, 2, 2, 3});
  const OpId c2 = builder.Add("conv2d", {pooled, filter2},
                              {{"stride", Ints{1, 2}}, {"padding", Ints{0, 2}}, {"groups", int64_t{2}}}, "c2.conv2d");
  const OpId means = builder.Add("avg_pool", {c2}, {{"kernel", Ints{2}}, {"padding", Ints{0, 1}}}, "c2.pool");
  const OpId flat = builder.Add("flatten", {means}, {}, "flat");
  const OpId weight = AddParameter(builder, "logits.weight", {3, builder.type(flat).shape[1]});
  const OpId logits = builder.Add("matmul", {flat, weight}, {{"transpose_b", true}}, "logits");
  builder.mutable_graph().loss = builder.Add("cross_entropy", {logits, label}, {}, "loss");
  return std::move(builder).Build();
}

}  // namespace cleave
