#include "search/testing/models.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "ir/graph/ops/ops.h"
#include "search/testing/model_builder.h"

namespace cleave::search::testing {
namespace {

using Ints = std::vector<int64_t>;

ir::OpId Heads(ModelBuilder& b, ir::OpId parts, const GptShape& shape, int64_t which, const std::string& name) {
  const int64_t head = shape.width / shape.heads;
  const ir::OpId cut = b.Add(ir::OpKind::kSlice, {parts}, name + ".cut",
                             {{ir::attribute::kBegin, Ints{0, 0, 0, which, 0}},
                              {ir::attribute::kEnd, Ints{shape.batch, shape.seq, shape.heads, which + 1, head}}});
  return b.Reshape(cut, {shape.batch, shape.seq, shape.heads, head}, name);
}

ir::OpId Block(ModelBuilder& b, ir::OpId x, const GptShape& shape, const std::string& name) {
  const int64_t head = shape.width / shape.heads;
  const ir::OpId qkv = b.Dense(b.Norm(x, name + ".norm1"), name + ".qkv", name + ".qkv.weight", 3 * shape.width);
  const ir::OpId parts = b.Reshape(qkv, {shape.batch, shape.seq, shape.heads, 3, head}, name + ".parts");
  const ir::OpId query = Heads(b, parts, shape, 0, name + ".query");
  const ir::OpId key = Heads(b, parts, shape, 1, name + ".key");
  const ir::OpId value = Heads(b, parts, shape, 2, name + ".value");
  const ir::Attributes attributes = {
      {ir::attribute::kFactor, 0.25}, {ir::attribute::kCausal, true}, {ir::attribute::kHeadsInside, Ints{1, 1, 1, 1}}};
  const ir::OpId statistics =
      b.Add(ir::OpKind::kAttentionLogsumexp, {query, key}, name + ".mixed.logsumexp", attributes);
  const ir::OpId mixed = b.Add(ir::OpKind::kAttention, {query, key, value, statistics}, name + ".mixed", attributes);
  const ir::OpId joined = b.Reshape(mixed, {shape.batch, shape.seq, shape.width}, name + ".joined");
  const ir::OpId middle =
      b.Add(ir::OpKind::kAdd, {x, b.Dense(joined, name + ".out", name + ".out.weight", shape.width)}, name + ".middle");
  const ir::OpId up = b.Dense(b.Norm(middle, name + ".norm2"), name + ".up", name + ".up.weight", 4 * shape.width);
  const ir::OpId down =
      b.Dense(b.Add(ir::OpKind::kGelu, {up}, name + ".gelu"), name + ".down", name + ".down.weight", shape.width);
  return b.Add(ir::OpKind::kAdd, {middle, down}, name + ".end");
}

// Every expert sees all tokens; a token's result is the sum of the experts' ones, weighted by the router.
ir::OpId Experts(ModelBuilder& b, ir::OpId x, const ExpertsShape& shape, const std::string& name) {
  const auto product = [&](const std::string& equation, ir::OpId left, ir::OpId right, const std::string& part) {
    return b.Add(ir::OpKind::kEinsum, {left, right}, name + part, {{ir::attribute::kEquation, equation}});
  };
  const ir::OpId normed = b.Norm(x, name + ".norm");
  const ir::OpId gates =
      b.Add(ir::OpKind::kSoftmax, {b.Dense(normed, name + ".router", name + ".router.weight", shape.experts)},
            name + ".gates");
  const ir::OpId up = b.Parameter(name + ".up.weight", {shape.experts, shape.width, shape.hidden});
  const ir::OpId down = b.Parameter(name + ".down.weight", {shape.experts, shape.hidden, shape.width});
  const ir::OpId hidden = b.Add(ir::OpKind::kGelu, {product("td,edf->etf", normed, up, ".up")}, name + ".gelu");
  const ir::OpId results = product("etf,efd->etd", hidden, down, ".down");
  return b.Add(ir::OpKind::kAdd, {x, product("etd,te->td", results, gates, ".mixed")}, name + ".end");
}

int FactorNamed(const ir::Rule& rule, char letter) {
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    if (rule.factors[f].name == std::string(1, letter)) return static_cast<int>(f);
  }
  return -1;
}

}  // namespace

ir::Graph Mlp(int64_t batch, const std::vector<int64_t>& widths) {
  ModelBuilder b;
  ir::OpId x = b.Input("x", ir::DType::kF32, {batch, widths[0]});
  const ir::OpId target = b.Input("target", ir::DType::kF32, {batch, widths.back()});
  for (size_t layer = 0; layer + 1 < widths.size(); ++layer) {
    const std::string name = absl::StrCat("h", layer);
    x = b.Dense(x, name, absl::StrCat("w", layer), widths[layer + 1]);
    if (layer + 2 < widths.size()) x = b.Add(ir::OpKind::kRelu, {x}, name + ".relu");
  }
  return std::move(b).Trained(b.Add(ir::OpKind::kMae, {x, target}, "loss"), ir::TestOptimizer::Kind::kSgd);
}

ir::Graph SeedNetwork() { return Mlp(256, {784, 512, 512, 1}); }

ir::Graph Gpt(const GptShape& shape) {
  ModelBuilder b;
  const ir::OpId tokens = b.Input("tokens", ir::DType::kI32, {shape.batch, shape.seq});
  const ir::OpId next = b.Input("next", ir::DType::kI32, {shape.batch, shape.seq});
  const ir::OpId table = b.Parameter("embedding.weight", {shape.vocab, shape.width});
  const ir::OpId position = b.Parameter("position.weight", {shape.seq, shape.width});
  ir::OpId x =
      b.Add(ir::OpKind::kAdd, {b.Add(ir::OpKind::kEmbedding, {tokens, table}, "embedding"), position}, "start");
  for (int layer = 0; layer < shape.layers; ++layer) {
    b.BeginPass(layer);
    x = Block(b, x, shape, absl::StrCat("x.", layer));
  }
  b.EndLoop();
  const ir::OpId logits = b.Dense(b.Norm(x, "norm"), "logits", "logits.weight", shape.vocab);
  return std::move(b).Trained(b.Add(ir::OpKind::kCrossEntropy, {logits, next}, "loss"), ir::TestOptimizer::Kind::kAdam);
}

GptShape Gpt3(int64_t batch) {
  return {.batch = batch, .seq = 2048, .vocab = 51200, .width = 12288, .heads = 96, .layers = 96};
}

ir::Graph MixtureOfExperts(const ExpertsShape& shape) {
  ModelBuilder b;
  ir::OpId x = b.Input("x", ir::DType::kF32, {shape.tokens, shape.width});
  const ir::OpId target = b.Input("target", ir::DType::kF32, {shape.tokens, shape.width});
  x = b.Dense(x, "stem", "stem.weight", shape.width);
  for (int layer = 0; layer < shape.layers; ++layer) {
    b.BeginPass(layer);
    x = Experts(b, x, shape, absl::StrCat("x.", layer));
  }
  b.EndLoop();
  return std::move(b).Trained(b.Add(ir::OpKind::kMse, {b.Dense(x, "head", "head.weight", shape.width), target}, "loss"),
                              ir::TestOptimizer::Kind::kAdam);
}

ir::Graph TwoReaders(int64_t rows, int64_t columns) {
  ModelBuilder b;
  const ir::OpId first = b.Dense(b.Input("x", ir::DType::kF32, {rows, columns}), "first", "w0", columns);
  const ir::OpId value = b.Add(ir::OpKind::kRelu, {first}, "relu");
  const ir::OpId by_rows = b.Dense(value, "by_rows", "w1", columns);
  const ir::OpId by_columns = b.Dense(value, "by_columns", "w2", columns);
  const ir::OpId both = b.Add(ir::OpKind::kAdd, {by_rows, by_columns}, "both");
  const ir::OpId target = b.Input("target", ir::DType::kF32, {rows, columns});
  return std::move(b).Trained(b.Add(ir::OpKind::kMse, {both, target}, "loss"), ir::TestOptimizer::Kind::kSgd);
}

ir::Graph LeastOfColumns(int64_t rows, int64_t columns) {
  ModelBuilder b;
  const ir::OpId x = b.Dense(b.Input("x", ir::DType::kF32, {rows, columns}), "x", "w", columns);
  const ir::OpId least = b.Add(ir::OpKind::kReduceMin, {x}, "least", {{ir::attribute::kAxes, Ints{0}}});
  const ir::OpId smooth = b.Add(ir::OpKind::kSoftplus, {least}, "smooth");
  return std::move(b).Trained(b.Add(ir::OpKind::kReduceMean, {smooth}, "loss"), ir::TestOptimizer::Kind::kSgd);
}

ir::Graph TwinBranches() {
  constexpr int64_t kWide = 4096;
  ModelBuilder b;
  const ir::OpId x = b.Input("x", ir::DType::kF32, {16, 64});
  const auto branch = [&](const std::string& name) {
    return b.Reshape(b.Dense(x, name, name + ".weight", kWide), {16 * kWide, 1}, name + ".flat");
  };
  const ir::OpId left = branch("left"), right = branch("right");
  const ir::OpId sum = b.Add(ir::OpKind::kAdd, {left, right}, "sum");
  const ir::OpId target = b.Input("target", ir::DType::kF32, {16 * kWide, 1});
  return std::move(b).Trained(b.Add(ir::OpKind::kMse, {sum, target}, "loss"), ir::TestOptimizer::Kind::kSgd);
}

ir::Graph Rolled(int64_t rows, int64_t width, int64_t by) {
  ModelBuilder b;
  const ir::OpId h = b.Dense(b.Input("x", ir::DType::kF32, {rows, width}), "h0", "w0", width);
  const auto slice = [&](int64_t begin, int64_t end, const std::string& name) {
    return b.Add(ir::OpKind::kSlice, {h}, name,
                 {{ir::attribute::kBegin, Ints{begin, 0}}, {ir::attribute::kEnd, Ints{end, width}}});
  };
  const ir::OpId last = slice(rows - by, rows, "last"), others = slice(0, rows - by, "others");
  const ir::OpId rolled = b.Add(ir::OpKind::kConcat, {last, others}, "rolled", {{ir::attribute::kAxis, int64_t{0}}});
  const ir::OpId y = b.Dense(b.Add(ir::OpKind::kAdd, {h, rolled}, "sum"), "h1", "w1", width);
  const ir::OpId target = b.Input("target", ir::DType::kF32, {rows, width});
  return std::move(b).Trained(b.Add(ir::OpKind::kMse, {y, target}, "loss"), ir::TestOptimizer::Kind::kSgd);
}

ir::Graph MatmulChain(const std::vector<int64_t>& sizes) {
  ModelBuilder b;
  ir::OpId x = b.Input("x", ir::DType::kF32, {sizes[0], sizes[1]});
  for (size_t i = 1; i + 1 < sizes.size(); ++i) {
    const ir::OpId weight = b.Parameter(absl::StrCat("w", i - 1), {sizes[i], sizes[i + 1]});
    x = b.Add(ir::OpKind::kMatmul, {x, weight}, absl::StrCat("m", i - 1));
  }
  return std::move(b).Forward();
}

ir::Strategy Letters(const ir::Graph& graph, const ir::Mesh& mesh, ir::OpId matmul, const std::string& letters,
                     const std::vector<int>& order) {
  const ir::Rule rule = ir::RuleOf(graph, graph.op(matmul));
  ir::Strategy strategy = ir::Strategy::Replicated(rule);
  for (int position = 0; position < mesh.axis_count(); ++position) {
    const int axis = order.empty() ? position : order[static_cast<size_t>(position)];
    const int factor = FactorNamed(rule, letters[static_cast<size_t>(axis)]);
    CLEAVE_CHECK(factor >= 0) << letters;
    strategy.cuts[static_cast<size_t>(factor)].push_back(ir::AxisId(axis));
  }
  return strategy;
}

std::string LettersOf(const ir::Graph& graph, const ir::Mesh& mesh, ir::OpId matmul, const ir::Strategy& strategy) {
  const ir::Rule rule = ir::RuleOf(graph, graph.op(matmul));
  std::string letters(static_cast<size_t>(mesh.axis_count()), '-');
  for (size_t factor = 0; factor < strategy.cuts.size(); ++factor) {
    for (ir::AxisId axis : strategy.cuts[factor])
      letters[static_cast<size_t>(axis.value())] = rule.factors[factor].name[0];
  }
  return letters;
}

}  // namespace cleave::search::testing
