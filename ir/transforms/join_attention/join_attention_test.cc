#include "ir/transforms/join_attention/join_attention.h"

#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/proof/interpret/interpret.h"
#include "ir/testing/optimizers.h"
#include "ir/transforms/differentiate/differentiate.h"

namespace cleave::ir {
namespace {

using Ints = std::vector<int64_t>;

struct Variant {
  bool scaled = true;
  bool causal = true;
  double fill = -1e9;
  bool weights_are_read = false;  // By an op outside of the attention.
  bool turned = true;             // Heads are inside of rows before and after.
  int64_t groups = 2;             // Of the heads of keys and values, for four of queries.
  bool repeats = true;            // Fewer heads are repeated; else there are as many as of queries.
  int64_t window = 0;             // Of the causal mask.
  double cap = 0;                 // 0: none.
  bool biased = false;            // By distance.
  double rate = 0;                // Of the weights that are dropped.
  bool ranges = false;            // A query sees keys up to a number; all see one, so that nothing is divided by 0.
};

constexpr int64_t kHeads = 4, kRows = 6, kColumns = 6, kHead = 3;

// As `by_distance` of the prelude makes it.
OpId MatrixOfBias(GraphBuilder& builder) {
  constexpr int64_t kDistances = kRows + kColumns;
  OpId x = builder.Add(OpKind::kParameter, {}, {{attribute::kShape, Shape{kHeads, kDistances}}}, "bias");
  const auto reshaped = [&](const Shape& shape, const char* name) {
    x = builder.Add(OpKind::kReshape, {x}, {{attribute::kShape, shape}}, name);
  };
  const auto sliced = [&](const Ints& begin, const Ints& end, const char* name) {
    x = builder.Add(OpKind::kSlice, {x}, {{attribute::kBegin, begin}, {attribute::kEnd, end}}, name);
  };
  reshaped({kHeads, 1, kDistances}, "bias.row");
  x = builder.Add(OpKind::kBroadcastTo, {x}, {{attribute::kShape, Shape{kHeads, kRows, kDistances}}}, "bias.rows");
  reshaped({kHeads, kRows * kDistances}, "bias.line");
  sliced({0, kRows}, {kHeads, kRows * kDistances}, "bias.shifted");
  reshaped({kHeads, kRows, kDistances - 1}, "bias.shifted_rows");
  sliced({0, 0, 0}, {kHeads, kRows, kColumns}, "bias.matrix");
  return x;
}

// Attention of parameters, and a loss.
Graph Model(const Variant& variant) {
  GraphBuilder builder;
  const auto tensor = [&](int64_t heads, int64_t rows, const std::string& name) {
    const Shape shape = variant.turned ? Shape{2, rows, heads, kHead} : Shape{2, heads, rows, kHead};
    const OpId parameter = builder.Add(OpKind::kParameter, {}, {{attribute::kShape, shape}}, name);
    if (!variant.turned) return parameter;
    return builder.Add(OpKind::kTranspose, {parameter}, {{attribute::kPermutation, Ints{0, 2, 1, 3}}},
                       name + ".turned");
  };
  const auto keys = [&](const std::string& name) {
    OpId x = tensor(variant.repeats ? variant.groups : kHeads, kColumns, name);
    if (!variant.repeats) return x;
    const int64_t g = variant.groups;
    x = builder.Add(OpKind::kReshape, {x}, {{attribute::kShape, Shape{2, g, 1, kColumns, kHead}}}, name + ".apart");
    x = builder.Add(OpKind::kBroadcastTo, {x}, {{attribute::kShape, Shape{2, g, kHeads / g, kColumns, kHead}}},
                    name + ".repeated");
    return builder.Add(OpKind::kReshape, {x}, {{attribute::kShape, Shape{2, kHeads, kColumns, kHead}}}, name + ".all");
  };
  const OpId q = tensor(kHeads, kRows, "q");
  const OpId k = keys("k"), v = keys("v");
  OpId scores = builder.Add(OpKind::kMatmul, {q, k}, {{attribute::kTransposeB, true}}, "product");
  if (variant.scaled) scores = builder.Add(OpKind::kScale, {scores}, {{attribute::kFactor, 0.5}}, "scaled");
  if (variant.cap != 0) {
    scores = builder.Add(OpKind::kScale, {scores}, {{attribute::kFactor, 1 / variant.cap}}, "shares");
    scores = builder.Add(OpKind::kTanh, {scores}, {}, "bent");
    scores = builder.Add(OpKind::kScale, {scores}, {{attribute::kFactor, variant.cap}}, "capped");
  }
  if (variant.biased) scores = builder.Add(OpKind::kAdd, {scores, MatrixOfBias(builder)}, {}, "biased");
  if (variant.causal) {
    scores = builder.Add(OpKind::kCausalMask, {scores},
                         {{attribute::kFill, variant.fill}, {attribute::kWindow, variant.window}}, "masked");
  }
  if (variant.ranges) {
    const auto number = [&](double value, const std::string& name) {
      return builder.Add(
          OpKind::kConstant, {},
          {{attribute::kShape, Shape{2, kRows}}, {attribute::kDType, DType::kI32}, {attribute::kValue, value}}, name);
    };
    scores = builder.Add(OpKind::kRangeMask, {scores, number(variant.causal ? 0 : 1, "first"), number(4, "end")},
                         {{attribute::kFill, variant.fill}}, "ranged");
  }
  const OpId weights = builder.Add(OpKind::kSoftmax, {scores}, {}, "weights");
  const OpId kept = variant.rate == 0
                        ? weights
                        : builder.Add(OpKind::kDropout, {weights}, {{attribute::kRate, variant.rate}}, "kept");
  OpId mixed = builder.Add(OpKind::kMatmul, {kept, v}, {}, "mixed");
  if (variant.turned) {
    mixed = builder.Add(OpKind::kTranspose, {mixed}, {{attribute::kPermutation, Ints{0, 2, 1, 3}}}, "mixed.back");
  }
  const OpId square = builder.Add(OpKind::kSquare, {mixed}, {}, "square");
  OpId loss = builder.Add(OpKind::kReduceMean, {square}, {{attribute::kAxes, Ints{}}}, "mean");
  if (variant.weights_are_read) {
    const OpId other = builder.Add(OpKind::kReduceMean, {weights}, {{attribute::kAxes, Ints{}}}, "other");
    loss = builder.Add(OpKind::kAdd, {loss, other}, {}, "loss");
  }
  builder.mutable_graph().loss = loss;
  return std::move(builder).Build();
}

Graph Joined(const Variant& variant, JoinAttentionOptions options = {.largest_head = 128}) {
  Pins pins;
  return JoinAttention(Model(variant), options, pins);
}

int CountOf(const Graph& graph, OpKind kind) {
  int count = 0;
  for (const Op& op : graph.ops) count += op.kind == kind ? 1 : 0;
  return count;
}

TEST(JoinAttention, TakesWhatBelongsToIt) {
  for (const bool scaled : {false, true}) {
    for (const bool causal : {false, true}) {
      for (const bool turned : {false, true}) {
        for (const bool repeats : {false, true}) {
          const Graph graph = Joined({.scaled = scaled, .causal = causal, .turned = turned, .repeats = repeats});
          EXPECT_TRUE(VerifyGraph(graph).empty());
          // Three parameters, the attention with its statistics, square and mean.
          ASSERT_EQ(graph.ops.size(), 7u);
          const Op& attention = graph.op(*graph.Find(turned ? "mixed.back" : "mixed"));
          EXPECT_EQ(attention.kind, OpKind::kAttention);
          EXPECT_EQ(attention.attributes.Get(attribute::kFactor), scaled ? 0.5 : 1.0);
          EXPECT_EQ(attention.attributes.Get(attribute::kCausal), causal);
          EXPECT_EQ(attention.attributes.Get(attribute::kHeadsInside),
                    turned ? Ints({1, 1, 1, 1}) : Ints({0, 0, 0, 0}));
          EXPECT_EQ(CountOf(graph, OpKind::kAttentionLogsumexp), 1);
        }
      }
    }
  }
}

TEST(JoinAttention, TakesCapsWindowsAndRanges) {
  const Graph graph = Joined({.window = 3, .cap = 2.5, .ranges = true});
  EXPECT_TRUE(VerifyGraph(graph).empty());
  const Op& attention = graph.op(*graph.Find("mixed.back"));
  ASSERT_EQ(attention.kind, OpKind::kAttention);
  EXPECT_DOUBLE_EQ(attention.attributes.Get(attribute::kFactor), 0.5);
  EXPECT_EQ(attention.attributes.Get(attribute::kCap), 2.5);
  EXPECT_EQ(attention.attributes.Get(attribute::kWindow), 3);
  ASSERT_EQ(attention.inputs.size(), 6u);
  EXPECT_EQ(attention.inputs[4], *graph.Find("first"));
  EXPECT_EQ(attention.inputs[5], *graph.Find("end"));
  EXPECT_EQ(CountOf(graph, OpKind::kTanh) + CountOf(graph, OpKind::kRangeMask), 0);
  EXPECT_EQ(Joined({.fill = -1, .ranges = true}), Model({.fill = -1, .ranges = true})) << "such a score has a weight";
}

TEST(JoinAttention, TakesABiasByDistance) {
  const Graph graph = Joined({.biased = true, .ranges = true});
  EXPECT_TRUE(VerifyGraph(graph).empty());
  const Op& attention = graph.op(*graph.Find("mixed.back"));
  ASSERT_EQ(attention.kind, OpKind::kAttention);
  ASSERT_EQ(attention.inputs.size(), 7u);
  EXPECT_EQ(attention.inputs[4], *graph.Find("bias"));
  EXPECT_FALSE(graph.Find("bias.matrix").has_value());
  EXPECT_FALSE(graph.Find("bias.row").has_value());
  EXPECT_EQ(Joined({.cap = 2, .biased = true}), Model({.cap = 2, .biased = true}));
  // What others read, too, stays for them.
  Graph watched = Model({.biased = true});
  watched.looks.push_back({.kind = LookKind::kPrint, .value = *watched.Find("bias.rows"), .name = "rows"});
  Pins none;
  EXPECT_EQ(JoinAttention(watched, {.largest_head = 128}, none), watched);
}

TEST(JoinAttention, TakesDropout) {
  const Graph graph = Joined({.rate = 0.25});
  EXPECT_TRUE(VerifyGraph(graph).empty());
  const Op& attention = graph.op(*graph.Find("mixed.back"));
  ASSERT_EQ(attention.kind, OpKind::kAttention);
  EXPECT_EQ(attention.attributes.Get(attribute::kRate), 0.25);
  EXPECT_EQ(attention.attributes.Get(attribute::kKey), "kept") << "draws what the op drew";
  EXPECT_EQ(CountOf(graph, OpKind::kDropout), 0);
}

TEST(JoinAttention, LeavesWhatOthersNeed) {
  EXPECT_EQ(Joined({.weights_are_read = true}), Model({.weights_are_read = true}));
  EXPECT_EQ(Joined({.fill = -1}), Model({.fill = -1})) << "such a score has a weight";
  EXPECT_EQ(Joined({}, {.largest_head = kHead - 1}), Model({})) << "heads are too large";
  EXPECT_EQ(Joined({}, {.largest_head = 0}), Model({}));
  Graph watched = Model({});
  watched.looks.push_back({.kind = LookKind::kPrint, .value = *watched.Find("weights"), .name = "weights"});
  Pins none;
  EXPECT_EQ(JoinAttention(watched, {.largest_head = 128}, none), watched);
}

TEST(JoinAttention, WithoutATrainingThereAreNoStatistics) {
  const Graph graph = Joined({}, {.largest_head = 128, .trains = false});
  EXPECT_TRUE(VerifyGraph(graph).empty());
  EXPECT_EQ(CountOf(graph, OpKind::kAttentionLogsumexp), 0);
  EXPECT_EQ(graph.op(*graph.Find("mixed.back")).inputs.size(), 3u);
}

// What is asked of an op inside is asked of nothing any more, or the op stays.
TEST(JoinAttention, Pins) {
  const Graph graph = Model({});
  const auto id = [&](const char* name) { return *graph.Find(name); };
  for (const char* pinned : {"product", "scaled", "masked", "weights", "mixed", "mixed.back"}) {
    Pins pins;
    pins.pins.push_back({.op = id(pinned), .demand = ReplicatePin(), .span = {}});
    const Graph joined = JoinAttention(graph, {.largest_head = 128}, pins);
    // Behind the attention a transpose may be pinned: then it is not a part of it.
    EXPECT_EQ(CountOf(joined, OpKind::kAttention), std::string(pinned) == "mixed.back" ? 1 : 0) << pinned;
    EXPECT_EQ(joined.op(pins.pins[0].op).name, pinned);
  }
  Pins pins;
  for (const char* name : {"scaled", "weights"}) pins.retentions.push_back({id(name), Retention::kRecompute, {}});
  pins.retentions.push_back({id("mixed.back"), Retention::kRecompute, {}});
  pins.retentions.push_back({id("square"), Retention::kKeep, {}});
  pins.stages.push_back({.op = id("mixed.back"), .stage = 1, .span = {}});
  const Graph joined = JoinAttention(graph, {.largest_head = 128}, pins);
  ASSERT_EQ(pins.retentions.size(), 3u);
  EXPECT_EQ(joined.op(pins.retentions[0].op).kind, OpKind::kAttentionLogsumexp);
  EXPECT_EQ(joined.op(pins.retentions[1].op).kind, OpKind::kAttention);
  EXPECT_EQ(pins.retentions[1].retention, Retention::kRecompute);
  EXPECT_EQ(joined.op(pins.retentions[2].op).name, "square");
  EXPECT_EQ(joined.op(pins.stages.at(0).op).kind, OpKind::kAttention);
  // Two stages: the chain is not one op.
  Pins apart;
  apart.stages.push_back({.op = id("weights"), .stage = 1, .span = {}});
  EXPECT_EQ(JoinAttention(graph, {.largest_head = 128}, apart), graph);
}

TEST(JoinAttention, RegionsThatHoldAllOfIt) {
  const Graph graph = Model({});
  Pins pins;
  pins.regions.push_back({.name = "y", .ops = {}, .span = {}});
  for (const char* name : {"q.turned", "product", "scaled", "masked", "weights", "mixed", "mixed.back"})
    pins.regions[0].ops.push_back(*graph.Find(name));
  Pins part = pins;
  part.regions[0].ops.pop_back();
  const Graph joined = JoinAttention(graph, {.largest_head = 128}, pins);
  ASSERT_EQ(pins.regions.at(0).ops.size(), 2u);
  EXPECT_EQ(joined.op(pins.regions[0].ops[1]).kind, OpKind::kAttention);
  // The transpose behind is of another region, and stays behind.
  const Graph other = JoinAttention(graph, {.largest_head = 128}, part);
  EXPECT_EQ(other.op(*other.Find("mixed.back")).kind, OpKind::kTranspose);
}

// Random values of all sources by their names.
SourceValues ValuesByName(const Graph& graph) {
  SourceValues sources;
  for (const Op& op : graph.ops) {
    if (!op.inputs.empty() || op.kind == OpKind::kConstant) continue;
    uint32_t seed = 7;
    for (const char letter : op.name) seed = seed * 31 + static_cast<unsigned char>(letter);
    std::mt19937 random(seed);
    Tensor& tensor = sources[op.id] = Zeros(op.type.shape);
    for (double& value : tensor.values) value = std::uniform_real_distribution<double>(0.3, 1)(random);
  }
  return sources;
}

// The loss and all new parameters of a step are those of the ops one by one.
TEST(JoinAttention, AStepIsTheSame) {
  for (const bool causal : {false, true}) {
    for (const bool turned : {false, true}) {
      for (const int64_t groups : {1, 2, 4}) {
        Variant variant = {.causal = causal, .turned = turned, .groups = groups};
        if (groups > 1) variant.cap = 0.7;
        if (groups == 2) variant.ranges = true;
        if (groups == 4) variant.window = 2;
        if (groups != 2) variant.rate = 0.3;
        variant.biased = groups == 1;
        const Graph a = *Differentiate(Model(variant), TestOptimizer());
        const Graph b = *Differentiate(Joined(variant), TestOptimizer());
        EXPECT_TRUE(VerifyGraph(b).empty());
        const auto values = InterpretGraph(a, ValuesByName(a), 1), joined = InterpretGraph(b, ValuesByName(b), 1);
        EXPECT_NEAR(values[*a.loss].values[0], joined[*b.loss].values[0], 1e-12);
        ASSERT_EQ(a.updates.size(), b.updates.size());
        for (size_t i = 0; i < a.updates.size(); ++i) {
          EXPECT_EQ(a.op(a.updates[i].state).name, b.op(b.updates[i].state).name);
          const std::vector<double>& before = values[a.updates[i].value].values;
          const std::vector<double>& after = joined[b.updates[i].value].values;
          ASSERT_EQ(before.size(), after.size());
          for (size_t e = 0; e < before.size(); ++e) EXPECT_NEAR(before[e], after[e], 1e-12);
        }
      }
    }
  }
}

}  // namespace
}  // namespace cleave::ir
