#include "ir/testing/graphs.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/testing/sources.h"
#include "ir/transforms/differentiate/differentiate.h"

namespace cleave::ir {
namespace {

Graph Trained(GraphBuilder builder, const std::string& model, OpId loss, const TestOptimizer& optimizer) {
  builder.mutable_graph().model = model;
  builder.mutable_graph().file = model + ".model";
  builder.mutable_graph().loss = loss;
  return TrainingGraph(std::move(builder).Build(), optimizer);
}

}  // namespace

Graph TrainingGraph(Graph forward, const TestOptimizer& optimizer) {
  absl::StatusOr<Graph> graph = Differentiate(std::move(forward), optimizer);
  CLEAVE_CHECK(graph.ok()) << graph.status();
  const std::vector<std::string> errors = VerifyGraph(*graph);
  CLEAVE_CHECK(errors.empty()) << errors.front();
  return *std::move(graph);
}

Graph TestMlp(const TestOptimizer& optimizer) {
  GraphBuilder b;
  const OpId image = AddInput(b, "image", {24, 10});
  const OpId label = AddInput(b, "label", {24}, DType::kI32);
  const OpId w1 = AddParameter(b, "w1", {12, 10});
  const OpId b1 = AddParameter(b, "b1", {12});
  const OpId w2 = AddParameter(b, "w2", {12, 8});
  const OpId h1 =
      b.Add(OpKind::kRelu,
            {b.Add(OpKind::kBiasAdd, {b.Add(OpKind::kMatmul, {image, w1}, {{attribute::kTransposeB, true}}, "h1"), b1},
                   {}, "h1.bias")},
            {}, "h1.relu");
  const OpId logits = b.Add(OpKind::kMatmul, {h1, w2}, {}, "logits");
  const OpId loss = b.Add(OpKind::kCrossEntropy, {logits, label}, {}, "loss");
  b.SetPhase(Phase::kMetric);
  const OpId accuracy = b.Add(OpKind::kAccuracy, {logits, label}, {}, "accuracy");
  b.mutable_graph().metrics.push_back({.name = "accuracy", .value = accuracy});
  return Trained(std::move(b), "mlp", loss, optimizer);
}

Graph TestTiedWeights() {
  GraphBuilder b;
  const OpId tokens = AddInput(b, "tokens", {6, 5}, DType::kI32);
  const OpId next = AddInput(b, "next", {6, 5}, DType::kI32);
  const OpId table = AddParameter(b, "table", {9, 8});
  const OpId x = b.Add(OpKind::kEmbedding, {tokens, table}, {}, "x");
  const OpId y = b.Add(OpKind::kGelu, {x}, {}, "y");
  const OpId logits = b.Add(OpKind::kMatmul, {y, table}, {{attribute::kTransposeB, true}}, "logits");
  const OpId loss = b.Add(OpKind::kCrossEntropy, {logits, next}, {}, "loss");
  return Trained(std::move(b), "tied", loss, {.kind = TestOptimizer::Kind::kAdam, .rate = 0.1});
}

Graph TestAttention() {
  constexpr int64_t kBatch = 4, kSeq = 6, kHeads = 2, kHead = 4, kWidth = kHeads * kHead;
  GraphBuilder b;
  const OpId x = AddInput(b, "x", {kBatch, kSeq, kWidth});
  const OpId target = AddInput(b, "target", {kBatch, kSeq, kWidth});
  const OpId scale = AddParameter(b, "norm.scale", {kWidth});
  const OpId shift = AddParameter(b, "norm.shift", {kWidth});
  const OpId normed = b.Add(OpKind::kLayerNorm, {x, scale, shift}, {}, "norm");
  const auto heads = [&](const std::string& name) {
    const OpId weight = AddParameter(b, name + ".weight", {kWidth, kWidth});
    const OpId projected = b.Add(OpKind::kMatmul, {normed, weight}, {}, name);
    const OpId split = b.Add(OpKind::kReshape, {projected},
                             {{attribute::kShape, std::vector<int64_t>{kBatch, kSeq, kHeads, kHead}}}, name + ".split");
    return b.Add(OpKind::kTranspose, {split}, {{attribute::kPermutation, std::vector<int64_t>{0, 2, 1, 3}}},
                 name + ".heads");
  };
  const OpId q = heads("q"), k = heads("k"), v = heads("v");
  const OpId scores = b.Add(OpKind::kCausalMask,
                            {b.Add(OpKind::kMatmul, {q, k}, {{attribute::kTransposeB, true}}, "scores")}, {}, "mask");
  const OpId mixed = b.Add(OpKind::kMatmul, {b.Add(OpKind::kSoftmax, {scores}, {}, "weights"), v}, {}, "mixed");
  const OpId back =
      b.Add(OpKind::kTranspose, {mixed}, {{attribute::kPermutation, std::vector<int64_t>{0, 2, 1, 3}}}, "back");
  const OpId joined =
      b.Add(OpKind::kReshape, {back}, {{attribute::kShape, std::vector<int64_t>{kBatch, kSeq, kWidth}}}, "joined");
  const OpId out = AddParameter(b, "out.weight", {kWidth, kWidth});
  const OpId y = b.Add(OpKind::kAdd, {x, b.Add(OpKind::kMatmul, {joined, out}, {}, "out")}, {}, "y");
  const OpId loss = b.Add(OpKind::kMse, {y, target}, {}, "loss");
  return Trained(std::move(b), "attention", loss, {.kind = TestOptimizer::Kind::kSgd, .rate = 0.1});
}

Graph TestScan(int64_t steps) {
  const Shape shape = {3, steps, 4};
  GraphBuilder b;
  const OpId x = AddInput(b, "x", shape);
  const OpId target = AddInput(b, "target", shape);
  const OpId decay = AddParameter(b, "decay", {4});
  const OpId weight = AddParameter(b, "weight", {4});
  const OpId keep = b.Add(OpKind::kSigmoid, {b.Add(OpKind::kMul, {x, decay}, {}, "decayed")}, {}, "keep");
  const OpId taken = b.Add(OpKind::kMul, {x, weight}, {}, "taken");
  const OpId state = b.Add(OpKind::kScan, {keep, taken}, {{attribute::kAxis, 1}}, "state");
  const OpId loss = b.Add(OpKind::kMse, {state, target}, {}, "loss");
  return Trained(std::move(b), "scan", loss, {.kind = TestOptimizer::Kind::kSgd, .rate = 0.1});
}

Graph TestRecurrent(int64_t steps) {
  constexpr int64_t kBatch = 8, kVocabulary = 11, kWidth = 6;
  GraphBuilder b;
  const OpId tokens = AddInput(b, "tokens", {kBatch, steps}, DType::kI32);
  const OpId next = AddInput(b, "next", {kBatch, steps}, DType::kI32);
  const Attributes random = {{attribute::kInit, "uniform"}, {attribute::kFirst, -0.5}, {attribute::kSecond, 0.5}};
  const OpId table = AddParameter(b, "table", {kVocabulary, kWidth}, random);
  const OpId weight = AddParameter(b, "weight", {kWidth, kWidth}, random);
  const OpId last = AddParameter(b, "last", {kVocabulary, kWidth}, random);
  const OpId x = b.Add(OpKind::kEmbedding, {tokens, table}, {}, "x");
  const OpId zero = b.Add(OpKind::kConstant, {}, {{attribute::kValue, 0.0}}, "zero");
  OpId state = b.Add(OpKind::kBroadcastTo, {zero}, {{attribute::kShape, Shape{kBatch, kWidth}}}, "start");
  std::vector<OpId> all;
  for (int64_t t = 0; t < steps; ++t) {
    const std::string path = absl::StrCat("h.", t, ".");
    b.SetSource({.of = InPass({}, /*loop=*/1, t)});
    const OpId slice =
        b.Add(OpKind::kSlice, {x},
              {{attribute::kBegin, Shape{0, t, 0}}, {attribute::kEnd, Shape{kBatch, t + 1, kWidth}}}, path + "slice");
    const OpId place = b.Add(OpKind::kReshape, {slice}, {{attribute::kShape, Shape{kBatch, kWidth}}}, path + "reshape");
    const OpId product = b.Add(OpKind::kMatmul, {state, weight}, {}, path + "product");
    const OpId sum = b.Add(OpKind::kAdd, {place, product}, {}, path + "sum");
    state = b.Add(OpKind::kTanh, {sum}, {}, absl::StrCat("s.", t, ".tanh"));
    all.push_back(b.Add(OpKind::kReshape, {state}, {{attribute::kShape, Shape{kBatch, 1, kWidth}}},
                        absl::StrCat("s.", t, ".tanh.reshape")));
  }
  b.SetSource(GraphBuilder::Source());
  const OpId stacked = b.Add(OpKind::kConcat, std::move(all), {{attribute::kAxis, 1}}, "all");
  const OpId logits = b.Add(OpKind::kMatmul, {stacked, last}, {{attribute::kTransposeB, true}}, "logits");
  const OpId loss = b.Add(OpKind::kCrossEntropy, {logits, next}, {}, "loss");
  return Trained(std::move(b), "recurrent", loss, {.kind = TestOptimizer::Kind::kAdam, .rate = 0.01});
}

}  // namespace cleave::ir
