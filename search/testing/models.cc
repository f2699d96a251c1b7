#include "search/testing/models.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "ir/differentiate/differentiate.h"
#include "ir/ops/builder.h"
#include "ir/ops/ops.h"

namespace cleave::testing {
namespace {

using Ints = std::vector<int64_t>;

class Builder {
 public:
  OpId Input(const std::string& name, const std::string& dtype, const Shape& shape) {
    return builder_.Add("input", {}, {{"data", name}, {"dtype", dtype}, {"shape", shape}}, name);
  }
  OpId Parameter(const std::string& name, const Shape& shape) {
    return builder_.Add("parameter", {}, {{"shape", shape}, {"init", std::string("constant")}}, name);
  }
  OpId Add(const std::string& kind, std::vector<OpId> inputs, const std::string& name,
           std::map<std::string, AttributeValue> attributes = {}) {
    builder_.SetLine(++line_);
    return builder_.Add(kind, std::move(inputs), std::move(attributes), name);
  }
  // `name`, and `name`.bias.
  OpId Dense(OpId x, const std::string& name, const std::string& weight, int64_t units) {
    const int64_t k = builder_.type(x).shape.back();
    const OpId product = Add("matmul", {x, Parameter(weight, {units, k})}, name, {{"transpose_b", true}});
    return Add("bias_add", {product, Parameter(absl::StrCat(name, ".b"), {units})}, absl::StrCat(name, ".bias"));
  }
  OpId Norm(OpId x, const std::string& name) {
    const int64_t k = builder_.type(x).shape.back();
    return Add("layer_norm", {x, Parameter(name + ".weight", {k}), Parameter(name + ".shift", {k})}, name);
  }

  Graph Trained(OpId loss, Optimizer::Kind kind) {
    builder_.mutable_graph().loss = loss;
    builder_.mutable_graph().model = "Test";
    builder_.mutable_graph().file = "test.model";
    absl::StatusOr<Graph> graph = Differentiate(std::move(builder_).Build(), {.kind = kind, .learning_rate = {}});
    CLEAVE_CHECK(graph.ok()) << std::string(graph.status().message());
    return *std::move(graph);
  }
  Graph Forward() { return std::move(builder_).Build(); }

 private:
  GraphBuilder builder_;
  int line_ = 0;
};

OpId Heads(Builder& b, OpId parts, const GptShape& shape, int64_t which, const std::string& name) {
  const int64_t head = shape.width / shape.heads;
  const OpId cut =
      b.Add("slice", {parts}, name + ".cut",
            {{"begin", Ints{0, 0, 0, which, 0}}, {"end", Ints{shape.batch, shape.seq, shape.heads, which + 1, head}}});
  const OpId flat =
      b.Add("reshape", {cut}, name + ".flat", {{"shape", Ints{shape.batch, shape.seq, shape.heads, head}}});
  return b.Add("transpose", {flat}, name, {{"permutation", Ints{0, 2, 1, 3}}});
}

OpId Block(Builder& b, OpId x, const GptShape& shape, const std::string& name) {
  const int64_t head = shape.width / shape.heads;
  const OpId qkv = b.Dense(b.Norm(x, name + ".norm1"), name + ".qkv", name + ".qkv.weight", 3 * shape.width);
  const OpId parts =
      b.Add("reshape", {qkv}, name + ".parts", {{"shape", Ints{shape.batch, shape.seq, shape.heads, 3, head}}});
  const OpId query = Heads(b, parts, shape, 0, name + ".query");
  const OpId key = Heads(b, parts, shape, 1, name + ".key");
  const OpId value = Heads(b, parts, shape, 2, name + ".value");
  const OpId scores = b.Add("matmul", {query, key}, name + ".scores", {{"transpose_b", true}});
  const OpId scaled = b.Add("scale", {scores}, name + ".scaled", {{"factor", 0.25}});
  const OpId weights = b.Add("softmax", {b.Add("causal_mask", {scaled}, name + ".mask")}, name + ".weights");
  const OpId mixed = b.Add("matmul", {weights, value}, name + ".mixed");
  const OpId back = b.Add("transpose", {mixed}, name + ".back", {{"permutation", Ints{0, 2, 1, 3}}});
  const OpId joined =
      b.Add("reshape", {back}, name + ".joined", {{"shape", Ints{shape.batch, shape.seq, shape.width}}});
  const OpId middle =
      b.Add("add", {x, b.Dense(joined, name + ".out", name + ".out.weight", shape.width)}, name + ".middle");
  const OpId up = b.Dense(b.Norm(middle, name + ".norm2"), name + ".up", name + ".up.weight", 4 * shape.width);
  const OpId down = b.Dense(b.Add("gelu", {up}, name + ".gelu"), name + ".down", name + ".down.weight", shape.width);
  return b.Add("add", {middle, down}, name + ".end");
}

int FactorNamed(const Rule& rule, char letter) {
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    if (rule.factors[f].name == std::string(1, letter)) return static_cast<int>(f);
  }
  return -1;
}

}  // namespace

Graph Mlp(int64_t batch, const std::vector<int64_t>& widths) {
  Builder b;
  OpId x = b.Input("x", "f32", {batch, widths[0]});
  const OpId target = b.Input("target", "f32", {batch, widths.back()});
  for (size_t layer = 0; layer + 1 < widths.size(); ++layer) {
    const std::string name = absl::StrCat("h", layer);
    x = b.Dense(x, name, absl::StrCat("w", layer), widths[layer + 1]);
    if (layer + 2 < widths.size()) x = b.Add("relu", {x}, name + ".relu");
  }
  return b.Trained(b.Add("mae", {x, target}, "loss"), Optimizer::Kind::kSgd);
}

Graph SeedNetwork() { return Mlp(256, {784, 512, 512, 1}); }

Graph Gpt(const GptShape& shape) {
  Builder b;
  const OpId tokens = b.Input("tokens", "i32", {shape.batch, shape.seq});
  const OpId next = b.Input("next", "i32", {shape.batch, shape.seq});
  const OpId table = b.Parameter("embedding.weight", {shape.vocab, shape.width});
  const OpId position = b.Parameter("position.weight", {shape.seq, shape.width});
  OpId x = b.Add("add", {b.Add("embedding", {tokens, table}, "embedding"), position}, "start");
  for (int layer = 0; layer < shape.layers; ++layer) x = Block(b, x, shape, absl::StrCat("x.", layer));
  const OpId logits = b.Dense(b.Norm(x, "norm"), "logits", "logits.weight", shape.vocab);
  return b.Trained(b.Add("cross_entropy", {logits, next}, "loss"), Optimizer::Kind::kAdamW);
}

Graph MatmulChain(const std::vector<int64_t>& sizes) {
  Builder b;
  OpId x = b.Input("x", "f32", {sizes[0], sizes[1]});
  for (size_t i = 1; i + 1 < sizes.size(); ++i) {
    const OpId weight = b.Parameter(absl::StrCat("w", i - 1), {sizes[i], sizes[i + 1]});
    x = b.Add("matmul", {x, weight}, absl::StrCat("m", i - 1));
  }
  return b.Forward();
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
