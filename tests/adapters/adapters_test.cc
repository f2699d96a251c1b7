// Adapters of PEFT, imported: the losses of PyTorch in five steps, the same program on any number of ranks, and what
// PEFT saves behind them.
#include <cstdint>
#include <map>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "frontend/testing.h"
#include "gtest/gtest.h"
#include "ir/proof/interpret/interpret.h"
#include "ir/transforms/differentiate/differentiate.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/writer.h"
#include "tests/import/tensors.h"
#include "tests/support/command.h"
#include "tools/import/import.h"
#include "tools/weights/source.h"
#include "tools/weights/weights.h"

namespace cleave::tests {
namespace {

constexpr double kTolerance = 1e-5;  // Relative, of losses.

using Settings = std::vector<std::pair<std::string, std::string>>;

struct Case {
  std::string name;
  std::string adapt;  // What CASES in peft.py says.
};

const std::vector<Case>& Cases() {
  static const auto& cases = *new std::vector<Case>{
      {"llama_lora", "lora(rank = 2, alpha = 3, on = (\"*.attn.query.*\", \"*.attn.value.*\"))"},
      {"llama_dora", "dora(rank = 4, alpha = 5, scale = rank_stable, on = (\"*.attn.*\", \"*.ffn.*\"))"},
      {"gpt2_lora", "lora(rank = 3, alpha = 6, on = (\"*.attn.qkv.*\", \"*.ffn.up.*\"))"},
      {"gpt2_dora", "dora(rank = 2, alpha = 4, on = (\"*.attn.*\", \"*.ffn.down.*\"))"}};
  return cases;
}

std::ostream& operator<<(std::ostream& stream, const Case& one) { return stream << one.name; }

Settings SettingsOf(const Case& one) {
  return {{"batch", "4"},  {"seq", "12"},        {"optimizer", "adamw(lr = 0.02, weight_decay = 0.0)"},
          {"clip", "1e9"}, {"precision", "f32"}, {"adapt", one.adapt}};
}

std::vector<double> LossesOfPeft(const std::string& name) {
  std::vector<double> losses;
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(ReadText("tests/adapters/peft.txt"), '\n', absl::SkipEmpty()))) {
    std::stringstream words(line);
    std::string first;
    words >> first;
    for (double loss; first == name && words >> loss;) losses.push_back(loss);
  }
  return losses;
}

void RunTool(tools::ExitCode (*run)(const std::string&, const std::string&, const std::vector<std::string>&,
                                    std::ostream&, std::ostream&),
             const std::vector<std::string>& words) {
  std::stringstream out, err;
  EXPECT_EQ(run("cleave", "", words, out, err), tools::ExitCode::kDone) << out.str() << err.str();
}

std::string Saved(const std::string& name, const std::string& when) {
  return absl::StrCat("tests/adapters/folders/", name, "/", when);
}

ir::Tensor SamplesOf(const std::string& input) { return ArrayOf(absl::StrCat("tests/import/", input, ".npy")); }

// A checkpoint of parameters, as a program with these adapters writes it.
void WriteCheckpoint(const std::string& folder, const std::string& adapters, const ir::Graph& graph,
                     const ir::SourceValues& sources) {
  std::vector<std::vector<float>> values;
  std::vector<runtime::StateTensor> state;
  for (const ir::Op& op : graph.ops) {
    if (op.kind != ir::OpKind::kParameter) continue;
    const ir::Tensor& tensor = sources.at(op.id);
    values.emplace_back(tensor.values.begin(), tensor.values.end());
    state.push_back({op.name, {std::vector<int64_t>(tensor.shape.begin(), tensor.shape.end())}, values.back().data()});
  }
  runtime::ShardWriter writer(folder, state, {}, 0);
  writer.Start(5);
  const runtime::Result<runtime::Shard> shard = writer.Take();
  ASSERT_TRUE(shard.ok()) << shard.error().message;
  const auto error = runtime::Complete(folder, {"Net", 5, 1, {{"adapters", adapters}}}, {}, state, {shard.value()}, 9);
  ASSERT_FALSE(error.has_value()) << error->message;
}

class AdaptersTest : public testing::TestWithParam<Case> {};

TEST_P(AdaptersTest, TrainsAsPeft) {
  const Case& one = GetParam();
  const std::string family = one.name.substr(0, one.name.find('_'));
  const std::string out = FreshFolder(one.name) + "/net";
  RunTool(tools::RunImport, {absl::StrCat("tests/import/folders/", family), "--out", out, "--name", "net"});
  const std::string weights = out + "/adapted.safetensors", map = out + "/net.map";
  RunTool(tools::RunWeights, {"import", Saved(one.name, "start"), weights, "--base", out + "/weights.safetensors",
                              "--map", map, "--heads", "3"});
  frontend::Analyzed analyzed =
      frontend::AnalyzeText(ReadText(out + "/net.model"), SettingsOf(one), out + "/net.model");
  ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  EXPECT_EQ(analyzed.messages, "");
  const absl::StatusOr<ir::Graph> graph = ir::Differentiate(analyzed.module->graph, analyzed.module->updates);
  ASSERT_TRUE(graph.ok()) << graph.status().message();

  const auto source = tools::WeightSource::Open(weights);
  ASSERT_TRUE(source.ok());
  ir::SourceValues sources;
  for (const ir::Op& op : graph->ops) {
    if (op.kind == ir::OpKind::kParameter) sources[op.id] = TensorOf(source.value(), op.name);
    if (op.kind == ir::OpKind::kInput) sources[op.id] = SamplesOf(op.name);
    if (op.kind == ir::OpKind::kState) sources[op.id] = ir::Zeros(op.type.shape);
  }
  const std::vector<double> losses = LossesOfPeft(one.name);
  ASSERT_EQ(losses.size(), 5u);
  for (size_t i = 0; i < losses.size(); ++i) {
    const IdVector<ir::OpId, ir::Tensor> values = ir::InterpretGraph(*graph, sources, static_cast<int64_t>(i) + 1);
    EXPECT_NEAR(values[*graph->loss].values[0], losses[i], kTolerance * losses[i]) << "step " << i + 1;
    for (const ir::StateUpdate& update : graph->updates) sources[update.state] = values[update.value];
  }

  const std::string checkpoints = out + "/checkpoints", back = out + "/back";
  WriteCheckpoint(checkpoints, analyzed.module->training.adapters, *graph, sources);
  RunTool(tools::RunWeights, {"export", checkpoints, back, "--adapter", "--map", map, "--heads", "3"});
  RunTool(tools::RunWeights, {"diff", back + "/adapter_model.safetensors",
                              Saved(one.name, "trained") + "/adapter_model.safetensors", "--tolerance", "1e-5"});
  // What is exported comes in again.
  RunTool(tools::RunWeights, {"import", back, out + "/again.safetensors", "--base", out + "/weights.safetensors",
                              "--map", map, "--heads", "3"});
  RunTool(tools::RunWeights, {"diff", checkpoints, out + "/again.safetensors", "--tolerance", "1e-6"});
}

// The simulation of each program's ranks compares all values with those of one device.
TEST_P(AdaptersTest, RunsOnManyRanks) {
  const Case& one = GetParam();
  const std::string folder = FreshFolder(one.name);
  const std::string family = one.name.substr(0, one.name.find('_'));
  RunTool(tools::RunImport, {absl::StrCat("tests/import/folders/", family), "--out", folder + "/net", "--name", "net"});
  const std::vector<std::vector<std::string>> plans = {
      {"--devices", "1", "--mode", "generate"},
      {"--devices", "1", "--mode", "evaluate"},
      {"--devices", "2", "--set", "micro_batches=2"},
      {"--devices", "4", "--set", "zero=3"},
      {"--devices", "4", "--set", "stages=2", "--set", "micro_batches=2"},
      {"--devices", "2", "--set", "precision=bf16", "--set", "recompute=full"}};
  for (const std::vector<std::string>& plan : plans) {
    std::vector<std::string> words = {DataPath("tools/cleave"), "compile", folder + "/net/net.model", "--emit",
                                      "program"};
    Settings settings = {{"zero", "0"}, {"micro_batches", "1"}, {"data", "synthetic(test = 4)"}};
    for (const auto& setting : SettingsOf(one)) settings.push_back(setting);
    for (const auto& [name, value] : settings) words.insert(words.end(), {"--set", absl::StrCat(name, "=", value)});
    words.insert(words.end(), plan.begin(), plan.end());
    const CommandResult result = RunCommand(words, folder);
    EXPECT_EQ(result.exit_code, 0) << absl::StrJoin(plan, " ") << "\n" << result.err;
    EXPECT_TRUE(absl::StrContains(result.out, ".lora_")) << absl::StrJoin(plan, " ");
  }
}

INSTANTIATE_TEST_SUITE_P(Peft, AdaptersTest, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace cleave::tests
