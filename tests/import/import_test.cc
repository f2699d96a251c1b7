// Folders of transformers, imported: the losses of PyTorch in five steps, the same program on any number of ranks, and
// the same weights when they are exported again.
#include "tools/import/import.h"

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "frontend/testing.h"
#include "gtest/gtest.h"
#include "ir/proof/interpret/interpret.h"
#include "ir/transforms/differentiate/differentiate.h"
#include "runtime/npy/npy.h"
#include "tests/collective_counts/programs.h"
#include "tests/support/command.h"
#include "tools/import/family.h"
#include "tools/weights/source.h"
#include "tools/weights/weights.h"

namespace cleave::tests {
namespace {

const std::string kFolder = "tests/import/";
constexpr double kTolerance = 2e-5;  // Relative: PyTorch computes in f32.

// Settings that pytorch.py has: plain gradient descent, all samples in each step.
const std::vector<std::pair<std::string, std::string>> kSettings = {
    {"batch", "4"}, {"seq", "12"}, {"optimizer", "sgd(lr = 0.1)"}, {"clip", "1e9"}, {"precision", "f32"}};

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
std::string Imported(const std::string& name) {
  const std::string out = FreshFolder(name) + "/net";
  const Said said = RunTool(tools::RunImport, {absl::StrCat(kFolder, "folders/", name), "--out", out, "--name", "net"});
  EXPECT_EQ(said.code, tools::ExitCode::kDone) << said.err;
  return out;
}

ir::Tensor TensorOf(const tools::WeightSource& source, const std::string& name) {
  const tools::WeightTensor* const found = source.Find(name);
  EXPECT_NE(found, nullptr) << name;
  std::vector<float> values;
  EXPECT_FALSE(source.Read(*found, values).has_value());
  ir::Tensor tensor = ir::Zeros(ir::Shape(found->shape.begin(), found->shape.end()));
  tensor.values.assign(values.begin(), values.end());
  return tensor;
}

// What pytorch.py has of an input. A model with labels sees tokens of which some are masked.
ir::Tensor DataOf(const ir::Graph& graph, const std::string& input) {
  const std::string name = input == "tokens" && graph.Find("labels").has_value() ? "masked" : input;
  const auto file = runtime::NpyFile::Open(absl::StrCat(kFolder, name, ".npy"));
  EXPECT_TRUE(file.ok()) << input;
  const std::vector<int64_t>& shape = file.value().header().shape;
  ir::Tensor tensor = ir::Zeros(ir::Shape(shape.begin(), shape.end()));
  std::vector<int32_t> values(tensor.values.size());
  EXPECT_FALSE(file.value().ReadRun(0, static_cast<int64_t>(values.size()), values.data()).has_value());
  tensor.values.assign(values.begin(), values.end());
  return tensor;
}

std::vector<double> LossesOf(const ir::Graph& graph, const std::string& weights, size_t count) {
  const auto source = tools::WeightSource::Open(weights);
  EXPECT_TRUE(source.ok());
  ir::SourceValues sources;
  for (const ir::Op& op : graph.ops) {
    if (op.kind == ir::OpKind::kParameter) sources[op.id] = TensorOf(source.value(), op.name);
    if (op.kind == ir::OpKind::kInput) sources[op.id] = DataOf(graph, op.name);
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

// Models of a family, and of the same family in another case: "llama3".
class ImportTest : public testing::TestWithParam<Expected> {};

TEST_P(ImportTest, LossesAreThoseOfPyTorch) {
  const std::string out = Imported(GetParam().name);
  frontend::Analyzed analyzed = frontend::AnalyzeText(ReadText(out + "/net.model"), kSettings, out + "/net.model");
  ASSERT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  EXPECT_EQ(analyzed.messages, "");
  const absl::StatusOr<ir::Graph> graph = ir::Differentiate(analyzed.module->graph, analyzed.module->updates);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const std::vector<double> losses = LossesOf(*graph, out + "/weights.safetensors", GetParam().losses.size());
  for (size_t i = 0; i < losses.size(); ++i) {
    EXPECT_NEAR(losses[i], GetParam().losses[i], kTolerance * GetParam().losses[i]) << "step " << i + 1;
  }
  // The simulation of each program's ranks compares all values with those of one device.
  for (const int count : {1, 2, 4}) CompileModule(*analyzed.module, count);
}

TEST_P(ImportTest, WeightsComeBackToTheBit) {
  const std::string out = Imported(GetParam().name), back = out + "/model.safetensors";
  const Said exported = RunTool(
      tools::RunWeights, {"export", out + "/weights.safetensors", back, "--map", out + "/net.map", "--heads", "3"});
  EXPECT_EQ(exported.code, tools::ExitCode::kDone) << exported.err;
  const Said diff = RunTool(tools::RunWeights, {"diff", absl::StrCat(kFolder, "folders/", GetParam().name), back});
  EXPECT_EQ(diff.code, tools::ExitCode::kDone) << diff.out << diff.err;
}

INSTANTIATE_TEST_SUITE_P(Families, ImportTest, testing::ValuesIn(ReadExpected()),
                         [](const auto& info) { return info.param.name; });

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
