// Optimizers, groups of parameters and several losses: what PyTorch makes of the same model in ten steps, and the same
// program on any number of ranks.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/row_updates/row_updates.h"
#include "ir/proof/interpret/interpret.h"
#include "ir/transforms/differentiate/differentiate.h"
#include "ir/transforms/distribute/distribute.h"
#include "tests/collective_counts/programs.h"

namespace cleave::tests {
namespace {

constexpr char kFolder[] = "tests/optimizers/";
constexpr int kSteps = 10;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// small.model with an optimizer, or the model in the file of that name.
std::string ModelWith(const std::string& optimizer, const std::string& parallel = "") {
  if (absl::EndsWith(optimizer, ".model")) return ReadAll(absl::StrCat(kFolder, optimizer)) + parallel;
  return absl::StrCat(ReadAll(absl::StrCat(kFolder, "small.model")), "train Small { optimizer = ", optimizer, "; }\n",
                      parallel);
}

std::string TablesWith(const std::string& optimizer, const std::string& parallel = "") {
  return absl::StrCat(ReadAll(absl::StrCat(kFolder, "tables.model")), "train Tables { optimizer = ", optimizer, "; }\n",
                      parallel);
}

// What PyTorch makes of a model: pytorch.py and tables.py.
struct Expected {
  std::string optimizer;                                            // Or the name of a model's file.
  std::vector<std::pair<std::string, std::vector<double>>> values;  // "loss", and the parameters at the end.
};

std::vector<Expected> ReadExpected(const std::string& file) {
  std::vector<Expected> all;
  std::stringstream text(ReadAll(absl::StrCat(kFolder, file)));
  for (std::string line; std::getline(text, line);) {
    if (line.find('(') != std::string::npos || absl::EndsWith(line, ".model")) {
      all.push_back({.optimizer = line, .values = {}});
      continue;
    }
    std::stringstream words(line);
    std::string name;
    words >> name;
    all.back().values.emplace_back(name, std::vector<double>());
    for (double value; words >> value;) all.back().values.back().second.push_back(value);
  }
  return all;
}

// The values that the script takes.
ir::Tensor Sines(const ir::Shape& shape, double seed) {
  ir::Tensor tensor = ir::Zeros(shape);
  for (size_t i = 0; i < tensor.values.size(); ++i) tensor.values[i] = std::sin(seed + 1.7 * static_cast<double>(i));
  return tensor;
}

ir::Tensor Numbers(const ir::Shape& shape, int64_t rows) {
  ir::Tensor tensor = ir::Zeros(shape);
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    tensor.values[i] = static_cast<double>(static_cast<int64_t>(i * i * 7) % rows);
  }
  return tensor;
}

// Ten steps of the parameters and states that `expected` names.
std::map<std::string, std::vector<double>> Trained(const ir::Graph& graph, const Expected& expected) {
  std::map<std::string, double> seeds = {{"x", 0.3}, {"y", 1.1}};
  double seed = 2;
  for (const auto& [name, values] : expected.values) {
    if (graph.Find(name).has_value()) seeds[name] = seed++;
  }
  const std::map<std::string, int64_t> rows = {{"ids", 11}, {"bag", 13}};
  ir::SourceValues sources;
  for (const ir::Op& op : graph.ops) {
    if (seeds.count(op.name) > 0) sources[op.id] = Sines(op.type.shape, seeds.at(op.name));
    if (rows.count(op.name) > 0) sources[op.id] = Numbers(op.type.shape, rows.at(op.name));
    if (op.kind == ir::OpKind::kState) sources[op.id] = ir::Zeros(op.type.shape);
  }
  std::map<std::string, std::vector<double>> result;
  for (int64_t step = 1; step <= kSteps; ++step) {
    const IdVector<ir::OpId, ir::Tensor> values = ir::InterpretGraph(graph, sources, step);
    result["loss"].push_back(values[*graph.loss].values[0]);
    for (const ir::Metric& metric : graph.metrics) result[metric.name].push_back(values[metric.value].values[0]);
    for (const ir::StateUpdate& update : graph.updates) sources[update.state] = values[update.value];
  }
  for (const ir::Op& op : graph.ops) {
    if (op.kind == ir::OpKind::kParameter) result[op.name] = sources[op.id].values;
  }
  return result;
}

void ExpectTrained(const ir::Graph& graph, const Expected& expected) {
  const auto trained = Trained(graph, expected);
  ASSERT_EQ(trained.size(), expected.values.size());
  for (const auto& [name, values] : expected.values) {
    ASSERT_EQ(trained.at(name).size(), values.size()) << name;
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_NEAR(trained.at(name)[i], values[i], 1e-9) << name << ", element " << i;
    }
  }
}

ir::Graph TrainingGraphOf(const std::string& text) {
  const std::optional<frontend::Module> module = ReadModule(text, "test.model");
  return module.has_value() ? *ir::Differentiate(module->graph, module->updates) : ir::Graph();
}

TEST(Optimizers, AreThoseOfPyTorch) {
  for (const Expected& expected : ReadExpected("pytorch.txt")) {
    SCOPED_TRACE(expected.optimizer);
    ExpectTrained(TrainingGraphOf(ModelWith(expected.optimizer)), expected);
  }
}

// By their definitions, of a batch whose last two samples are padding; the loss and its gradient count them.
TEST(Optimizers, MetricsAreThoseOfNumpy) {
  const ir::Graph graph = TrainingGraphOf(ReadAll(absl::StrCat(kFolder, "metrics.model")));
  ir::SourceValues sources;
  for (const ir::Op& op : graph.ops) {
    if (op.name == "x") sources[op.id] = Sines(op.type.shape, 2.2);
    if (op.name == "label") {
      sources[op.id] = Numbers(op.type.shape, 11);
      for (double& label : sources[op.id].values) label = std::fmod(label, 5);
    }
    if (op.name == "truth") sources[op.id] = Numbers(op.type.shape, 3);
    if (op.name == "shift") sources[op.id] = ir::Zeros(op.type.shape);
    if (op.name != "sample_mask") continue;
    sources[op.id] = ir::Zeros(op.type.shape);
    std::fill(sources[op.id].values.begin(), sources[op.id].values.end() - 2, 1.0);
  }
  const IdVector<ir::OpId, ir::Tensor> values = ir::InterpretGraph(graph, sources, /*step=*/1);
  std::map<std::string, ir::OpId> found = {{"loss", *graph.loss}, {"shift.grad", *graph.Find("shift.grad")}};
  for (const ir::Metric& metric : graph.metrics) found[metric.name] = metric.value;
  std::stringstream text(ReadAll(absl::StrCat(kFolder, "metrics.txt")));
  size_t count = 0;
  for (std::string line; std::getline(text, line); ++count) {
    std::stringstream words(line);
    std::string name;
    words >> name;
    ASSERT_EQ(found.count(name), 1u) << name;
    for (const double value : values[found.at(name)].values) {
      double expected = 0;
      EXPECT_TRUE(words >> expected) << name;
      EXPECT_NEAR(value, expected, 1e-9) << name;
    }
  }
  EXPECT_EQ(count, found.size());
}

// The graph of one device in which all tables are updated by rows.
ir::Graph ByRows(ir::Graph graph, size_t tables) {
  std::vector<ir::OpId> gradients;
  for (const ir::RowUpdate& update : ir::FindRowUpdates(graph).possible) gradients.push_back(update.gradient);
  EXPECT_EQ(gradients.size(), tables);
  graph = ir::WithRowUpdates(std::move(graph), gradients);
  ir::Plan plan{.mesh = ir::Mesh::OfDevices(1), .ops = {}, .search = {}};
  for (const ir::Op& op : graph.ops) {
    plan.ops.push_back(
        {.strategy = ir::Strategy::Replicated(ir::RuleOf(graph, op)), .output = {}, .reason = "", .choices = {}});
  }
  return ir::Distribute(graph, plan)->graph;
}

TEST(Optimizers, TablesAreThoseOfPyTorchsSparseGradients) {
  for (const Expected& expected : ReadExpected("tables.txt")) {
    SCOPED_TRACE(expected.optimizer);
    const ir::Graph graph = TrainingGraphOf(TablesWith(expected.optimizer));
    ExpectTrained(graph, expected);
    ExpectTrained(ByRows(graph, 2), expected);
  }
}

// Every program is compared with the whole gradients of one device.
TEST(Optimizers, TablesAreTheSameHoweverTheyAreSplit) {
  for (const Expected& expected : ReadExpected("tables.txt")) {
    for (const char* const settings :
         {"", "zero = 1", "search = data_parallel; zero = 2", "search = data_parallel; zero = 3"}) {
      for (const int devices : {1, 3, 4}) {
        const std::string parallel =
            absl::StrCat("parallel { row_updates = all; ", settings, settings[0] == 0 ? "" : ";", " }");
        const Compiled compiled = CompileModel(TablesWith(expected.optimizer, parallel), devices);
        EXPECT_TRUE(compiled.graph.Find("table.grad.places").has_value());
      }
    }
  }
}

// Ranks send the rows of the batch, however large the table is.
TEST(Optimizers, TablesSendRows) {
  const auto sent = [](const std::string& rows) {
    const std::string parallel = absl::StrCat("parallel { search = data_parallel; row_updates = ", rows, "; }");
    return SentBytesOf(CompileModel(TablesWith("sgd()", parallel), 2));
  };
  EXPECT_EQ(sent("none"), (11 + 13) * 3 * 4);    // An all_reduce of both tables.
  EXPECT_EQ(sent("all"), (6 + 12) * 3 * 4 / 2);  // An all_gather of their rows; each rank reads all numbers.
}

// Norms are over whole tensors, however these lie; the simulation compares every value of all ranks.
TEST(Optimizers, AreTheSameHoweverTheModelIsSplit) {
  for (const Expected& expected : ReadExpected("pytorch.txt")) {
    for (const char* const parallel :
         {"parallel { devices = 4; }", "parallel { devices = 4; zero = 3; micro_batches = 2; }",
          "parallel { devices = 3; search = data_parallel; zero = 2; }"}) {
      const int devices = parallel[21] - '0';
      CompileModel(ModelWith(expected.optimizer, parallel), devices);
    }
  }
}

// However the parameters of losses that take turns are divided.
TEST(Optimizers, TurnsAreTheSameHoweverTheyAreSplit) {
  for (const char* const zero : {"0", "1", "2", "3"}) {
    CompileModel(ModelWith("turns.model", absl::StrCat("parallel { search = data_parallel; zero = ", zero, "; }")), 4);
  }
}

// What is summed over a whole tensor is summed where it lies: nothing but scalars is sent besides.
TEST(Optimizers, SumsOfSquaresLieAsTheTensorsDo) {
  const std::string parallel = "parallel { devices = 4; zero = 1; search = data_parallel; }";
  const double adam = SentBytesOf(CompileModel(ModelWith("adamw()", parallel), 4));
  const double lamb = SentBytesOf(CompileModel(ModelWith("lamb()", parallel), 4));
  constexpr double kScalars = 8 * 2 * 4;  // Two norms for each of four parameters, at most two times each.
  EXPECT_GT(lamb, adam);
  EXPECT_LE(lamb, adam + kScalars);
}

// Of a frozen parameter nothing is kept, and no gradient of it is computed or sent.
TEST(Optimizers, OnlyWhatIsTrainedIsSent) {
  for (const char* const zero : {"0", "1", "2"}) {
    const Compiled compiled = CompileModel(
        ModelWith("lora.model", absl::StrCat("parallel { search = data_parallel; zero = ", zero, "; }")), 4);
    double trained = 0;
    for (const ir::Op& op : compiled.graph.ops) {
      const bool is_of_lora = absl::StrContains(op.name, ".down") || absl::StrContains(op.name, ".up");
      if (op.kind == ir::OpKind::kState) EXPECT_TRUE(is_of_lora) << op.name;
      if (op.kind != ir::OpKind::kParameter) continue;
      EXPECT_EQ(compiled.graph.Find(op.name + ".grad").has_value(), is_of_lora) << op.name;
      if (is_of_lora) trained += static_cast<double>(op.type.elements()) * sizeof(float);
    }
    EXPECT_EQ(trained, (2 * 3 + 4 * 2 + 1 * 4 + 2 * 1) * sizeof(float));
    EXPECT_NEAR(SentBytesOf(compiled), 2 * trained * 3 / 4, 0.5 * trained) << "zero = " << zero;
  }
}

}  // namespace
}  // namespace cleave::tests
