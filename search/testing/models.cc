#include "search/testing/models.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "ir/graph/ops/ops.h"
#include "search/testing/model_builder.h"

namespace cleave::testing {
namespace {

using Ints = std::vector<int64_t>;

OpId Heads(ModelBuilder& b, OpId parts, const GptShape& shape, int64_t which, const std::string& name) {
  const int64_t head = shape.width / shape.heads;
  const OpId cut = b.Add(OpKind::kSlice, {parts}, name + ".cut",
                         {{attribute::kBegin, Ints{0, 0, 0, which, 0}},
                          {attribute::kEnd, Ints{shape.batch, shape.seq, shape.heads, which + 1, head}}});
  const OpId flat = b.Reshape(cut, {shape.batch, shape.seq, shape.heads, head}, name + ".flat");
  return b.Transpose(flat, {0, 2, 1, 3}, name);
}

OpId Block(ModelBuilder& b, OpId x, const GptShape& shape, const std::string& name) {
  const int64_t head = shape.width / shape.heads;
  const OpId qkv = b.Dense(b.Norm(x, name + ".norm1"), name + ".qkv", name + ".qkv.weight", 3 * shape.width);
  const OpId parts = b.Reshape(qkv, {shape.batch, shape.seq, shape.heads, 3, head}, name + ".parts");
  const OpId query = Heads(b, parts, shape, 0, name + ".query");
  const OpId key = Heads(b, parts, shape, 1, name + ".key");
  const OpId value = Heads(b, parts, shape, 2, name + ".value");
  const OpId scores = b.Add(OpKind::kMatmul, {query, key}, name + ".scores", {{attribute::kTransposeB, true}});
  const OpId scaled = b.Add(OpKind::kScale, {scores}, name + ".scaled", {{attribute::kFactor, 0.25}});
  const OpId weights =
      b.Add(OpKind::kSoftmax, {b.Add(OpKind::kCausalMask, {scaled}, name + ".mask")}, name + ".weights");
  const OpId mixed = b.Add(OpKind::kMatmul, {weights, value}, name + ".mixed");
  const OpId back = b.Transpose(mixed, {0, 2, 1, 3}, name + ".back");
  const OpId joined = b.Reshape(back, {shape.batch, shape.seq, shape.width}, name + ".joined");
  const OpId middle =
      b.Add(OpKind::kAdd, {x, b.Dense(joined, name + ".out", name + ".out.weight", shape.width)}, name + ".middle");
  const OpId up = b.Dense(b.Norm(middle, name + ".norm2"), name + ".up", name + ".up.weight", 4 * shape.width);
  const OpId down =
      b.Dense(b.Add(OpKind::kGelu, {up}, name + ".gelu"), name + ".down", name + ".down.weight", shape.width);
  return b.Add(OpKind::kAdd, {middle, down}, name + ".end");
}

// Every expert sees all tokens; a token's result is the sum of the experts' ones, weighted by the router.
OpId Experts(ModelBuilder& b, OpId x, const ExpertsShape& shape, const std::string& name) {
  const auto product = [&](const std::string& equation, OpId left, OpId right, const std::string& part) {
    return b.Add(OpKind::kEinsum, {left, right}, name + part, {{attribute::kEquation, equation}});
  };
  const OpId normed = b.Norm(x, name + ".norm");
  const OpId gates = b.Add(
      OpKind::kSoftmax, {b.Dense(normed, name + ".router", name + ".router.weight", shape.experts)}, name + ".gates");
  const OpId up = b.Parameter(name + ".up.weight", {shape.experts, shape.width, shape.hidden});
  const OpId down = b.Parameter(name + ".down.weight", {shape.experts, shape.hidden, shape.width});
  const OpId hidden = b.Add(OpKind::kGelu, {product("td,edf->etf", normed, up, ".up")}, name + ".gelu");
  const OpId results = product("etf,efd->etd", hidden, down, ".down");
  return b.Add(OpKind::kAdd, {x, product("etd,te->td", results, gates, ".mixed")}, name + ".end");
}

int FactorNamed(const Rule& rule, char letter) {
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    if (rule.factors[f].name == std::string(1, letter)) return static_cast<int>(f);
  }
  return -1;
}

}  // namespace

Graph Mlp(int64_t batch, const std::vector<int64_t>& widths) {
  ModelBuilder b;
  OpId x = b.Input("x", DType::kF32, {batch, widths[0]});
  const OpId target = b.Input("target", DType::kF32, {batch, widths.back()});
  for (size_t layer = 0; layer + 1 < widths.size(); ++layer) {
    const std::string name = absl::StrCat("h", layer);
    x = b.Dense(x, name, absl::StrCat("w", layer), widths[layer + 1]);
    if (layer + 2 < widths.size()) x = b.Add(OpKind::kRelu, {x}, name + ".relu");
  }
  return std::move(b).Trained(b.Add(OpKind::kMae, {x, target}, "loss"), Optimizer::Kind::kSgd);
}

Graph SeedNetwork() { return Mlp(256, {784, 512, 512, 1}); }

Graph Gpt(const GptShape& shape) {
  ModelBuilder b;
  const OpId tokens = b.Input("tokens", DType::kI32, {shape.batch, shape.seq});
  const OpId next = b.Input("next", DType::kI32, {shape.batch, shape.seq});
  const OpId table = b.Parameter("embedding.weight", {shape.vocab, shape.width});
  const OpId position = b.Parameter("position.weight", {shape.seq, shape.width});
  OpId x = b.Add(OpKind::kAdd, {b.Add(OpKind::kEmbedding, {tokens, table}, "embedding"), position}, "start");
  for (int layer = 0; layer < shape.layers; ++layer) x = Block(b, x, shape, absl::StrCat("x.", layer));
  const OpId logits = b.Dense(b.Norm(x, "norm"), "logits", "logits.weight", shape.vocab);
  return std::move(b).Trained(b.Add(OpKind::kCrossEntropy, {logits, next}, "loss"), Optimizer::Kind::kAdamW);
}

GptShape Gpt3(int64_t batch) {
  return {.batch = batch, .seq = 2048, .vocab = 51200, .width = 12288, .heads = 96, .layers = 96};
}

Graph MixtureOfExperts(const ExpertsShape& shape) {
  ModelBuilder b;
  OpId x = b.Input("x", DType::kF32, {shape.tokens, shape.width});
  const OpId target = b.Input("target", DType::kF32, {shape.tokens, shape.width});
  x = b.Dense(x, "stem", "stem.weight", shape.width);
  for (int layer = 0; layer < shape.layers; ++layer) x = Experts(b, x, shape, absl::StrCat("x.", layer));
  return std::move(b).Trained(b.Add(OpKind::kMse, {b.Dense(x, "head", "head.weight", shape.width), target}, "loss"),
                              Optimizer::Kind::kAdamW);
}

Graph MatmulChain(const std::vector<int64_t>& sizes) {
  ModelBuilder b;
  OpId x = b.Input("x", DType::kF32, {sizes[0], sizes[1]});
  for (size_t i = 1; i + 1 < sizes.size(); ++i) {
    const OpId weight = b.Parameter(absl::StrCat("w", i - 1), {sizes[i], sizes[i + 1]});
    x = b.Add(OpKind::kMatmul, {x, weight}, absl::StrCat("m", i - 1));
  }
  return std::move(b).Forward();
}

Strategy Letters(const Graph& graph, const Mesh& mesh, OpId matmul, const std::string& letters,
                 const std::vector<int>& order) {
  const Rule rule = RuleOf(graph, graph.op(matmul));
  Strategy strategy = Strategy::Replicated(rule);
  for (int position = 0; position < mesh.axis_count(); ++position) {
    const int axis = order.empty() ? position : order[static_cast<size_t>(position)];
    const int factor = FactorNamed(rule, letters[static_cast<size_t>(axis)]);
    CLEAVE_CHECK(factor >= 0) << letters;
    strategy.cuts[static_cast<size_t>(factor)].push_back(AxisId(axis));
  }
  return strategy;
}

std::string LettersOf(const Graph& graph, const Mesh& mesh, OpId matmul, const Strategy& strategy) {
  const Rule rule = RuleOf(graph, graph.op(matmul));
  std::string letters(static_cast<size_t>(mesh.axis_count()), '-');
  for (size_t factor = 0; factor < strategy.cuts.size(); ++factor) {
    for (AxisId axis : strategy.cuts[factor]) letters[static_cast<size_t>(axis.value())] = rule.factors[factor].name[0];
  }
  return letters;
}

}  // namespace cleave::testing
