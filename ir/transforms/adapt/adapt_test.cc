#include "ir/transforms/adapt/adapt.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/proof/interpret/interpret.h"
#include "ir/tensor/types/tensor.h"
#include "ir/testing/seed.h"
#include "ir/testing/sources.h"
#include "ir/transforms/differentiate/differentiate.h"

namespace cleave::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A product with a weight `w`, in one of the ways in which a weight can be a factor, and a loss whose gradient differs
// everywhere. `x` is the other factor.
struct Form {
  std::string name;
  Shape x, w;
  OpKind kind = OpKind::kMatmul;
  bool is_left = false;  // Whether the weight is the first factor.
  Attributes attributes = {};
  bool transposes = false;  // Reads the transpose of the weight.
  int in = 1;               // The dimension of the weight that is summed over.
};

std::vector<Form> Forms() {
  const auto flags = [](bool a, bool b) {
    return Attributes{{attribute::kTransposeA, a}, {attribute::kTransposeB, b}};
  };
  const auto equation = [](const char* text) { return Attributes{{attribute::kEquation, std::string(text)}}; };
  constexpr OpKind kSum = OpKind::kEinsum;
  return {{.name = "out in", .x = {2, 3, 5}, .w = {4, 5}, .attributes = flags(false, true)},
          {.name = "in out", .x = {3, 5}, .w = {5, 4}, .attributes = flags(false, false), .in = 0},
          {.name = "of columns", .x = {2, 5, 3}, .w = {4, 5}, .attributes = flags(true, true)},
          {.name = "left", .x = {5, 3}, .w = {4, 5}, .is_left = true, .attributes = flags(false, false)},
          {.name = "left of rows", .x = {3, 5}, .w = {5, 4}, .is_left = true, .attributes = flags(true, true), .in = 0},
          {.name = "transposed", .x = {3, 5}, .w = {4, 5}, .attributes = flags(false, false), .transposes = true},
          {.name = "einsum", .x = {2, 5, 3}, .w = {4, 5}, .kind = kSum, .attributes = equation("bis,oi->bos")},
          {.name = "einsum with sums", .x = {2, 5, 3}, .w = {4, 5}, .kind = kSum, .attributes = equation("bis,ri->rb")},
          {.name = "einsum left",
           .x = {2, 5},
           .w = {5, 4},
           .kind = kSum,
           .is_left = true,
           .attributes = equation("i o, b i -> b o"),
           .in = 0},
          {.name = "einsum transposed",
           .x = {2, 5},
           .w = {4, 5},
           .kind = kSum,
           .attributes = equation("bi,io->ob"),
           .transposes = true}};
}

Graph GraphOf(const Form& form) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, "x", form.x);
  const OpId w = AddParameter(builder, "w", form.w);
  const OpId read = form.transposes ? builder.Add(OpKind::kTranspose, {w}, {}, "w.transpose") : w;
  const std::vector<OpId> inputs = form.is_left ? std::vector<OpId>{read, x} : std::vector<OpId>{x, read};
  const OpId y = builder.Add(form.kind, inputs, form.attributes, "y");
  const OpId other = AddInput(builder, "other", builder.type(y).shape);
  builder.mutable_graph().loss = builder.Add(OpKind::kMse, {y, other}, {}, "loss");
  return std::move(builder).Build();
}

Graph AdaptedGraph(const Graph& graph, const AdapterForm& form) {
  auto made = Adapt(graph, form, {*graph.Find("w")});
  CLEAVE_CHECK(std::holds_alternative<Adapted>(made)) << std::get<1>(made)[0].why;
  Graph adapted = std::get<Adapted>(std::move(made)).graph;
  EXPECT_THAT(VerifyGraph(adapted), ElementsAre());
  return adapted;
}

std::vector<double>& ValuesOf(const Graph& graph, SourceValues& sources, const std::string& name) {
  return sources[*graph.Find(name)].values;
}

double Loss(const Graph& graph, const SourceValues& sources) {
  return InterpretGraph(graph, sources, 0)[*graph.loss].values[0];
}

// The sources of `graph` of those of the adapted one, where the weight has become what products with it and its adapter
// compute.
SourceValues Merged(const Graph& graph, const Form& form, const AdapterForm& adapter, const Graph& adapted,
                    SourceValues& sources) {
  SourceValues merged;
  for (const char* const name : {"x", "other", "w"}) merged[*graph.Find(name)] = sources[*adapted.Find(name)];
  const std::vector<double>& p = ValuesOf(adapted, sources, form.in == 1 ? "w_lora_b" : "w_lora_a");
  const std::vector<double>& q = ValuesOf(adapted, sources, form.in == 1 ? "w_lora_a" : "w_lora_b");
  std::vector<double>& w = ValuesOf(graph, merged, "w");
  const int64_t rows = form.w[0], columns = form.w[1], outputs = form.in == 1 ? rows : columns;
  std::vector<double> before(static_cast<size_t>(outputs)), after(before);
  for (int pass = 0; pass < 2; ++pass) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        double& value = w[static_cast<size_t>(i * columns + j)];
        const auto output = static_cast<size_t>(form.in == 1 ? i : j);
        if (pass == 1 && adapter.has_magnitude) {
          const double magnitude = ValuesOf(adapted, sources, "w_lora_magnitude")[output];
          value *= (std::sqrt(before[output]) + magnitude) / std::sqrt(after[output]);
        } else if (pass == 0) {
          before[output] += value * value;
          for (int64_t r = 0; r < adapter.rank; ++r) {
            value += adapter.factor() * p[static_cast<size_t>(i * adapter.rank + r)] *
                     q[static_cast<size_t>(r * columns + j)];
          }
          after[output] += value * value;
        }
      }
    }
  }
  return merged;
}

std::vector<AdapterForm> Adapters() {
  return {{.rank = 2, .alpha = 3},
          {.rank = 3, .alpha = 3},
          {.rank = 3, .alpha = 2, .is_rank_stable = true},
          {.rank = 2, .alpha = 3, .dropout = 0.5},
          {.has_magnitude = true, .rank = 2, .alpha = 3},
          {.has_magnitude = true, .rank = 2, .alpha = 3, .dropout = 0.5}};
}

// Step 0 is one of testing, in which nothing is dropped.
TEST(AdaptTest, ComputesWithTheChangedWeight) {
  for (const Form& form : Forms()) {
    for (const AdapterForm& adapter : Adapters()) {
      const Graph graph = GraphOf(form);
      const Graph adapted = AdaptedGraph(graph, adapter);
      SourceValues sources = RandomSources(adapted, 5);
      const SourceValues merged = Merged(graph, form, adapter, adapted, sources);
      EXPECT_NEAR(Loss(adapted, sources), Loss(graph, merged), 1e-12) << form.name << ", " << AdapterText(adapter);
    }
  }
}

TEST(AdaptTest, BeginsUnchanged) {
  for (const Form& form : Forms()) {
    for (const AdapterForm& adapter : Adapters()) {
      const Graph graph = GraphOf(form);
      const Graph adapted = AdaptedGraph(graph, adapter);
      SourceValues sources = RandomSources(adapted, 6), given;
      for (const char* const name : {"w_lora_b", "w_lora_magnitude"}) {
        const std::optional<OpId> id = adapted.Find(name);
        if (!id.has_value()) continue;
        EXPECT_EQ(adapted.op(*id).attributes.Get(attribute::kInit), "constant");
        EXPECT_EQ(adapted.op(*id).attributes.Get(attribute::kFirst), 0);
        sources[*id] = Zeros(adapted.op(*id).type.shape);
      }
      for (const char* const name : {"x", "other", "w"}) given[*graph.Find(name)] = sources[*adapted.Find(name)];
      EXPECT_EQ(Loss(adapted, sources), Loss(graph, given)) << form.name << ", " << AdapterText(adapter);
    }
  }
}

// The gradients of LoRA against differences; of DoRA that of the magnitude, because the others leave the norm out.
TEST(AdaptTest, Gradients) {
  for (const Form& form : Forms()) {
    for (const AdapterForm& adapter : Adapters()) {
      if (adapter.dropout > 0) continue;
      const Graph graph = GraphOf(form);
      Graph adapted = AdaptedGraph(graph, adapter);
      adapted.ops[*adapted.Find("w")].attributes.Set(attribute::kTrained, false);
      GraphBuilder updates;
      const std::vector<std::string> trained = adapter.has_magnitude ? std::vector<std::string>{"w_lora_magnitude"}
                                                                     : std::vector<std::string>{"w_lora_a", "w_lora_b"};
      for (const std::string& name : trained) {
        const Shape& shape = adapted.op(*adapted.Find(name)).type.shape;
        const OpId parameter = AddParameter(updates, name, shape);
        const OpId gradient = AddInput(updates, name + ".grad", shape);
        updates.mutable_graph().ops[gradient].attributes.Set(attribute::kData, name);
        updates.mutable_graph().updates.push_back(
            {.state = parameter, .value = updates.Add(OpKind::kSub, {parameter, gradient}, {}, name + ".new")});
      }
      const absl::StatusOr<Graph> training = Differentiate(adapted, {.graph = std::move(updates).Build()});
      ASSERT_TRUE(training.ok()) << training.status();
      EXPECT_FALSE(training->Find("w.grad").has_value());
      SourceValues sources = RandomSources(*training, 7);
      const IdVector<OpId, Tensor> values = InterpretGraph(*training, sources, 0);
      for (const std::string& name : trained) {
        const std::vector<double>& gradient = values[*training->Find(name + ".grad")].values;
        for (size_t i = 0; i < gradient.size(); ++i) {
          constexpr double kStep = 1e-5;
          double& value = ValuesOf(*training, sources, name)[i];
          value += kStep;
          const double above = Loss(*training, sources);
          value -= 2 * kStep;
          const double below = Loss(*training, sources);
          value += kStep;
          EXPECT_NEAR(gradient[i], (above - below) / (2 * kStep), 1e-8) << form.name << ", " << name;
        }
      }
    }
  }
}

// Layers of random forms and sizes, some of which share their weights.
Graph RandomChain(std::mt19937_64& random, std::vector<OpId>& weights) {
  const auto below = [&](uint64_t count) { return static_cast<int64_t>(random() % count); };
  GraphBuilder builder;
  OpId x = AddInput(builder, "x", {2, 1 + below(3), 2 + below(4)});
  for (int64_t layer = 0; layer < 6; ++layer) {
    const int64_t in = builder.type(x).shape.back();
    const bool is_out_first = below(2) == 0;
    std::optional<OpId> weight;
    if (!weights.empty() && below(3) == 0) weight = weights[static_cast<size_t>(below(weights.size()))];
    if (!weight.has_value() || builder.type(*weight).shape[is_out_first ? 1 : 0] != in) {
      const int64_t out = 2 + below(4);
      weight = AddParameter(builder, absl::StrCat("w", layer), is_out_first ? Shape{out, in} : Shape{in, out});
      weights.push_back(*weight);
    }
    const std::string name = absl::StrCat("y", layer);
    OpId y;
    switch (below(3)) {
      case 0:
        y = builder.Add(OpKind::kMatmul, {x, *weight}, {{attribute::kTransposeB, is_out_first}}, name);
        break;
      case 1: {
        const OpId turned = builder.Add(OpKind::kTranspose, {*weight}, {}, name + ".transpose");
        y = builder.Add(OpKind::kMatmul, {x, turned}, {{attribute::kTransposeB, !is_out_first}}, name);
        break;
      }
      default:
        y = builder.Add(OpKind::kEinsum, {x, *weight},
                        {{attribute::kEquation, std::string(is_out_first ? "bsi,oi->bso" : "bsi,io->bso")}}, name);
    }
    x = builder.Add(OpKind::kTanh, {y}, {}, name + ".tanh");
  }
  const OpId other = AddInput(builder, "other", builder.type(x).shape);
  builder.mutable_graph().loss = builder.Add(OpKind::kMse, {x, other}, {}, "loss");
  return std::move(builder).Build();
}

// Some weights of a chain have adapters: while B and magnitudes are zero, no value is another one, and then each is
// what the merged weights make.
TEST(AdaptTest, RandomChains) {
  const uint64_t seed = TestSeed();
  for (uint64_t i = 0; i < 60; ++i) {
    SCOPED_TRACE(absl::StrCat("seed ", seed + i));
    std::mt19937_64 random(seed + i);
    std::vector<OpId> weights;
    const Graph graph = RandomChain(random, weights);
    std::shuffle(weights.begin(), weights.end(), random);
    weights.resize(1 + random() % weights.size());
    const AdapterForm form = {.rank = 1, .alpha = 1.5, .dropout = random() % 2 == 0 ? 0.25 : 0};
    const auto made = Adapt(graph, form, weights);
    const auto& adapted = std::get<Adapted>(made);
    ASSERT_THAT(VerifyGraph(adapted.graph), ElementsAre());
    SourceValues given = RandomSources(graph, i);
    SourceValues sources = RandomSources(adapted.graph, i);
    for (const auto& [id, tensor] : given) sources[adapted.places[id]] = tensor;
    const auto largest_difference = [&] {
      const IdVector<OpId, Tensor> plain = InterpretGraph(graph, given, 0);
      const IdVector<OpId, Tensor> changed = InterpretGraph(adapted.graph, sources, 0);
      double largest = 0;
      for (const Op& op : graph.ops) {
        if (op.inputs.empty() || op.kind == OpKind::kTranspose) continue;
        for (size_t e = 0; e < plain[op.id].values.size(); ++e) {
          largest = std::max(largest, std::abs(plain[op.id].values[e] - changed[adapted.values[op.id]].values[e]));
        }
      }
      return largest;
    };
    SourceValues begun = sources;
    for (const AdaptedWeight& weight : adapted.weights) {
      Tensor& b = sources[weight.parameters[1]];
      b = Zeros(b.shape);
    }
    EXPECT_EQ(largest_difference(), 0);
    sources = std::move(begun);
    EXPECT_GT(largest_difference(), 1e-6);
    for (const AdaptedWeight& weight : adapted.weights) {
      Tensor& merged = given[weight.weight];
      const Tensor &a = sources[weight.parameters[0]], &b = sources[weight.parameters[1]];
      const bool is_out_first = a.shape[0] == 1;
      for (int64_t row = 0; row < merged.shape[0]; ++row) {
        for (int64_t column = 0; column < merged.shape[1]; ++column) {
          const int64_t in = is_out_first ? column : row, out = is_out_first ? row : column;
          merged.values[static_cast<size_t>(row * merged.shape[1] + column)] +=
              1.5 * a.values[static_cast<size_t>(in)] * b.values[static_cast<size_t>(out)];
        }
      }
    }
    EXPECT_LT(largest_difference(), 1e-9);
  }
}

// What is not adapted, by the name of the weight and why.
std::string Problems(Graph graph, const AdapterForm& form, const std::vector<std::string>& names) {
  std::vector<OpId> weights;
  for (const std::string& name : names) weights.push_back(*graph.Find(name));
  const auto made = Adapt(graph, form, weights);
  std::string text;
  if (const auto* problems = std::get_if<std::vector<AdaptProblem>>(&made)) {
    for (const AdaptProblem& problem : *problems) {
      absl::StrAppend(&text, graph.op(problem.weight).name, " ", problem.why, "\n");
    }
  }
  return text;
}

TEST(AdaptTest, WhatCannotBeAdapted) {
  GraphBuilder builder;
  builder.SetLine(3);
  const OpId tokens = AddInput(builder, "tokens", {2, 3}, DType::kI32);
  const OpId table = AddParameter(builder, "table", {7, 5});
  const OpId x = builder.Add(OpKind::kEmbedding, {tokens, table}, {}, "x");
  const OpId w = AddParameter(builder, "w", {5, 5});
  const OpId cube = AddParameter(builder, "cube", {2, 5, 5});
  const OpId y = builder.Add(OpKind::kMatmul, {x, w}, {}, "y");
  builder.Add(OpKind::kMatmul, {y, cube}, {}, "z");
  const OpId v = AddParameter(builder, "v", {5, 5});
  builder.Add(OpKind::kMatmul, {v, v}, {}, "square");
  const OpId both = AddParameter(builder, "both", {5, 5});
  builder.Add(OpKind::kMatmul, {x, both}, {}, "there");
  builder.Add(OpKind::kMatmul, {x, both}, {{attribute::kTransposeB, true}}, "back");
  const OpId left = AddParameter(builder, "left", {5, 5});
  const OpId right = AddParameter(builder, "right", {5, 5});
  builder.Add(OpKind::kMatmul, {left, right}, {}, "chain");
  const OpId diagonal = AddParameter(builder, "diagonal", {5, 5});
  builder.Add(OpKind::kEinsum, {x, diagonal}, {{attribute::kEquation, std::string("bsi,ii->bs")}}, "trace");
  AddParameter(builder, "taken", {5, 5});
  AddParameter(builder, "taken_lora_b", {5, 5});
  AddParameter(builder, "unread", {5, 5});
  const Graph graph = std::move(builder).Build();
  const AdapterForm form = {.rank = 4};
  EXPECT_EQ(Problems(graph, form, {"w"}), "");
  EXPECT_EQ(Problems(graph, {.rank = 5}, {"w"}), "w is 5x5, and a rank of 5 is not less than both\n");
  EXPECT_EQ(Problems(graph, form, {"table", "w", "cube"}),
            "table is read by `x`, line 3, which is no product with it\n"
            "cube is 2x5x5, and a matrix has two dimensions\n");
  EXPECT_EQ(Problems(graph, form, {"v"}), "v is a factor of another such one in `square`, line 3\n");
  EXPECT_EQ(Problems(graph, form, {"left", "right"}), "right is a factor of another such one in `chain`, line 3\n");
  EXPECT_EQ(Problems(graph, form, {"left"}), "");
  EXPECT_EQ(Problems(graph, form, {"both"}), "");
  EXPECT_THAT(Problems(graph, {.has_magnitude = true, .rank = 4}, {"both"}), HasSubstr("along both of its dimensions"));
  EXPECT_THAT(Problems(graph, form, {"diagonal"}), HasSubstr("`trace`, line 3, which is no product with it"));
  EXPECT_THAT(Problems(graph, form, {"taken"}), HasSubstr("needs the name `taken_lora_b`"));
  EXPECT_EQ(Problems(graph, form, {"unread"}), "unread is read by nothing\n");
}

// The ops beside a product of each pass are alike.
TEST(AdaptTest, LayersStayAlike) {
  GraphBuilder builder;
  OpId x = AddInput(builder, "x", {3, 5});
  std::vector<OpId> weights;
  for (int64_t i = 0; i < 3; ++i) {
    Repetition pass = InPass({}, 77, i);
    for (const char* const name : {"w", "y"}) {
      const std::string full = absl::StrCat("h.", i, ".", name);
      OpId& made = *name == 'w' ? weights.emplace_back() : x;
      made = *name == 'w' ? AddParameter(builder, full, {5, 5})
                          : builder.Add(OpKind::kMatmul, {x, weights.back()}, {}, full);
      builder.mutable_graph().ops[made].repetition = Derived(pass, name);
    }
  }
  const Graph graph = std::move(builder).Build();
  const auto made = Adapt(graph, {.has_magnitude = true, .rank = 2, .dropout = 0.1}, weights);
  const auto& adapted = std::get<Adapted>(made);
  ASSERT_EQ(adapted.products.size(), 6u);
  EXPECT_EQ(adapted.weights[1].weight, weights[1]);
  const Graph& result = adapted.graph;
  const size_t size = (result.ops.size() - 1) / 3;
  for (size_t i = 1; i + size < result.ops.size(); ++i) {
    const Op& op = result.op(OpId(static_cast<int64_t>(i)));
    const Op& next = result.op(OpId(static_cast<int64_t>(i + size)));
    EXPECT_EQ(op.kind, next.kind);
    EXPECT_TRUE(op.repetition.is_repeated()) << op.name;
    EXPECT_EQ(op.repetition.place, next.repetition.place) << op.name << " and " << next.name;
    EXPECT_EQ(op.repetition.passes[0].number + 1, next.repetition.passes[0].number);
  }
}

}  // namespace
}  // namespace cleave::ir
