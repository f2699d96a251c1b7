// The larger examples: the losses that PyTorch has of the same model, and the same program on any number of ranks.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "frontend/testing.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/ops.h"
#include "ir/proof/interpret/interpret.h"
#include "ir/transforms/differentiate/differentiate.h"
#include "search/cluster/presets.h"
#include "search/cluster/resolve.h"
#include "search/memory/memory.h"
#include "search/search.h"
#include "tests/collective_counts/programs.h"

namespace cleave::tests {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Expected {
  std::string model;  // The path of its file.
  Settings settings;
  std::vector<double> losses;
};

// Two lines for each model: its file with the settings, separated by `;`, and the losses.
std::vector<Expected> ReadExpected() {
  std::vector<Expected> all;
  std::stringstream text(ReadAll("tests/architectures/pytorch.txt"));
  for (std::string line; std::getline(text, line);) {
    const std::vector<std::string> parts = absl::StrSplit(line, ';');
    Expected& expected = all.emplace_back();
    expected.model = parts[0];
    for (size_t i = 1; i < parts.size(); ++i) {
      const std::pair<std::string, std::string> setting = absl::StrSplit(parts[i], absl::MaxSplits('=', 1));
      expected.settings.push_back(setting);
    }
    EXPECT_TRUE(std::getline(text, line)) << expected.model;
    std::stringstream numbers(line);
    for (double loss = 0; numbers >> loss;) expected.losses.push_back(loss);
  }
  return all;
}

frontend::Module ModuleOf(const Expected& expected) {
  frontend::Analyzed analyzed = frontend::AnalyzeText(ReadAll(expected.model), expected.settings, expected.model);
  EXPECT_EQ(analyzed.messages, "") << expected.model;
  return analyzed.module.value_or(frontend::Module());
}

ir::Tensor Sines(const ir::Shape& shape, double seed, double amplitude, double mean) {
  ir::Tensor tensor = ir::Zeros(shape);
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    tensor.values[i] = mean + amplitude * std::sin(seed + 1.7 * static_cast<double>(i));
  }
  return tensor;
}

ir::Tensor ParameterOf(const ir::Op& op) {
  double seed = 0;
  for (const char letter : op.name) seed += letter;
  if (op.type.rank() > 1) return Sines(op.type.shape, seed, 0.3, 0);
  return Sines(op.type.shape, seed, 0.1, absl::EndsWith(op.name, "weight") ? 1 : 0);
}

ir::Tensor InputOf(const ir::Op& op, int64_t limit) {
  if (op.type.dtype == ir::DType::kF32) return Sines(op.type.shape, 0.3, 1, 0);
  ir::Tensor tensor = ir::Zeros(op.type.shape);
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    tensor.values[i] = static_cast<double>(static_cast<int64_t>(7 * i * i + i) % limit);
  }
  return tensor;
}

// As many steps as `count` says.
std::vector<double> LossesOf(const ir::Graph& graph, int64_t limit, size_t count) {
  ir::SourceValues sources;
  for (const ir::Op& op : graph.ops) {
    if (op.kind == ir::OpKind::kParameter) sources[op.id] = ParameterOf(op);
    if (op.kind == ir::OpKind::kInput) sources[op.id] = InputOf(op, limit);
    if (op.kind == ir::OpKind::kState) sources[op.id] = ir::Zeros(op.type.shape);
  }
  std::vector<double> losses;
  for (size_t step = 1; step <= count; ++step) {
    const IdVector<ir::OpId, ir::Tensor> values = ir::InterpretGraph(graph, sources, static_cast<int64_t>(step));
    losses.push_back(values[*graph.loss].values[0]);
    for (const ir::StateUpdate& update : graph.updates) sources[update.state] = values[update.value];
  }
  return losses;
}

// The whole numbers of a model's inputs: the setting that says how many there are, or the digits' classes.
int64_t LimitOf(const Expected& expected) {
  for (const auto& [name, value] : expected.settings) {
    if (name == "vocab" || name == "rows") return std::stoll(value);
  }
  return 10;
}

TEST(Architectures, LossesAreThoseOfPyTorch) {
  for (const Expected& expected : ReadExpected()) {
    SCOPED_TRACE(expected.model);
    const frontend::Module module = ModuleOf(expected);
    const auto graph = ir::Differentiate(module.graph, module.updates);
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    const std::vector<double> losses = LossesOf(*graph, LimitOf(expected), expected.losses.size());
    ASSERT_EQ(losses.size(), expected.losses.size());
    for (size_t i = 0; i < losses.size(); ++i) {
      EXPECT_NEAR(losses[i], expected.losses[i], 1e-9 * std::abs(expected.losses[i])) << "step " << i + 1;
    }
  }
}

// The simulation of each program's ranks compares all values with those of one device.
TEST(Architectures, AreTheSameHoweverTheyAreSplit) {
  for (const Expected& expected : ReadExpected()) {
    SCOPED_TRACE(expected.model);
    const frontend::Module module = ModuleOf(expected);
    for (const int devices : {1, 4}) CompileModule(module, devices);
  }
}

// Of a large batch, the products of all pictures with all captions stay on the ranks that make them.
TEST(Architectures, LogitsOfTwoTowersAreNotSent) {
  const double batch = 2048;
  const frontend::Module module =
      ModuleOf({.model = "examples/clip/clip.model",
                .settings = {{"batch", "2048"}, {"width", "16"}, {"heads", "2"}, {"depth", "1"}, {"shared", "16"}}});
  EXPECT_LT(SentBytesOf(CompileModule(module, 4)), batch * batch * sizeof(float) / 4 / 4) << "a quarter of a rank's";
}

// The predicted time of a step on eight GPUs, of the model as its file has it.
Seconds StepFoundBy(ir::SearchAlgorithm algorithm, const std::string& model) {
  frontend::Module module = ModuleOf({.model = model});
  module.pins.settings.search = algorithm;
  const absl::StatusOr<ir::Graph> graph = ir::Differentiate(module.graph, module.updates);
  Diagnostics diagnostics;
  const auto cluster =
      search::ResolveCluster({.name_or_path = "h100x8", .devices = 8}, *search::FindPreset("h100x8"), diagnostics);
  search::SearchOptions options = search::OptionsFrom(module.pins.settings);
  options.execution = {.overlaps = true};
  const auto plan = search::Search(*graph, *cluster, module.pins, options, diagnostics);
  EXPECT_TRUE(plan.has_value()) << model;
  return search::StepOf(*search::ProgramOf(*graph, *plan, *cluster, options.execution), *cluster, options.execution);
}

// Their batch norms send vectors, each of which takes the latency of a collective.
TEST(Architectures, DataParallelIsNotFasterThanWhatIsFound) {
  for (const std::string model : {"examples/resnet/resnet.model", "examples/unet/unet.model"}) {
    EXPECT_LE(StepFoundBy(ir::SearchAlgorithm::kSapp, model).value(),
              StepFoundBy(ir::SearchAlgorithm::kDataParallel, model).value())
        << model;
  }
}

}  // namespace
}  // namespace cleave::tests
