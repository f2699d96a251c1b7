#include "ir/transforms/differentiate/models.h"

#include "ir/graph/ops/builder.h"
#include "ir/testing/sources.h"

namespace cleave::ir {
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
  const OpId flat = builder.Add(OpKind::kFlatten, {image}, {}, "image.flat");
  const OpId w1 = AddParameter(builder, "h1.weight", {5, 4});
  const OpId b1 = AddParameter(builder, "h1.bias", {5});
  const OpId m1 = builder.Add(OpKind::kMatmul, {flat, w1}, {{attribute::kTransposeB, true}}, "h1.matmul");
  const OpId a1 = builder.Add(OpKind::kBiasAdd, {m1, b1}, {}, "h1.bias_add");
  const OpId h1 = builder.Add(OpKind::kRelu, {a1}, {}, "h1");
  builder.SetLine(5);
  const OpId w2 = AddParameter(builder, "logits.weight", {3, 5});
  const OpId logits = builder.Add(OpKind::kMatmul, {h1, w2}, {{attribute::kTransposeB, true}}, "logits");
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
  const OpId x = builder.Add(OpKind::kEmbedding, {tokens, table}, {}, "x");
  const OpId norm_scale = AddParameter(builder, "norm.scale", {4});
  const OpId norm_shift = AddParameter(builder, "norm.shift", {4});
  const OpId norm = builder.Add(OpKind::kLayerNorm, {x, norm_scale, norm_shift}, {{attribute::kEpsilon, 0.1}}, "norm");
  // Heads, then query, key and value within a head.
  const OpId qkv_weight = AddParameter(builder, "qkv.weight", {12, 4});
  const OpId qkv = builder.Add(OpKind::kMatmul, {norm, qkv_weight}, {{attribute::kTransposeB, true}}, "qkv");
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
  const OpId sum = builder.Add(OpKind::kAdd, {x, a}, {}, "sum");
  const OpId product = builder.Add(OpKind::kMul, {sum, b}, {}, "product");
  const OpId squared = builder.Add(OpKind::kMul, {product, product}, {}, "squared");
  const OpId left =
      builder.Add(OpKind::kSlice, {squared}, {{attribute::kBegin, Ints{0, 0}}, {attribute::kEnd, Ints{4, 2}}}, "left");
  const OpId both = builder.Add(OpKind::kConcat, {left, product}, {{attribute::kAxis, 1}}, "both");
  const OpId curved = builder.Add(OpKind::kGelu, {both}, {}, "curved");
  const OpId mean =
      builder.Add(OpKind::kReduceMean, {curved}, {{attribute::kAxes, Ints{1}}, {attribute::kKeepDims, true}}, "mean");
  builder.mutable_graph().loss = builder.Add(OpKind::kMse, {mean, target}, {}, "loss");
  return std::move(builder).Build();
}

Graph ImageGraph() {
  GraphBuilder builder;
  const OpId image = AddInput(builder, "image", {4, 2, 9, 8});
  const OpId label = AddInput(builder, "label", {4}, DType::kI32);
  const OpId filter1 = AddParameter(builder, "c1.filter", {4, 2, 3, 3});
  const OpId c1 = builder.Add(OpKind::kConv2d, {image, filter1}, {{attribute::kPadding, Ints{1}}}, "c1.conv2d");
  const OpId bias1 = AddParameter(builder, "c1.bias", {4, 1, 1});
  const OpId biased = builder.Add(OpKind::kAdd, {c1, bias1}, {}, "c1.add");
  const OpId pooled = builder.Add(
      OpKind::kMaxPool, {builder.Add(OpKind::kTanh, {biased}, {}, "c1.tanh")},
      {{attribute::kKernel, Ints{3, 2}}, {attribute::kStride, Ints{2}}, {attribute::kPadding, Ints{1, 0}}}, "c1.pool");
  const OpId filter2 = AddParameter(builder, "c2.filter", {6, 2, 2, 3});
  const OpId c2 = builder.Add(
      OpKind::kConv2d, {pooled, filter2},
      {{attribute::kStride, Ints{1, 2}}, {attribute::kPadding, Ints{0, 2}}, {attribute::kGroups, 2}}, "c2.conv2d");
  const OpId means = builder.Add(OpKind::kAvgPool, {c2},
                                 {{attribute::kKernel, Ints{2}}, {attribute::kPadding, Ints{0, 1}}}, "c2.pool");
  const OpId flat = builder.Add(OpKind::kFlatten, {means}, {}, "flat");
  const OpId weight = AddParameter(builder, "logits.weight", {3, builder.type(flat).shape[1]});
  const OpId logits = builder.Add(OpKind::kMatmul, {flat, weight}, {{attribute::kTransposeB, true}}, "logits");
  builder.mutable_graph().loss = builder.Add(OpKind::kCrossEntropy, {logits, label}, {}, "loss");
  return std::move(builder).Build();
}

}  // namespace cleave::ir
