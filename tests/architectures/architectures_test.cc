// The examples: the losses that PyTorch has of the same model, and the same program on any number of ranks.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "examples/custom_op/soft_cap.h"
#include "frontend/testing.h"
#include "gtest/gtest.h"
#include "ir/graph/custom/custom.h"
#include "ir/graph/manual/manual.h"
#include "ir/proof/interpret/interpret_ranks.h"
#include "ir/transforms/differentiate/differentiate.h"
#include "ir/transforms/pool_first/pool_first.h"
#include "runtime/mesh/mesh.h"
#include "search/knobs/memory/memory.h"
#include "search/model/cluster/presets.h"
#include "search/model/cluster/resolve.h"
#include "search/search.h"
#include "tests/collective_counts/programs.h"
#include "tests/examples/stored.h"
#include "tests/support/command.h"

namespace cleave::tests {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

struct Example {
  std::string model;  // The path of its file.
  Settings settings;
  std::vector<double> losses = {};
};

Example ReadExample(const std::string& line) {
  const std::vector<std::string> parts = absl::StrSplit(line, ';');
  Example example = {.model = parts[0], .settings = {}};
  for (size_t i = 1; i < parts.size(); ++i) {
    const std::pair<std::string, std::string> setting = absl::StrSplit(parts[i], absl::MaxSplits('=', 1));
    example.settings.push_back(setting);
  }
  return example;
}

// A line for each model, its file with the settings, separated by `;`. Below those that are the same model for PyTorch
// stand the losses of all of them.
std::vector<Example> ReadExamples() {
  std::vector<Example> all;
  std::stringstream text(ReadText("tests/architectures/pytorch.txt"));
  for (std::string line; std::getline(text, line);) {
    if (absl::StrContains(line, ".model;")) {
      all.push_back(ReadExample(line));
      continue;
    }
    std::stringstream numbers(line);
    std::vector<double> losses;
    for (double loss = 0; numbers >> loss;) losses.push_back(loss);
    for (auto same = all.rbegin(); same != all.rend() && same->losses.empty(); ++same) same->losses = losses;
  }
  return all;
}

std::optional<std::string> SettingOf(const Example& example, const std::vector<std::string>& names) {
  for (const auto& [name, value] : example.settings) {
    if (std::find(names.begin(), names.end(), name) != names.end()) return value;
  }
  return std::nullopt;
}

frontend::Module ModuleOf(const Example& example) {
  frontend::Analyzed analyzed = frontend::AnalyzeText(ReadText(example.model), example.settings, example.model);
  EXPECT_EQ(analyzed.messages, "") << example.model;
  frontend::Module module = analyzed.module.value_or(frontend::Module());
  module.graph = ir::PoolFirst(std::move(module.graph), module.pins);
  return module;
}

ir::Tensor Sines(const ir::Shape& shape, double seed, double pace, double amplitude, double mean) {
  ir::Tensor tensor = ir::Zeros(shape);
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    tensor.values[i] = mean + amplitude * std::sin(seed + pace * static_cast<double>(i));
  }
  return tensor;
}

ir::Tensor ParameterOf(const ir::Op& op) {
  double seed = 0;
  for (const char letter : op.name) seed += letter;
  if (op.type.rank() > 1) return Sines(op.type.shape, seed, 1.7, 0.3, 0);
  return Sines(op.type.shape, seed, 1.7, 0.1, absl::EndsWith(op.name, "weight") ? 1 : 0);
}

ir::Tensor InputOf(const ir::Op& op, int64_t limit) {
  if (op.type.dtype == ir::DType::kF32) return Sines(op.type.shape, 0.3, 2.3, 1, 0);
  ir::Tensor tensor = ir::Zeros(op.type.shape);
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    tensor.values[i] = static_cast<double>(static_cast<int64_t>(7 * i * i + i) % limit);
  }
  return tensor;
}

// The C++ of examples/custom_op, which computes in float.
void EvaluateSoftCap(const ir::Op& op, absl::Span<const ir::Tensor* const> inputs, ir::Tensor& output) {
  const absl::StatusOr<ir::CustomForm> form = ir::CustomForm::Read(op.attributes);
  ASSERT_TRUE(form.ok() && form->name == "soft_cap") << "write what evaluates the op of " << op.name;
  const auto cap = static_cast<float>(std::get<double>(*form->arguments[1].value));
  const runtime::Region region = runtime::WholeRegion(output.shape);
  std::vector<std::vector<float>> read;
  for (const ir::Tensor* input : inputs) read.emplace_back(input->values.begin(), input->values.end());
  std::vector<float> written(output.values.size());
  const View<const float> first(read.front().data(), region), last(read.back().data(), region);
  const View<float> result(written.data(), region);
  if (op.kind == ir::OpKind::kCustom) soft_cap(first, cap, result);
  if (op.kind == ir::OpKind::kCustomGradient) soft_cap_backward(first, last, cap, result);
  output.values.assign(written.begin(), written.end());
}

const ir::Bodies kBodies = {{ir::OpKind::kCustom, EvaluateSoftCap}, {ir::OpKind::kCustomGradient, EvaluateSoftCap}};

// As many steps as `count` says, on each rank. REQUIRES: graph.is_manual().
std::vector<double> LossesOf(const ir::Graph& graph, int64_t limit, size_t count) {
  const auto ranks = static_cast<size_t>(ir::RankCount(graph.rank_axes));
  ir::RankSources sources;
  for (const ir::Op& op : graph.ops) {
    if (op.kind == ir::OpKind::kParameter) sources[op.id].assign(ranks, ParameterOf(op));
    if (op.kind == ir::OpKind::kInput) sources[op.id].assign(ranks, InputOf(op, limit));
    if (op.kind == ir::OpKind::kState) sources[op.id].assign(ranks, ir::Zeros(op.type.shape));
  }
  std::vector<double> losses;
  for (size_t step = 1; step <= count; ++step) {
    const IdVector<ir::OpId, ir::TensorOnRanks> values =
        ir::InterpretRanks(graph, sources, static_cast<int64_t>(step), kBodies);
    const ir::TensorOnRanks& loss = values[*graph.loss];
    for (const ir::Tensor& of_rank : loss) EXPECT_DOUBLE_EQ(of_rank.values[0], loss[0].values[0]) << "step " << step;
    losses.push_back(loss[0].values[0]);
    for (const ir::StateUpdate& update : graph.updates) sources[update.state] = values[update.value];
  }
  return losses;
}

// The whole numbers of a model's inputs: the setting that says how many there are, or the digits' classes.
int64_t LimitOf(const Example& example) {
  const std::optional<std::string> limit = SettingOf(example, {"vocab", "rows", "nodes"});
  return limit.has_value() ? std::stoll(*limit) : 10;
}

double ToleranceOf(const ir::Graph& graph) {
  const bool in_float =
      std::any_of(graph.ops.begin(), graph.ops.end(), [](const ir::Op& op) { return kBodies.count(op.kind) > 0; });
  return in_float ? 1e-6 : 1e-9;
}

TEST(Architectures, EveryExampleHasItsTwin) {
  std::set<std::string> compared;
  for (const Example& example : ReadExamples()) {
    EXPECT_FALSE(example.losses.empty()) << example.model;
    compared.insert(example.model);
  }
  EXPECT_EQ(ExamplesWithout(compared), std::vector<std::string>()) << "write their twins into pytorch.py";
}

TEST(Architectures, LossesAreThoseOfPyTorch) {
  for (const Example& example : ReadExamples()) {
    SCOPED_TRACE(example.model);
    const frontend::Module module = ModuleOf(example);
    absl::StatusOr<ir::Graph> graph = ir::Differentiate(module.graph, module.updates);
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    if (!graph->is_manual()) graph->rank_axes = {{.name = "world"}};  // One device is one rank.
    const std::vector<double> losses = LossesOf(*graph, LimitOf(example), example.losses.size());
    ASSERT_EQ(losses.size(), example.losses.size());
    for (size_t i = 0; i < losses.size(); ++i) {
      EXPECT_NEAR(losses[i], example.losses[i], ToleranceOf(*graph) * std::abs(example.losses[i])) << "step " << i + 1;
    }
  }
}

// The simulation of each program's ranks compares all values with those of one device.
TEST(Architectures, AreTheSameHoweverTheyAreSplit) {
  for (const Example& example : ReadExamples()) {
    SCOPED_TRACE(example.model);
    const frontend::Module module = ModuleOf(example);
    const std::optional<std::string> devices = SettingOf(example, {"devices"});
    const std::vector<int> counts =
        devices.has_value() ? std::vector<int>{std::stoi(*devices)} : std::vector<int>{1, 4};
    for (const int count : counts) CompileModule(module, count);
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
