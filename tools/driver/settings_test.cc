// Every setting with every value of a list, in the file and by `--set`: the compiler says the same, and says it.
#include "frontend/settings/settings.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/diagnostic/diagnostic.h"
#include "gtest/gtest.h"
#include "tools/driver/pipeline.h"
#include "tools/driver/report.h"
#include "tools/driver/summary.h"

namespace cleave::tools {
namespace {

using Settings = std::map<std::string, std::string>;

// Each is right for some settings and wrong for all others.
constexpr const char* kValues[] = {"0",
                                   "-1",
                                   "3",
                                   "1KiB",
                                   "true",
                                   "nonesuch",
                                   "auto",
                                   "full",
                                   "propagate",
                                   "manual",
                                   "classic",
                                   "(a = 2)",
                                   "(2, 2)",
                                   "{\"x\": layout(\"a\", _)}",
                                   "sgd(lr = -1.0)",
                                   "every(10)",
                                   "synthetic(train = 3)",
                                   "mnist(\"nowhere\")",
                                   "npy(x = \"nowhere.npy\")"};

std::string BlockText(const std::string& head, const Settings& settings) {
  std::string text = absl::StrCat(head, " {\n");
  for (const auto& [name, value] : settings) absl::StrAppend(&text, "    ", name, " = ", value, ";\n");
  return absl::StrCat(text, "}\n");
}

struct ModelText {
  std::string model;
  Settings train = {{"data", "synthetic()"}, {"steps", "10"}};
  Settings parallel = {};

  std::string ToString() const {
    return absl::StrCat(model, BlockText("train M", train), parallel.empty() ? "" : BlockText("parallel", parallel));
  }
};

const std::vector<ModelText>& Models() {
  static const auto& models =
      *new std::vector<ModelText>{{.model = "model M(batch: int = 8) {\n"
                                            "    input x: f32[batch, 4];\n"
                                            "    input label: i32[batch];\n"
                                            "    loss cross_entropy(dense(x, 4), label);\n"
                                            "}\n"},
                                  {.model = "#[manual]\n"
                                            "model M(batch: int = 8) {\n"
                                            "    input x: f32[batch, 4];\n"
                                            "    param w: f32[4, 4] = zeros();\n"
                                            "    loss all_reduce(reduce_mean(matmul(x, w)), sum);\n"
                                            "}\n"}};
  return models;
}

struct Answer {
  std::vector<std::string> codes;  // Of everything that was reported, each once.
  bool is_refused = false;
  std::string text;  // For messages of this test.
};

// What a compile for four devices says. Writes nothing.
Answer CompileModelWith(const std::string& text, std::vector<std::pair<std::string, std::string>> overrides) {
  CompileOptions options;
  options.model = testing::TempDir() + "/settings.model";
  options.devices = 4;
  options.plan_only = true;
  options.overrides = std::move(overrides);
  std::ofstream(options.model) << text;
  Report report;
  Answer outcome{.is_refused = true};
  if (const std::optional<dsl::syntax::File> file = ReadModel(options, report)) {
    if (std::optional<UnderstoodModel> model = Understand(options, *file, report)) {
      outcome.is_refused = !CompileModel(options, *std::move(model), report).has_value();
    }
  }
  outcome.text = ReportText(report, ErrorFormat::kText);
  EXPECT_EQ(report.bug, "");
  EXPECT_EQ(outcome.is_refused, report.diagnostics.has_errors()) << outcome.text;
  EXPECT_EQ(outcome.text.empty(), ReportText(report, ErrorFormat::kJson).empty());
  for (const Diagnostic& item : report.diagnostics.items()) outcome.codes.emplace_back(CodeName(item.code));
  // The same mistake in two places of a setting is one where there are no places.
  std::sort(outcome.codes.begin(), outcome.codes.end());
  outcome.codes.erase(std::unique(outcome.codes.begin(), outcome.codes.end()), outcome.codes.end());
  return outcome;
}

// Whether a value of the list was refused. Each model takes a part of the values, because compiles take most of the
// time, and each setting half of those.
bool TryValues(const std::string& setting, Settings ModelText::*block) {
  const size_t offset = setting.size() % 2 * Models().size();
  bool any_refused = false;
  for (size_t m = 0; m < Models().size(); ++m) {
    const ModelText& model = Models()[m];
    for (size_t v = m + offset; v < std::size(kValues); v += 2 * Models().size()) {
      const char* const value = kValues[v];
      SCOPED_TRACE(absl::StrCat(model.model, setting, " = ", value));
      ModelText changed = model;
      (changed.*block)[setting] = value;
      const Answer in_file = CompileModelWith(changed.ToString(), {});
      const Answer by_argument = CompileModelWith(model.ToString(), {{setting, value}});
      EXPECT_EQ(by_argument.codes, in_file.codes) << by_argument.text << "\n" << in_file.text;
      any_refused = any_refused || by_argument.is_refused;
    }
  }
  return any_refused;
}

TEST(SettingsTest, TheCommandLineIsReadLikeTheFile) {
  for (const std::string& setting : frontend::TrainSettingNames()) {
    EXPECT_TRUE(TryValues(setting, &ModelText::train)) << setting;
  }
  for (const std::string& setting : frontend::ParallelSettingNames()) {
    EXPECT_TRUE(TryValues(setting, &ModelText::parallel)) << setting;
  }
}

TEST(SettingsTest, AnArgumentThatASearchRefusesIsShown) {
  EXPECT_NE(CompileModelWith(Models()[0].ToString(), {{"memory", "100"}}).text.find("100 bytes: `--set memory=100`"),
            std::string::npos);
}

// The plan of a model for four devices.
std::optional<CompiledModel> PlanOf(CompileOptions& options, const std::string& text) {
  options.model = testing::TempDir() + "/planned.model";
  options.devices = 4;
  options.plan_only = true;
  std::ofstream(options.model) << text;
  Report report;
  const std::optional<dsl::syntax::File> file = ReadModel(options, report);
  std::optional<UnderstoodModel> model = file.has_value() ? Understand(options, *file, report) : std::nullopt;
  std::optional<CompiledModel> compiled =
      model.has_value() ? CompileModel(options, *std::move(model), report) : std::nullopt;
  EXPECT_TRUE(compiled.has_value()) << ReportText(report, ErrorFormat::kText);
  return compiled;
}

// What a rank of the first model is predicted to need.
ir::MemoryPrediction MemoryWith(const std::string& target, std::vector<std::pair<std::string, std::string>> overrides) {
  CompileOptions options;
  options.target = target;
  options.overrides = std::move(overrides);
  const std::optional<CompiledModel> compiled = PlanOf(options, Models()[0].ToString());
  return compiled.has_value() ? compiled->split.memory.use.prediction : ir::MemoryPrediction();
}

TEST(SettingsTest, PinsAreNamedAsInTheModelWhateverThePrecision) {
  const std::string model =
      "model M { input x: f32[8, 4]; let h = dense(x, 8);\n loss reduce_mean(square(dense(h, 4))); }\n"
      "train M { data = synthetic(); steps = 1; precision = bf16; }\n"
      "parallel { mesh = (a = 4); pin \"h.weight\" = layout(\"a\", _); }";
  CompileOptions options;
  const std::optional<CompiledModel> compiled = PlanOf(options, model);
  ASSERT_TRUE(compiled.has_value());
  EXPECT_NE(Summary(options, *compiled, Seconds(1)).find("pins taken: h.weight (line 1)"), std::string::npos);
}

TEST(SettingsTest, CheckpointsTakeMemoryWhereTheProgramDoesOrOnTheHostOfItsDevice) {
  for (const std::string target : {"cpu", "cuda"}) {
    const ir::MemoryPrediction without = MemoryWith(target, {{"keep", "2"}});
    EXPECT_EQ(without.checkpoint, Bytes(0));
    ir::MemoryPrediction expected = without;
    expected.checkpoint = without.parameters + without.optimizer;
    (target == "cpu" ? expected.peak : expected.host) += expected.checkpoint;
    EXPECT_EQ(MemoryWith(target, {{"checkpoint", "every(10)"}}), expected) << target;
  }
}

TEST(SettingsTest, MicroBatchesAreChosenOnlyWhereTheBatchCanBeCut) {
  // What fits into 100 KiB only in parts.
  const auto compile = [](const std::string& layer, const std::string& look) {
    return CompileModelWith(
        absl::StrCat("model M { input x: f32[64, 64]; input y: f32[64, 64]; let mut h = x; for i in "
                     "0..4 { h = h + gelu(",
                     layer, "); } loss mse(h, y); ", look, "}"),
        {{"micro_batches", "auto"}, {"memory", "100KiB"}});
  };
  const std::vector<std::string> kNothingFits = {"E0313"};
  EXPECT_FALSE(compile("dense(h, 64)", "").is_refused);
  EXPECT_EQ(compile("batch_norm(dense(h, 64))", "").codes, kNothingFits);
  const Answer looks = compile("dense(h, 64)", "print(h);");
  EXPECT_EQ(looks.is_refused, looks.codes == kNothingFits) << looks.text;
}

TEST(SettingsTest, TheDevicesOfTheCommandLineOverruleTheModels) {
  const std::string model =
      "model M { input x: f32[8, 4]; loss reduce_mean(square(dense(x, 4))); } parallel { devices = 8; }";
  EXPECT_FALSE(CompileModelWith(model, {{"mesh", "(a = 4)"}}).is_refused) << "the compile is for four";
  EXPECT_EQ(CompileModelWith(model, {{"mesh", "(a = 8)"}}).codes, std::vector<std::string>{"E0306"});
}

}  // namespace
}  // namespace cleave::tools
