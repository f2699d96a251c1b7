// Folders of transformers, imported: the losses of PyTorch in five steps, the same program on any number of ranks, and
// the same folders when they are exported again.
#include "tools/import/import.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
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
#include "runtime/safetensors/safetensors.h"
#include "tests/collective_counts/programs.h"
#include "tests/import/tensors.h"
#include "tests/support/command.h"
#include "tools/export/export.h"
#include "tools/import/family.h"
#include "tools/weights/mapping.h"
#include "tools/weights/output.h"
#include "tools/weights/source.h"
#include "tools/weights/weights.h"

namespace cleave::tests {
namespace {

const std::string kFolder = "tests/import/";
constexpr double kTolerance = 2e-5;  // Relative: PyTorch computes in f32.

// Settings that pytorch.py has: plain gradient descent, all samples in each step, and the sizes of the samples that a
// model has.
std::vector<std::pair<std::string, std::string>> SettingsOf(const std::string& model, const char* batch) {
  std::vector<std::pair<std::string, std::string>> settings = {
      {"optimizer", "sgd(lr = 0.1)"}, {"clip", "1e9"}, {"precision", "f32"}};
  for (const auto& [size, value] : {std::pair("batch", batch), {"seq", "12"}, {"target", "5"}, {"size", "12"}}) {
    if (absl::StrContains(model, absl::StrCat(size, ": int ="))) settings.push_back({size, value});
  }
  return settings;
}

frontend::Analyzed Analyze(const std::string& folder, const char* batch = "4") {
  const std::string model = ReadText(folder + "/net.model");
  frontend::Analyzed analyzed = frontend::AnalyzeText(model, SettingsOf(model, batch), folder + "/net.model");
  EXPECT_EQ(analyzed.messages, "");
  return analyzed;
}

// What PyTorch makes of folders/NAME.
struct Expected {
  std::string name;
  std::vector<double> losses;
};

std::ostream& operator<<(std::ostream& stream, const Expected& expected) { return stream << expected.name; }

std::vector<Expected> ReadExpected() {
  std::vector<Expected> all;
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(ReadText(kFolder + "pytorch.txt"), '\n', absl::SkipEmpty()))) {
    std::stringstream words(line.substr(0, line.find(" ; ")));
    Expected expected;
    words >> expected.name;
    for (double loss; words >> loss;) expected.losses.push_back(loss);
    all.push_back(expected);
  }
  return all;
}

struct Said {
  tools::ExitCode code;
  std::string out, err;
};

Said RunTool(tools::ExitCode (*run)(const std::string&, const std::string&, const std::vector<std::string>&,
                                    std::ostream&, std::ostream&),
             const std::vector<std::string>& words) {
  std::stringstream out, err;
  const tools::ExitCode code = run("cleave", "", words, out, err);
  return {code, out.str(), err.str()};
}

// The folder with what an import has written.
std::string Imported(const std::string& name, const std::vector<std::string>& options = {}) {
  const std::string out = FreshFolder(absl::StrCat(name, absl::StrJoin(options, ""))) + "/net";
  std::vector<std::string> words = {absl::StrCat(kFolder, "folders/", name), "--out", out, "--name", "net"};
  words.insert(words.end(), options.begin(), options.end());
  const Said said = RunTool(tools::RunImport, words);
  EXPECT_EQ(said.code, tools::ExitCode::kDone) << said.err;
  return out;
}

// What pytorch.py has of an input. A model with a label for each token sees tokens of which some are masked; the labels
// of others are an answer.
ir::Tensor DataOf(const ir::Graph& graph, const ir::Op& input) {
  const std::optional<ir::OpId> labels = graph.Find("labels"), tokens = graph.Find("tokens");
  const bool is_masked = labels.has_value() && graph.ops[*labels].type.shape == graph.ops[*tokens].type.shape;
  std::string name = input.name;
  if (name == "sample_mask") {
    ir::Tensor all = ir::Zeros(input.type.shape);
    std::fill(all.values.begin(), all.values.end(), 1.0);
    return all;
  }
  if (name == "tokens" && is_masked) name = "masked";
  if (name == "labels" && !is_masked) name = "answer";
  return ArrayOf(absl::StrCat(kFolder, name, ".npy"));
}

void WriteParameters(const ir::Graph& graph, const ir::SourceValues& sources, const std::string& path) {
  std::vector<tools::OutputTensor> tensors;
  std::vector<std::vector<float>> values;
  for (const ir::Op& op : graph.ops) {
    if (op.kind != ir::OpKind::kParameter) continue;
    tensors.push_back({op.name, {op.type.shape.begin(), op.type.shape.end()}});
    const ir::Tensor& value = sources.at(op.id);
    values.emplace_back(value.values.begin(), value.values.end());
  }
  auto output = tools::WeightOutput::Create(path, tensors, {});
  ASSERT_TRUE(output.ok()) << output.error().message;
  for (size_t i = 0; i < values.size(); ++i) ASSERT_FALSE(output.value().Write(i, values[i]).has_value());
  ASSERT_FALSE(output.value().Finish().has_value());
}

using Data = std::map<std::string, ir::Tensor>;  // By the names of inputs.

// The losses of `count` steps. `trained`: the weights after them, if they are wanted. `data`: of pytorch.py where an
// input has none.
std::vector<double> LossesOf(const ir::Graph& graph, const std::string& weights, size_t count,
                             const std::string& trained = "", const Data& data = {}) {
  const auto source = tools::WeightSource::Open(weights);
  EXPECT_TRUE(source.ok());
  ir::SourceValues sources;
  for (const ir::Op& op : graph.ops) {
    if (op.kind == ir::OpKind::kParameter) sources[op.id] = TensorOf(source.value(), op.name);
    if (op.kind == ir::OpKind::kInput) {
      const auto own = data.find(op.name);
      sources[op.id] = own == data.end() ? DataOf(graph, op) : own->second;
    }
    if (op.kind == ir::OpKind::kState) sources[op.id] = ir::Zeros(op.type.shape);
  }
  std::vector<double> losses;
  for (size_t step = 1; step <= count; ++step) {
    const IdVector<ir::OpId, ir::Tensor> values = ir::InterpretGraph(graph, sources, static_cast<int64_t>(step));
    losses.push_back(values[*graph.loss].values[0]);
    for (const ir::StateUpdate& update : graph.updates) sources[update.state] = values[update.value];
  }
  if (!trained.empty()) WriteParameters(graph, sources, trained);
  return losses;
}

// The training of an imported model, as pytorch.py has it.
ir::Graph TrainingOf(const std::string& folder, const char* batch = "4") {
  const frontend::Analyzed analyzed = Analyze(folder, batch);
  const absl::StatusOr<ir::Graph> graph = ir::Differentiate(analyzed.module->graph, analyzed.module->updates);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return *graph;
}

void Export(const std::string& imported, const std::string& weights, const std::string& folder,
            const std::vector<std::string>& options = {}) {
  std::vector<std::string> words = {absl::StrCat(imported, "/", weights), folder, "--from", imported};
  words.insert(words.end(), options.begin(), options.end());
  const Said said = RunTool(tools::RunExport, words);
  EXPECT_EQ(said.code, tools::ExitCode::kDone) << said.err;
}

// The stored bytes of a tensor, behind its type and shape.
std::string BytesOf(const runtime::SafetensorsFile& file, const runtime::SafetensorsEntry& entry) {
  std::string bytes(static_cast<size_t>(entry.bytes), '\0');
  EXPECT_FALSE(file.Read(entry.offset, entry.bytes, bytes.data()).has_value());
  return runtime::SafetensorsTypeText(entry) + bytes;
}

// Those of all tensors of the .safetensors files in a folder, by name.
std::map<std::string, std::string> TensorsIn(const std::string& folder) {
  std::map<std::string, std::string> tensors;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".safetensors") continue;
    const auto file = runtime::SafetensorsFile::Open(entry.path());
    EXPECT_TRUE(file.ok()) << entry.path();
    for (const runtime::SafetensorsEntry& tensor : file.value().entries()) {
      tensors[tensor.name] = BytesOf(file.value(), tensor);
    }
  }
  return tensors;
}

// Models of a family, and of the same family in another case: "llama3".
class ImportTest : public testing::TestWithParam<Expected> {};

TEST_P(ImportTest, LossesAreThoseOfPyTorch) {
  const std::string out = Imported(GetParam().name);
  const std::vector<double> losses = LossesOf(TrainingOf(out), out + "/weights.safetensors", GetParam().losses.size());
  for (size_t i = 0; i < losses.size(); ++i) {
    EXPECT_NEAR(losses[i], GetParam().losses[i], kTolerance * GetParam().losses[i]) << "step " << i + 1;
  }
  // The simulation of each program's ranks compares all values with those of one device.
  const frontend::Analyzed analyzed = Analyze(out);
  for (const int count : {1, 2, 4}) CompileModule(*analyzed.module, count);
}

// Those that the model has, by the mapping of the import: no decoder, and no counts of batches.
std::map<std::string, std::string> WantedTensorsIn(const std::string& folder, const std::string& imported) {
  const auto mapping = tools::ReadMapping(imported + "/net.map");
  EXPECT_TRUE(mapping.ok());
  std::map<std::string, std::string> tensors = TensorsIn(folder);
  for (const tools::MappingLine& line : mapping.value().lines) {
    for (auto each = tensors.begin(); !line.ours.has_value() && each != tensors.end();) {
      each = line.theirs[0].Match(each->first).has_value() ? tensors.erase(each) : std::next(each);
    }
  }
  return tensors;
}

// As transformers wrote it: every byte of the weights, and config.json.
TEST_P(ImportTest, TheFolderComesBackToTheBit) {
  const std::string out = Imported(GetParam().name), first = absl::StrCat(kFolder, "folders/", GetParam().name);
  Export(out, "weights.safetensors", out + "/tuned");
  const std::map<std::string, std::string> wanted = WantedTensorsIn(first, out);
  EXPECT_EQ(TensorsIn(out + "/tuned"), wanted);
  EXPECT_EQ(ReadText(out + "/tuned/config.json"), ReadText(first + "/config.json"));
  Export(out, "weights.safetensors", out + "/divided", {"--shard-size", "8KB"});
  EXPECT_EQ(TensorsIn(out + "/divided"), wanted);
}

// The next step of what was trained, exported and imported again has PyTorch's loss.
TEST_P(ImportTest, WhatWasTrainedComesBack) {
  const std::string out = Imported(GetParam().name), again = out + "_again";
  constexpr size_t kSteps = 2;
  LossesOf(TrainingOf(out), out + "/weights.safetensors", kSteps, out + "/trained.safetensors");
  Export(out, "trained.safetensors", out + "/tuned", {"--dtype", "f32"});
  const Said said = RunTool(tools::RunImport, {out + "/tuned", "--out", again, "--name", "net"});
  EXPECT_EQ(said.code, tools::ExitCode::kDone) << said.err;
  const double loss = LossesOf(TrainingOf(again), again + "/weights.safetensors", 1)[0];
  EXPECT_NEAR(loss, GetParam().losses[kSteps], kTolerance * loss);
}

// The samples of pytorch.py as conversations of 7 and 5 tokens, of which two share a row or each has its own.
Data Conversations(bool are_packed) {
  constexpr size_t kRows = 4, kSeq = 12, kFirst = 7;
  const ir::Tensor tokens = ArrayOf(kFolder + "tokens.npy"), next = ArrayOf(kFolder + "next.npy");
  const ir::Shape shape = {static_cast<int64_t>(are_packed ? kRows : 2 * kRows), static_cast<int64_t>(kSeq)};
  Data data = {{"tokens", ir::Zeros(shape)}, {"next", ir::Zeros(shape)}, {"documents", ir::Zeros(shape)}};
  std::fill(data["next"].values.begin(), data["next"].values.end(), -100);
  for (size_t row = 0; row < kRows; ++row) {
    for (size_t i = 0; i < kSeq; ++i) {
      const bool is_second = i >= kFirst;
      const size_t at = are_packed ? row * kSeq + i : (2 * row + is_second) * kSeq + i - (is_second ? kFirst : 0);
      data["tokens"].values[at] = tokens.values[row * kSeq + i];
      if (i + 1 != kFirst && i + 1 != kSeq) data["next"].values[at] = next.values[row * kSeq + i];
      data["documents"].values[at] = is_second ? 2 : 1;
    }
  }
  return data;
}

// Two steps, so that gradients count, with places, windows and ranges of each family.
TEST_P(ImportTest, PackedConversationsLearnTheSame) {
  const std::string name = GetParam().name;
  const bool goes_on = absl::StrContains(ReadText(Imported(name) + "/net.model"), "train.bin");
  if (!goes_on) GTEST_SKIP() << "does not go on with a text";
  const std::string packed = Imported(name, {"--chat"}), apart = Imported(name, {"--chat", "--no-pack"});
  const std::vector<double> losses =
      LossesOf(TrainingOf(packed), packed + "/weights.safetensors", 2, "", Conversations(true));
  const std::vector<double> expected =
      LossesOf(TrainingOf(apart, "8"), apart + "/weights.safetensors", 2, "", Conversations(false));
  constexpr double kRounding = 1e-9;  // The interpreter computes in f64.
  for (size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], expected[i], kRounding) << "step " << i + 1;
}

// The loss of pairs is the formula of DPO of what the model without them says of each answer.
TEST(Import, PreferencesAreThoseOfTheModel) {
  const std::string pairs = Imported("llama3", {"--dpo"}), chat = Imported("llama3", {"--chat", "--no-pack"});
  const ir::Tensor tokens = ArrayOf(kFolder + "tokens.npy"), next = ArrayOf(kFolder + "next.npy");
  constexpr size_t kSeq = 12, kPairs = 2;
  constexpr double kBeta = 0.1;
  const auto row = [&](const ir::Tensor& x, size_t i) {
    ir::Tensor one = ir::Zeros({1, kSeq});
    std::copy_n(x.values.begin() + static_cast<ptrdiff_t>(i * kSeq), kSeq, one.values.begin());
    return one;
  };
  const auto rows = [&](const ir::Tensor& x, size_t first) {  // Of every other one, as a batch.
    ir::Tensor some = ir::Zeros({kPairs, kSeq});
    for (size_t i = 0; i < kPairs; ++i) {
      const ir::Tensor one = row(x, 2 * i + first);
      std::copy(one.values.begin(), one.values.end(), some.values.begin() + static_cast<ptrdiff_t>(i * kSeq));
    }
    return some;
  };
  ir::Tensor ones = ir::Zeros({kPairs});
  std::fill(ones.values.begin(), ones.values.end(), 1);
  const ir::Graph answers = TrainingOf(chat, "1");
  ir::Tensor reference[] = {ir::Zeros({kPairs}), ir::Zeros({kPairs})};
  double expected = 0;
  for (size_t i = 0; i < kPairs; ++i) {
    double gained[2];
    for (size_t side = 0; side < 2; ++side) {
      const Data data = {{"tokens", row(tokens, 2 * i + side)}, {"next", row(next, 2 * i + side)}};
      reference[side].values[i] = -20 + 3 * static_cast<double>(i + side);
      gained[side] = -static_cast<double>(kSeq) * LossesOf(answers, chat + "/weights.safetensors", 1, "", data)[0] -
                     reference[side].values[i];
    }
    expected += std::log1p(std::exp(-kBeta * (gained[0] - gained[1]))) / kPairs;
  }
  const Data data = {{"chosen_tokens", rows(tokens, 0)},
                     {"chosen_next", rows(next, 0)},
                     {"rejected_tokens", rows(tokens, 1)},
                     {"rejected_next", rows(next, 1)},
                     {"reference_chosen", reference[0]},
                     {"reference_rejected", reference[1]},
                     {"sample_mask", ones}};
  EXPECT_NEAR(LossesOf(TrainingOf(pairs, "2"), pairs + "/weights.safetensors", 1, "", data)[0], expected, 1e-9);
  CompileModule(*Analyze(pairs).module, 2);
}

INSTANTIATE_TEST_SUITE_P(Families, ImportTest, testing::ValuesIn(ReadExpected()),
                         [](const auto& info) { return info.param.name; });

TEST(Export, ValuesAreRoundedAsPyTorchRounds) {
  const std::string path = kFolder + "rounded.safetensors", folder = FreshFolder("rounded");
  const auto expected = runtime::SafetensorsFile::Open(path);
  ASSERT_TRUE(expected.ok());
  for (const std::string type : {"BF16", "F16"}) {
    const std::string out = absl::StrCat(folder, "/", type, ".safetensors");
    const Said said = RunTool(tools::RunWeights, {"export", path, out, "--dtype", type == "F16" ? "f16" : "bf16"});
    ASSERT_EQ(said.code, tools::ExitCode::kDone) << said.err;
    const auto file = runtime::SafetensorsFile::Open(out);
    ASSERT_TRUE(file.ok());
    const std::string right = BytesOf(expected.value(), *expected.value().Find(type));
    EXPECT_TRUE(BytesOf(file.value(), *file.value().Find("F32")) == right) << type;
    // What has the type already stays as it is.
    EXPECT_TRUE(BytesOf(file.value(), *file.value().Find(type)) == right) << type;
  }
}

TEST(Import, EveryFamilyIsCompared) {
  std::vector<std::string> compared;
  for (const Expected& expected : ReadExpected()) compared.push_back(expected.name);
  for (const tools::Family& family : tools::Families()) {
    EXPECT_EQ(std::count(compared.begin(), compared.end(), family.name), 1)
        << family.name << ": write it into pytorch.py";
  }
}

}  // namespace
}  // namespace cleave::tests
