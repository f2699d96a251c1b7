#include "ir/graph/text.h"

#include <iterator>
#include <random>

#include "gtest/gtest.h"

namespace cleave::ir {
namespace {

constexpr char kText[] = R"(graph MnistMlp "mnist_mlp.model" "xxh3:0f" {
  %0: f32[256, 784] = input() {data = "image", shape = (256, 784)}  // image, mnist_mlp.model:3
  %1: f32[512, 784] = parameter() {deviation = 0.25, scale = 3.0}  // h1.weight, mnist_mlp.model:7
  %2: f32[256, 512] = matmul(%0, %1) {transpose_b = true}  // h1.matmul, mnist_mlp.model:7
  %3: f32[] = reduce_sum(%2) {axes = (), keep_dims = false}  // total
  %4: f32[256, 512] = broadcast_to(%3) phase(backward) from(%2, (0, -1, 2)) gradient_of(%2)  // h1.matmul.grad, mnist_mlp.model:7
  loss %3
  metric total %3
  update %1 = %2
  look print_local %2  // h1.matmul, mnist_mlp.model:9
  look watch %1 grad  // h1.weight
}
)";

TEST(TextTest, ParsesAndPrintsBack) {
  const absl::StatusOr<Graph> graph = ParseGraph(kText);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->model, "MnistMlp");
  EXPECT_EQ(graph->ops.size(), 5u);
  const Op& matmul = graph->op(OpId(2));
  EXPECT_EQ(matmul.name, "h1.matmul");
  EXPECT_EQ(matmul.line, 7);
  EXPECT_TRUE(matmul.attributes.Get(attribute::kTransposeB));
  EXPECT_EQ(graph->op(OpId(1)).attributes.Get(Attribute<double>{"scale"}), 3.0);
  EXPECT_EQ(graph->op(OpId(4)).inherits, (Inheritance{.op = OpId(2), .factors = {0, -1, 2}}));
  EXPECT_EQ(graph->op(OpId(4)).gradient_of, OpId(2));
  EXPECT_EQ(graph->looks,
            (std::vector<Look>{{.kind = LookKind::kPrintLocal, .value = OpId(2), .name = "h1.matmul", .line = 9},
                               {.kind = LookKind::kWatch, .value = OpId(1), .name = "h1.weight", .part = "grad"}}));
  EXPECT_EQ(graph->updates, (std::vector<StateUpdate>{{OpId(1), OpId(2)}}));
  EXPECT_EQ(GraphText(*graph), kText);
}

TEST(TextTest, ManualModels) {
  const std::string text = R"(graph M "m.model" "xxh3:0f" ranks(dp = 2, tp = 4) sums(f32) {
  %0: f32[] = rank_value() {empty = [], integers = (), values = [1.0, -0.5]}  // share, m.model:3
}
)";
  const absl::StatusOr<Graph> graph = ParseGraph(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->rank_axes, (std::vector<RankAxis>{{"dp", 2}, {"tp", 4}}));
  EXPECT_EQ(graph->op(OpId(0)).attributes.Get(attribute::kValues), (std::vector<double>{1, -0.5}));
  EXPECT_TRUE(graph->op(OpId(0)).attributes.Get(Attribute<std::vector<double>>{"empty"}).empty());
  EXPECT_TRUE(graph->op(OpId(0)).attributes.Get(Attribute<std::vector<int64_t>>{"integers"}).empty());
  EXPECT_EQ(GraphText(*graph), text);
}

TEST(TextTest, AnnotationsAreSkipped) {
  const absl::StatusOr<Graph> graph = ParseGraph(kText);
  ASSERT_TRUE(graph.ok());
  const std::string annotated = GraphText(*graph, [](const Op&) { return " in_strategy((4, 2), (1, 2))"; });
  EXPECT_NE(annotated.find("{transpose_b = true} in_strategy((4, 2), (1, 2))  // h1.matmul"), std::string::npos);
  const absl::StatusOr<Graph> again = ParseGraph(annotated);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, *graph);
}

// The error of parsing `text`.
std::string ErrorOf(const std::string& text) {
  const absl::StatusOr<Graph> graph = ParseGraph(text);
  return graph.ok() ? "ok" : std::string(graph.status().message());
}

TEST(TextTest, Errors) {
  const std::string head = "graph M \"m\" \"h\" {\n";
  EXPECT_EQ(ErrorOf(""), "line 1, column 1: expected `graph`, found the end of the text");
  EXPECT_EQ(ErrorOf("graph M 3"), "line 1, column 9: expected a string in quotes, found `3`");
  EXPECT_EQ(ErrorOf("graph M \"m"), "line 1, column 9: expected a string that ends on its line, found `\"`");
  EXPECT_EQ(ErrorOf(head + "%1: f32[] = input()  // x\n}"),
            "line 2, column 3: expected op %0 instead of %1, found `:`");
  EXPECT_EQ(ErrorOf(head + "%0: f64[] = input()  // x\n}"),
            "line 2, column 5: expected a type such as `f32[2, 3]`, found `f64`");
  EXPECT_EQ(ErrorOf(head + "%0: f32[] = relu(%0)  // x\n}"),
            "line 2, column 23: expected an op above instead of %0, found `/`");
  EXPECT_EQ(ErrorOf(head + "%0: f32[] = input()\n}"), "line 3, column 1: expected `// ` and the op's name, found `}`");
  EXPECT_EQ(ErrorOf(head + "%0: f32[] = input() {a = b}  // x\n}"),
            "line 2, column 26: expected a value: true, 1, 0.5, \"text\", (1, 2) or [0.5, 1.0], found `b`");
  EXPECT_EQ(ErrorOf("graph M \"m\" \"h\" ranks() {"), "line 1, column 23: expected a name, found `)`");
  EXPECT_EQ(ErrorOf(head + "%0: f32[] = input() {a = [1, x]}  // x\n}"),
            "line 2, column 30: expected a number, found `x`");
  EXPECT_EQ(ErrorOf(head + "  %0: f32[] = constant() {value = 1} phase(weights)  // a, m.model:1\n}"),
            "line 2, column 51: expected a phase instead of `weights`, found `)`")
      << "of steps only";
  EXPECT_EQ(ErrorOf(head + "loss %0\n}"), "line 3, column 1: expected an op above instead of %0, found `}`");
  EXPECT_EQ(ErrorOf(head), "line 2, column 1: expected an id such as `%4`, found the end of the text");
  EXPECT_EQ(ErrorOf(head + "} more"), "line 2, column 3: expected the end of the text, found `more`");
}

AttributeValue RandomValue(std::mt19937_64& random) {
  switch (random() % 6) {
    case 0:
      return random() % 2 == 0;
    case 1:
      return static_cast<int64_t>(random());
    case 2:
      return std::uniform_real_distribution<double>(-1e3, 1e3)(random) * (random() % 2 == 0 ? 1e-12 : 1);
    case 3: {
      std::string text;
      const std::string letters = "a\"\\\n\t{}()// %";
      for (size_t i = random() % 8; i > 0; --i) text.push_back(letters[random() % letters.size()]);
      return text;
    }
    case 4: {
      std::vector<double> numbers(random() % 4);
      for (double& number : numbers) number = std::uniform_real_distribution<double>(-1, 1)(random);
      if (random() % 2 == 0) numbers.push_back(2);
      return numbers;
    }
    default: {
      std::vector<int64_t> numbers(random() % 4);
      for (int64_t& number : numbers) number = static_cast<int64_t>(random() % 100) - 50;
      return numbers;
    }
  }
}

Graph RandomGraph(std::mt19937_64& random) {
  Graph graph;
  graph.model = random() % 4 == 0 ? "" : "Model";
  graph.file = random() % 2 == 0 ? "a, b: c.model" : "m.model";
  graph.hash = "xxh3:1";
  for (size_t i = random() % 3; i > 0; --i) {
    graph.rank_axes.push_back({.name = "axis" + std::to_string(i), .size = 1 + static_cast<int64_t>(random() % 9)});
  }
  const int64_t count = 1 + static_cast<int64_t>(random() % 12);
  auto some_op = [&](int64_t limit) { return OpId(static_cast<int64_t>(random() % static_cast<uint64_t>(limit))); };
  for (int64_t id = 0; id < count; ++id) {
    Op op{.id = OpId(id), .name = "op." + std::to_string(id), .kind = AllOpKinds()[random() % AllOpKinds().size()]};
    constexpr Phase kPhases[] = {Phase::kForward, Phase::kMetric, Phase::kBackward, Phase::kUpdate};
    op.phase = kPhases[random() % std::size(kPhases)];
    op.type.dtype = random() % 2 == 0 ? DType::kF32 : DType::kI32;
    op.type.shape.resize(random() % 4);
    for (int64_t& size : op.type.shape) size = 1 + static_cast<int64_t>(random() % 9);
    op.line = static_cast<int>(random() % 3);
    for (size_t i = id == 0 ? 0 : random() % 3; i > 0; --i) op.inputs.push_back(some_op(id));
    for (size_t i = random() % 4; i > 0; --i) op.attributes.SetNamed("a" + std::to_string(i), RandomValue(random));
    if (id > 0 && random() % 3 == 0) op.inherits = Inheritance{.op = some_op(id), .factors = {1, -1, 0}};
    if (id > 0 && random() % 3 == 0) op.gradient_of = some_op(id);
    graph.ops.push_back(std::move(op));
  }
  if (random() % 2 == 0) graph.loss = some_op(count);
  if (random() % 2 == 0) graph.metrics.push_back({.name = "accuracy", .value = some_op(count)});
  if (random() % 2 == 0) graph.updates.push_back({.state = some_op(count), .value = some_op(count)});
  return graph;
}

TEST(TextTest, RandomGraphsReadBack) {
  const uint64_t seed = 4;
  std::mt19937_64 random(seed);
  for (int trial = 0; trial < 300; ++trial) {
    const Graph graph = RandomGraph(random);
    const std::string text = GraphText(graph);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", trial " + std::to_string(trial) + "\n" + text);
    const absl::StatusOr<Graph> parsed = ParseGraph(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    ASSERT_TRUE(*parsed == graph);
    ASSERT_EQ(GraphText(*parsed), text);
  }
}

// For a prefix of a text or a damaged text, the parser must return an error and nothing worse.
TEST(TextTest, DamagedTextIsAnError) {
  const std::string text = kText;
  for (size_t length = 0; length + 2 < text.size(); ++length) EXPECT_FALSE(ParseGraph(text.substr(0, length)).ok());
  const uint64_t seed = 5;
  std::mt19937_64 random(seed);
  for (int trial = 0; trial < 2000; ++trial) {
    std::string damaged = text;
    damaged[random() % damaged.size()] = static_cast<char>(random() % 127 + 1);
    const absl::StatusOr<Graph> graph = ParseGraph(damaged);
    if (!graph.ok()) continue;
    EXPECT_TRUE(ParseGraph(GraphText(*graph)).ok()) << "seed " << seed << "\n" << damaged;
  }
}

}  // namespace
}  // namespace cleave::ir
