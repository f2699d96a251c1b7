// Generated programs, built with their Makefile and run: every op against the interpreter on 1 and 3 ranks, a whole
// training on 1, 2, 3 and 4 ranks against each other.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "codegen/codegen.h"
#include "codegen/fixtures/fixtures.h"
#include "codegen/fixtures/workspace.h"
#include "gtest/gtest.h"
#include "ir/interpret/interpret.h"
#include "ir/ops/builder.h"
#include "ir/ops/ops.h"

namespace cleave {
namespace {

void WriteProgram(const std::string& folder, const Graph& graph, const Program& program, const Training& training,
                  const CodegenOptions& options = {}) {
  const auto files = GenerateCpu(graph, program, training, options);
  ASSERT_TRUE(files.ok()) << files.status();
  for (const GeneratedFile& file : *files) {
    WriteText(absl::StrCat(folder, "/", file.path), file.text, file.executable);
  }
}

// One graph with every op that has inputs, each weighed and summed into a metric of its own, so that every element
// counts.
class AllOpsGraph {
 public:
  AllOpsGraph() {
    const OpId x = Float({6, 5});
    const OpId y = Float({6, 5});
    const OpId cube = Float({4, 6, 5});
    const OpId positive = builder_.Add("square", {x}, {}, "positive");
    const OpId scalar = builder_.Add("reduce_mean", {Float({3})}, {}, "scalar");
    Check(positive);
    for (const char* kind : {"abs", "cos", "erf", "exp", "gelu", "leaky_relu", "neg", "relu", "sigmoid", "sign", "silu",
                             "sin", "softplus", "tanh"}) {
      Check(Add(kind, {x}));
    }
    for (const char* kind : {"log", "rsqrt", "sqrt"}) Check(Add(kind, {positive}));
    for (const char* kind : {"add", "sub", "mul", "div", "maximum", "minimum"}) {
      Check(Add(kind, {x, y}));
      Check(Add(kind, {x, Float({5})}));
      Check(Add(kind, {Float({6, 1}), y}));
      Check(Add(kind, {cube, Float({4, 1, 5})}));
      Check(Add(kind, {x, scalar}));
    }
    // A chain in which values are used more than once.
    const OpId a = Add("add", {x, y});
    const OpId b = Add("mul", {a, Add("sub", {a, x})});
    Check(Add("sub", {Add("exp", {Add("scale", {b}, {{"factor", -0.25}})}), Add("div", {a, positive})}));
    for (const char* kind : {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}) {
      Check(Add(kind, {Add("sign", {x}), Add("sign", {y})}));
      Check(Add(kind, {Integer({6, 5}), Integer({5})}));
    }
    Choices(x, y, positive);
    const OpId whole = Add("cast", {Add("scale", {x}, {{"factor", 7.5}})}, {{"dtype", std::string("i32")}});
    Check(Add("cast", {whole}, {{"dtype", std::string("f32")}}));
    Check(Add("bias_add", {cube, Float({5})}));
    Check(Add("broadcast_to", {x}, {{"shape", Shape{3, 6, 5}}}));
    Check(Add("causal_mask", {cube}, {{"fill", -2.5}}));
    for (const char* kind : {"relu_gradient", "tanh_gradient", "sigmoid_gradient", "gelu_gradient"}) {
      Check(Add(kind, {x, y}));
    }
    for (const char* kind : {"mse_gradient", "mae_gradient"}) Check(Add(kind, {x, y, scalar}));
    Products(cube);
    Reductions(cube);
    Rows(cube);
    Rankings(cube);
    Losses(scalar);
    Movement(cube);
    Images();
    const OpId constant = builder_.Add("constant", {}, {{"shape", Shape{5, 2}}, {"value", 0.5}}, "constant");
    Check(Add("matmul", {x, constant}));
    builder_.Add("assert_finite", {x}, {}, "checked");
    builder_.Add("print", {Float({2})}, {}, "shown");
    builder_.Add("print", {Float({2})}, {{"local", true}}, "shown_pieces");
  }

  Graph Build() && {
    Graph graph = std::move(builder_).Build();
    graph.model = "AllOps";
    graph.file = "all_ops.model";
    graph.metrics = metrics_;
    graph.loss = metrics_.front().value;
    return graph;
  }

 private:
  OpId Input(Shape shape, const std::string& dtype) {
    const std::string name = absl::StrCat("input_", ++inputs_);
    return builder_.Add("input", {}, {{"shape", shape}, {"dtype", dtype}, {"data", name}}, name);
  }
  OpId Float(Shape shape) { return Input(std::move(shape), "f32"); }
  OpId Integer(Shape shape) { return Input(std::move(shape), "i32"); }

  OpId Add(const std::string& kind, std::vector<OpId> inputs, std::map<std::string, AttributeValue> attributes = {}) {
    return builder_.Add(kind, std::move(inputs), std::move(attributes), absl::StrCat(kind, ".", ++ops_));
  }

  // The metric of `value` is the mean of its elements, each times a number of its own.
  void Check(OpId value) {
    const OpId weight = Float(builder_.type(value).shape);
    const OpId weighed = builder_.Add("mul", {value, weight}, {}, absl::StrCat("weighed_", metrics_.size()));
    const std::string name = builder_.graph().op(value).name;
    metrics_.push_back({name, builder_.Add("reduce_mean", {weighed}, {}, absl::StrCat("metric_", metrics_.size()))});
  }

  void Choices(OpId x, OpId y, OpId positive) {
    const OpId larger = Add("greater", {x, y});
    Check(Add("where", {larger, x, Float({5})}));
    Check(Add("where", {Add("mul", {larger, y}), Float({6, 1}), y}));
    const OpId whole = Add("where", {larger, Integer({6, 5}), Integer({5})});
    Check(Add("cast", {whole}, {{"dtype", std::string("f32")}}));
    Check(Add("clamp", {x}, {{"low", -0.25}, {"high", 0.5}}));
    Check(Add("leaky_relu_gradient", {x, y}, {{"slope", 0.125}}));
    Check(Add("pow", {positive, y}));
    for (const double exponent : {-2.0, 0.0, 0.5, 1.0, 2.0, 2.5, 5.0}) {
      Check(Add("power", {positive}, {{"exponent", exponent}}));
    }
  }

  void Products(OpId cube) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        const std::map<std::string, AttributeValue> sides = {{"transpose_a", ta}, {"transpose_b", tb}};
        Check(Add("matmul", {Float(ta ? Shape{7, 6} : Shape{6, 7}), Float(tb ? Shape{5, 7} : Shape{7, 5})}, sides));
        Check(Add("matmul", {Float(ta ? Shape{4, 7, 6} : Shape{4, 6, 7}), Float(tb ? Shape{4, 5, 7} : Shape{4, 7, 5})},
                  sides));
        Check(
            Add("matmul", {Float(ta ? Shape{4, 7, 6} : Shape{4, 6, 7}), Float(tb ? Shape{5, 7} : Shape{7, 5})}, sides));
      }
    }
    Einsums();
    Check(Add("matmul_sum", {cube, Float({4, 6, 3})}));
    const OpId product = Add("matmul", {Float({6, 7}), Float({7, 5})});
    Check(Add("relu", {Add("bias_add", {product, Float({5})})}));
  }

  // Products as they lie, with the inputs or a matrix swapped, in another order, and what is no product.
  void Einsums() {
    const auto einsum = [&](const char* equation, std::vector<OpId> inputs) {
      Check(Add("einsum", std::move(inputs), {{"equation", std::string(equation)}}));
    };
    einsum("b i k, b k j -> b i j", {Float({4, 6, 7}), Float({4, 7, 5})});
    einsum("b k i, b j k -> b i j", {Float({4, 7, 6}), Float({4, 5, 7})});
    einsum("a i k, k j -> a i j", {Float({2, 6, 7}), Float({7, 5})});
    einsum("i k, k j -> j i", {Float({6, 7}), Float({7, 5})});
    einsum("i k, k -> i", {Float({6, 7}), Float({7})});
    einsum("i b k, k j b -> b j i", {Float({6, 4, 7}), Float({7, 5, 4})});
    einsum("i, j, i j -> j", {Float({6}), Float({5}), Float({6, 5})});
    einsum("i j k -> k i", {Float({6, 5, 7})});
    einsum("i i k, k j -> i i j", {Float({5, 5, 7}), Float({7, 3})});
    einsum("i i ->", {Float({6, 6})});
  }

  void Reductions(OpId cube) {
    for (const char* kind : {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min"}) {
      for (const std::vector<int64_t>& axes : {std::vector<int64_t>{}, {0}, {1}, {2}, {0, 2}, {1, 2}, {-1}}) {
        Check(Add(kind, {cube}, {{"axes", axes}}));
      }
      Check(Add(kind, {cube}, {{"axes", std::vector<int64_t>{1}}, {"keep_dims", true}}));
    }
  }

  void Rows(OpId cube) {
    const OpId dy = Float({4, 6, 5});
    const std::map<std::string, AttributeValue> epsilon = {{"epsilon", 1e-5}};
    Check(Add("softmax", {cube}));
    Check(Add("softmax_gradient", {dy, Add("softmax", {cube})}));
    Check(Add("log_softmax", {cube}));
    Check(Add("log_softmax_gradient", {dy, Add("log_softmax", {cube})}));
    Check(Add("layer_norm", {cube, Float({5}), Float({5})}, epsilon));
    Check(Add("layer_norm_gradient_input", {dy, cube, Float({5})}, epsilon));
    Check(Add("layer_norm_gradient_scale", {dy, cube}, epsilon));
  }

  OpId Real(OpId whole) { return Add("cast", {whole}, {{"dtype", std::string("f32")}}); }

  void Rankings(OpId cube) {
    const std::map<std::string, AttributeValue> two = {{"k", int64_t{2}}};
    const std::map<std::string, AttributeValue> halves = {
        {"k", int64_t{2}}, {"pieces", int64_t{2}}, {"elements", int64_t{5}}};
    Check(Real(Add("argmax", {cube})));
    Check(Real(Add("argmax", {cube}, {{"axis", int64_t{1}}})));
    const OpId max = Add("reduce_max", {cube}, {{"axes", std::vector<int64_t>{1}}, {"keep_dims", true}});
    Check(Real(Add("first_equal", {cube, max}, {{"axis", int64_t{1}}})));
    Check(Add("top_k", {cube}, two));
    const OpId indices = Add("top_k_indices", {cube}, two);
    Check(Real(indices));
    Check(Add("top_k_gradient", {Float({4, 6, 2}), indices}, {{"elements", int64_t{5}}}));
    const OpId candidates = Add("top_k_candidates", {cube}, halves);
    const OpId candidate_indices = Add("top_k_candidate_indices", {cube}, halves);
    Check(candidates);
    Check(Real(candidate_indices));
    Check(Real(Add("top_k_merge", {candidates, candidate_indices}, two)));
  }

  void Losses(OpId scalar) {
    const OpId logits = Float({7, 3, 5});
    const OpId label = Integer({7, 3});
    const OpId mask = Float({7});
    Check(Add("cross_entropy", {logits, label}));
    Check(Add("cross_entropy_gradient", {logits, label, scalar}));
    Check(Add("accuracy", {logits, label}));
    const OpId real = Add("relu", {Add("sign", {mask})});
    Check(Add("cross_entropy", {logits, label, real}));
    Check(Add("accuracy", {logits, label, real}));
    const OpId log_sum = Float({7, 3, 1});
    Check(Add("label_loss", {logits, label, log_sum}));
    Check(Add("label_loss", {logits, label, log_sum, real}));
    Check(Add("label_loss_gradient", {logits, label, log_sum, scalar}));
    Check(Add("share_of_equal", {label, Integer({7, 3})}));
    Check(Add("share_of_equal", {label, Integer({7, 3}), real}));
    for (const char* kind : {"mse", "mae", "huber", "bce_with_logits"}) {
      Check(Add(kind, {Float({7, 3}), Float({7, 3})}));
      Check(Add(kind, {Float({7, 3}), Float({7, 3}), real}));
    }
  }

  void Movement(OpId cube) {
    Check(Add("reshape", {cube}, {{"shape", Shape{24, 5}}}));
    Check(Add("reshape", {cube}, {{"shape", Shape{2, 2, 30}}}));
    Check(Add("flatten", {cube}));
    Check(Add("identity", {cube}));
    Check(Add("transpose", {cube}));
    Check(Add("transpose", {cube}, {{"permutation", std::vector<int64_t>{0, 2, 1}}}));
    Check(Add("transpose", {cube}, {{"permutation", std::vector<int64_t>{1, 0, 2}}}));
    Check(Add("slice", {cube}, {{"begin", Shape{0, 2, 1}}, {"end", Shape{4, 5, 5}}}));
    Check(Add("pad", {cube}, {{"before", Shape{1, 0, 2}}, {"after", Shape{1, 0, 1}}}));
    Check(Add("concat", {cube, Float({4, 2, 5}), cube}, {{"axis", int64_t{1}}}));
    Check(Add("cumsum", {cube}, {{"axis", int64_t{2}}}));
    Check(Add("cumsum", {cube}, {{"axis", int64_t{-2}}, {"reverse", true}}));
    Check(Add("rope", {Float({6, 3, 4})}, {{"axis", int64_t{0}}, {"theta", 100.0}}));
    Check(Add("rope", {Float({3, 5, 6})}, {{"inverse", true}}));
    Check(Add("dropout", {cube}, {{"rate", 0.3}}));
    const OpId tokens = Integer({6, 4});
    Check(Add("embedding", {tokens, Float({9, 5})}));
    Check(Add("embedding_gradient", {Float({6, 4, 5}), tokens}, {{"rows", int64_t{9}}}));
    Check(Add("gather", {cube, tokens}, {{"axis", int64_t{1}}}));
    Check(Add("scatter_add", {Float({3, 6, 4, 2}), tokens}, {{"size", int64_t{7}}, {"axis", int64_t{1}}}));
    Check(Add("one_hot", {tokens}, {{"depth", int64_t{9}}}));
  }

  // Dimensions that ranks cut, the first two, and others.
  void Images() {
    using Ints = std::vector<int64_t>;
    using Attributes = std::map<std::string, AttributeValue>;
    const Attributes plain = {{"padding", Ints{1, 0}}};
    const Attributes strided = {{"stride", Ints{2, 1}}, {"dilation", Ints{1, 2}}, {"groups", int64_t{2}}};
    const OpId x = Float({5, 4, 7, 6});
    const auto with = [](Attributes attributes, const std::string& name, const Ints& numbers) {
      attributes[name] = numbers;
      return attributes;
    };
    Check(Add("conv2d", {x, Float({6, 4, 3, 2})}, plain));
    Check(Add("conv2d", {x, Float({6, 2, 2, 3})}, strided));
    const OpId plain_dy = Float({5, 6, 7, 5});
    const OpId strided_dy = Float({5, 6, 3, 2});
    Check(Add("conv2d_gradient_input", {plain_dy, Float({6, 4, 3, 2})}, with(plain, "size", {7, 6})));
    Check(Add("conv2d_gradient_input", {strided_dy, Float({6, 2, 2, 3})}, with(strided, "size", {7, 6})));
    Check(Add("conv2d_gradient_filter", {plain_dy, x}, with(plain, "kernel", {3, 2})));
    Check(Add("conv2d_gradient_filter", {strided_dy, x}, with(strided, "kernel", {2, 3})));
    const Attributes halves = {{"kernel", Ints{2}}};
    const Attributes thirds = {{"kernel", Ints{3, 2}}, {"stride", Ints{2, 1}}, {"padding", Ints{1, 1}}};
    for (const Attributes& attributes : {halves, thirds}) {
      const OpId largest = Add("max_pool", {x}, attributes);
      Check(largest);
      Check(Add("avg_pool", {x}, attributes));
      const OpId index = Add("max_pool_index", {x}, attributes);
      Check(Add("cast", {index}, {{"dtype", std::string("f32")}}));
      const OpId dy = Float(builder_.type(largest).shape);
      Check(Add("max_pool_gradient", {dy, index}, with(attributes, "size", {7, 6})));
      Check(Add("avg_pool_gradient", {dy}, with(attributes, "size", {7, 6})));
    }
  }

  GraphBuilder builder_;
  std::vector<Metric> metrics_;
  int inputs_ = 0;
  int ops_ = 0;
};

// Runs one forward pass on the inputs in the file "inputs", float64 one after another, and prints the metrics.
constexpr char kDriver[] = R"cc(
#define main train_main
#include "program.cc"
#undef main

#include <cstdio>
#include <fstream>

  int main() {
    Watch watch("all_ops.model");
    const Mesh mesh = MESH;
    Result<std::unique_ptr<Comm>> comm = Comm::Start(mesh, watch);
    if (!comm.ok()) return 1;
    const std::vector<int64_t> coordinates = Coordinates(mesh, comm.value()->rank());
    const uint64_t step = 1;
    const Context context = {comm.value()->rank(), mesh, coordinates, 1, *comm.value(), watch, step};
    AllOpsModel model(context);
    model.Initialize();
    std::ifstream file("inputs", std::ios::binary);
    for (const ModelInput& input : model.Inputs()) {
      std::vector<double> whole(static_cast<size_t>(ElementCount(input.region.shape)));
      file.read(reinterpret_cast<char*>(whole.data()), static_cast<std::streamsize>(whole.size() * sizeof(double)));
      ForEachRun(input.region, [&](int64_t global, int64_t local, int64_t count) {
        for (int64_t i = 0; i < count; ++i) {
          const double value = whole[static_cast<size_t>(global + i)];
          if (input.floats != nullptr) input.floats[local + i] = static_cast<float>(value);
          if (input.integers != nullptr) input.integers[local + i] = static_cast<int32_t>(value);
        }
      });
    }
    model.Forward();
    model.Metrics();
    if (context.rank != 0) return 0;
    for (int i = 0; i < METRICS; ++i) std::printf("metric %.9g\n", model.Metric(i));
    return 0;
  }
)cc";

std::string InputBytes(const Graph& graph, const SourceValues& sources) {
  std::string bytes;
  for (const Op& op : graph.ops) {
    if (op.kind != "input") continue;
    const std::vector<double>& values = sources.at(op.id).values;
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
  }
  return bytes;
}

std::vector<double> RunMetrics(const std::string& folder, const Graph& graph, const SplitModel& split,
                               const SourceValues& sources) {
  WriteProgram(folder, split.graph, split.program, Training{});
  std::vector<std::string> axes;
  for (const MeshAxis& axis : split.program.mesh.axes())
    axes.push_back(absl::StrCat("{\"", axis.name, "\", ", axis.size, "}"));
  std::string driver = kDriver;
  driver =
      absl::StrReplaceAll(driver, {{"MESH", axes.empty() ? "{}" : absl::StrCat("{", absl::StrJoin(axes, ", "), "}")},
                                   {"METRICS", absl::StrCat(graph.metrics.size())}});
  WriteText(absl::StrCat(folder, "/driver.cc"), driver);
  WriteText(absl::StrCat(folder, "/inputs"), InputBytes(graph, sources));
  // Speed is not what is tested.
  const CommandOutput built = RunShell(folder, "make MAIN=driver.cc CXXFLAGS='-O1 -std=c++17 -fopenmp'");
  EXPECT_EQ(built.exit_code, 0) << built.text;
  const CommandOutput output = RunShell(folder, "OMP_NUM_THREADS=2 ./run.sh");
  EXPECT_EQ(output.exit_code, 0) << output.text;
  std::vector<double> metrics;
  for (const absl::string_view line : absl::StrSplit(output.text, '\n')) {
    double value = 0;
    if (absl::StartsWith(line, "metric ") && absl::SimpleAtod(line.substr(7), &value)) metrics.push_back(value);
  }
  EXPECT_EQ(metrics.size(), graph.metrics.size()) << output.text;
  metrics.resize(graph.metrics.size());
  return metrics;
}

TEST(GeneratedProgram, ComputesEveryOpAsTheInterpreterDoes) {
  const Graph graph = AllOpsGraph().Build();
  std::set<std::string> kinds = {"parameter", "state", "step_scalar"};  // Trained below.
  kinds.insert({"custom", "custom_gradient"});  // Their bodies are the model's: tests/end_to_end/custom_ops_test.
  // Of manual models: manual_run_test.
  kinds.insert({"all_gather", "all_reduce", "all_to_all", "broadcast", "neighbor_exchange", "rank_pad", "rank_slice",
                "rank_value", "reduce_scatter"});
  for (const Op& op : graph.ops) kinds.insert(op.kind);
  for (const OpDefinition* op : AllOps()) EXPECT_EQ(kinds.count(op->name), 1u) << op->name << " is not tested";

  const SourceValues sources = RandomSources(graph, 1);
  const IdVector<OpId, Tensor> expected = InterpretGraph(graph, sources, 1);
  const std::string folder = FreshFolder("all_ops");
  for (const int devices : {1, 2, 3, 4}) {
    SCOPED_TRACE(absl::StrCat(devices, " ranks"));
    const Mesh mesh = Mesh::OfDevices(devices);
    // Every input is cut: the last dimension on 2 ranks, so that what looks at rows as a whole takes its distributed
    // form; the first one on 3, unevenly; the first two on 4. Others follow, but for dimensions that stand in no input:
    // rows by number.
    const std::map<std::string, std::string> rows = {
        {"embedding_gradient", "v"}, {"one_hot", "c"}, {"scatter_add", "v"}};
    Cuts cuts;
    for (const Op& op : graph.ops) {
      if (devices == 1) continue;
      if (devices == 2) {
        if (op.kind == "input") cuts[op.name][absl::StrCat("d", op.type.rank() - 1)] = {0};
        continue;
      }
      if (const auto found = rows.find(op.kind); found != rows.end()) cuts[op.name][found->second] = {0};
      if (op.kind != "input") continue;
      cuts[op.name]["d0"] = {0};
      if (devices == 4) cuts[op.name][op.type.rank() > 1 ? "d1" : "d0"].push_back(1);
    }
    const SplitModel split = devices == 1 ? SplitModel{graph, SingleRankProgram(graph)} : Split(graph, mesh, cuts);
    const std::vector<double> metrics = RunMetrics(folder, graph, split, sources);
    for (size_t i = 0; i < metrics.size(); ++i) {
      const double value = expected[graph.metrics[i].value].values[0];
      EXPECT_NEAR(metrics[i], value, 1e-5 + 1e-5 * std::abs(value)) << graph.metrics[i].name;
    }
  }
}

std::vector<double> LossesOf(const std::string& folder) {
  std::vector<double> losses;
  for (const absl::string_view line : absl::StrSplit(ReadText(absl::StrCat(folder, "/metrics.jsonl")), '\n')) {
    const size_t at = line.find("\"loss\":");
    if (at == absl::string_view::npos) continue;
    const std::vector<std::string> parts = absl::StrSplit(line.substr(at + 7), ',');
    double loss = 0;
    EXPECT_TRUE(absl::SimpleAtod(parts[0], &loss)) << line;
    losses.push_back(loss);
  }
  return losses;
}

// Trains one graph with several programs; the first has the numbers that all others must have.
class TrainingRuns {
 public:
  TrainingRuns(Graph graph, Training training, const std::string& folder)
      : graph_(std::move(graph)), training_(std::move(training)), folder_(FreshFolder(folder)) {}

  void Run(const Program& program, const std::string& what) {
    SCOPED_TRACE(what);
    WriteProgram(folder_, graph_, program, training_);
    const CommandOutput built = RunShell(folder_, "make CXXFLAGS='-O1 -std=c++17 -fopenmp'");
    ASSERT_EQ(built.exit_code, 0) << built.text;
    const CommandOutput output = RunShell(folder_, "OMP_NUM_THREADS=1 ./run.sh --steps 20");
    ASSERT_EQ(output.exit_code, 0) << output.text;
    const std::vector<double> losses = LossesOf(folder_);
    ASSERT_EQ(losses.size(), 20u);
    if (first_.empty()) {
      first_ = losses;
      EXPECT_LT(first_.back(), first_.front());
    }
    for (size_t i = 0; i < 20; ++i) EXPECT_NEAR(losses[i], first_[i], 1e-4 * first_[i]) << "step " << i + 1;
  }

  const Graph& graph() const { return graph_; }

 private:
  Graph graph_;
  Training training_;
  std::string folder_;
  std::vector<double> first_;
};

class Trainings : public testing::TestWithParam<Optimizer::Kind> {};

TEST_P(Trainings, AreTheSameOnAnyNumberOfRanks) {
  Training training = DigitsTraining();
  training.data.numbers = {{"train", 2000}, {"test", 100}};
  training.optimizer.kind = GetParam();
  training.optimizer.learning_rate = {
      .form = Schedule::Form::kCosine, .rate = 0.01, .warmup_steps = 5, .total_steps = 40, .final_rate = 0.001};
  training.optimizer.weight_decay = 0.01;
  TrainingRuns runs(TrainingGraph(MlpForward(50, {33, 17, 10}), training.optimizer), training, "training");
  runs.Run(SingleRankProgram(runs.graph()), "one rank");
  // 50 samples on 3 ranks are uneven, so are 33 features on 2.
  for (const int devices : {2, 3}) {
    const Mesh mesh = Mesh::OfDevices(devices);
    runs.Run(PartitionedProgram(runs.graph(), mesh, DataParallelCuts(mesh)),
             absl::StrCat("data parallel on ", devices));
  }
  Cuts cuts = {{"image", {{"d0", {0}}}},       {"label", {{"d0", {0}}}},
               {"sample_mask", {{"d0", {0}}}}, {"h1.weight", {{"d0", {1}}}},
               {"h1.bias", {{"d0", {1}}}},     {"h1.matmul", {{"i", {0}}, {"j", {1}}}},
               {"h2.weight", {{"d1", {1}}}},   {"h2.matmul", {{"i", {0}}, {"k", {1}}}}};
  runs.Run(PartitionedProgram(runs.graph(), Mesh::OfDevices(4), cuts), "data and tensor parallel on 4");
}

INSTANTIATE_TEST_SUITE_P(Optimizers, Trainings, testing::Values(Optimizer::Kind::kMomentum, Optimizer::Kind::kAdamW));

// Rows of images lie on several ranks: windows reach into the neighbours' pieces.
TEST(GeneratedProgram, ConvolvesCutImages) {
  Training training = DigitsTraining();
  training.data.numbers = {{"train", 500}, {"test", 20}};
  training.optimizer.learning_rate.rate = 0.01;
  TrainingRuns runs(TrainingGraph(CnnForward(20), training.optimizer), training, "images");
  runs.Run(SingleRankProgram(runs.graph()), "one rank");
  const auto run = [&](int devices, std::map<std::string, std::vector<int>> image, const std::string& what) {
    Cuts cuts = {{"image", image}};
    if (image.count("d0") > 0) cuts["label"] = cuts["sample_mask"] = {{"d0", image["d0"]}};
    runs.Run(PartitionedProgram(runs.graph(), Mesh::OfDevices(devices), cuts), what);
  };
  // The 7 rows after conv2 are fewer than some numbers of ranks.
  for (const int devices : {2, 3, 5}) run(devices, {{"d2", {0}}}, absl::StrCat("rows on ", devices));
  run(4, {{"d2", {0}}, {"d3", {1}}}, "rows and columns on 4");
  run(6, {{"d0", {1}}, {"d2", {0}}}, "samples and rows on 6");
}

TEST(GeneratedProgram, SaysWhatTheMachineLacks) {
  const Graph graph = TrainingGraph(MlpForward(50, {33, 10}), DigitsTraining().optimizer);
  const std::string folder = FreshFolder("lacking");
  WriteProgram(folder, graph, SingleRankProgram(graph), DigitsTraining());
  const CommandOutput run = RunShell(folder, "PATH=/nonexistent /bin/sh ./run.sh --launch mpirun");
  EXPECT_EQ(run.exit_code, 5);
  EXPECT_EQ(run.text, "run.sh: mpirun is not there: install MPI (Debian: openmpi-bin)\n");
  const CommandOutput built = RunShell(folder, "make CXX=no_such_compiler");
  EXPECT_NE(built.exit_code, 0);
  EXPECT_TRUE(absl::StrContains(built.text, "the compiler `no_such_compiler` is not there: install MPI")) << built.text;
}

// Sources of data that a program does not name are left out.
TEST(GeneratedProgram, LinksWithEveryDataSource) {
  Training training = DigitsTraining();
  const Graph graph = TrainingGraph(MlpForward(50, {33, 10}), training.optimizer);
  const std::string folder = FreshFolder("data");
  for (const std::string kind : {"digits", "mnist", "synthetic", "tokens"}) {
    SCOPED_TRACE(kind);
    training.data = {.kind = kind, .path = "no/such/folder", .numbers = {}};
    RunShell(folder, "rm -rf runtime/data");
    WriteProgram(folder, graph, SingleRankProgram(graph), training);
    const CommandOutput built = RunShell(folder, "make CXXFLAGS='-O0 -std=c++17 -fopenmp' COLDFLAGS=");
    EXPECT_EQ(built.exit_code, 0) << built.text;
    // Without its files, or with data that does not fit the model, it says so.
    const CommandOutput output = RunShell(folder, "./run.sh --steps 1");
    EXPECT_EQ(output.exit_code, kind == "mnist" || kind == "tokens" ? 3 : 0) << output.text;
  }
}

// Each rank runs the program that was written for it.
TEST(GeneratedProgram, OfEachRankComputesTheSameAsTheOneForAll) {
  Training training = DigitsTraining();
  training.data.numbers = {{"train", 500}, {"test", 0}};
  const Graph graph = TrainingGraph(MlpForward(50, {33, 17, 10}), training.optimizer);
  const Mesh mesh = Mesh::OfDevices(2);
  const Program program = PartitionedProgram(graph, mesh, DataParallelCuts(mesh));
  const std::string folder = FreshFolder("folded");
  const auto build = [&](std::optional<int> rank, const std::string& name) {
    WriteProgram(folder, graph, program, training, {.rank = rank});
    const CommandOutput built =
        RunShell(folder, absl::StrCat("make CXXFLAGS='-O1 -std=c++17 -fopenmp' && cp program ", name));
    ASSERT_EQ(built.exit_code, 0) << built.text;
  };
  build(0, "program_0");
  build(1, "program_1");
  build(std::nullopt, "program_all");
  const std::string mpirun =
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1 mpirun --bind-to none "
      "--oversubscribe ";
  const CommandOutput all = RunShell(folder, absl::StrCat(mpirun, "-n 2 ./program_all --steps 8"));
  ASSERT_EQ(all.exit_code, 0) << all.text;
  const std::vector<double> expected = LossesOf(folder);
  const CommandOutput folded =
      RunShell(folder, absl::StrCat(mpirun, "-n 1 ./program_0 --steps 8 : -n 1 ./program_1 --steps 8"));
  ASSERT_EQ(folded.exit_code, 0) << folded.text;
  EXPECT_EQ(expected.size(), 8u);
  EXPECT_EQ(LossesOf(folder), expected);
}

}  // namespace
}  // namespace cleave
