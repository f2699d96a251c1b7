// Everything here goes through the command line. tests/adapters compares with what PEFT makes.
#include "tools/weights/adapters.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/writer.h"
#include "tools/weights/output.h"
#include "tools/weights/source.h"
#include "tools/weights/weights.h"

namespace cleave::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Given {
  std::vector<int64_t> shape;
  std::vector<float> values;

  bool operator==(const Given&) const = default;
};
using GivenTensors = std::map<std::string, Given>;

constexpr char kConfig[] = R"({"peft_type": "LORA", "r": 1, "lora_alpha": 2, "bias": "none")";

class AdapterFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
  }

  std::string Path(const std::string& name) const { return (root_ / name).string(); }

  void WriteText(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name, std::ios::binary) << text;
  }

  // What is said, with R for the folder.
  std::string Run(std::vector<std::string> words, bool fails = false) const {
    for (std::string& word : words) word = absl::StrReplaceAll(word, {{"R/", root_.string() + "/"}});
    std::ostringstream out, err;
    const ExitCode code = RunWeights("cleave weights", "Weights.", words, out, err);
    EXPECT_EQ(code != ExitCode::kDone, fails) << out.str() << err.str();
    return absl::StrReplaceAll(out.str() + err.str(), {{root_.string(), "R"}});
  }

  void WriteTensors(const std::string& name, const GivenTensors& tensors) const {
    std::filesystem::create_directories((root_ / name).parent_path());
    std::vector<OutputTensor> outputs;
    for (const auto& [tensor, given] : tensors) outputs.push_back({tensor, given.shape});
    runtime::Result<WeightOutput> output = WeightOutput::Create(Path(name), outputs, {.is_replaced = true});
    ASSERT_TRUE(output.ok()) << output.error().message;
    size_t next = 0;
    for (const auto& [tensor, given] : tensors) ASSERT_FALSE(output.value().Write(next++, given.values).has_value());
    ASSERT_FALSE(output.value().Finish().has_value());
  }

  void WriteCheckpoint(const std::string& adapters, GivenTensors tensors) const {
    std::vector<runtime::StateTensor> state;
    for (auto& [name, given] : tensors) state.push_back({name, {given.shape}, given.values.data()});
    runtime::ShardWriter writer(Path("c"), state, {}, 0);
    writer.Start(1);
    const runtime::Result<runtime::Shard> shard = writer.Take();
    ASSERT_TRUE(shard.ok()) << shard.error().message;
    std::vector<std::pair<std::string, std::string>> settings;
    if (!adapters.empty()) settings.emplace_back("adapters", adapters);
    const auto error = runtime::Complete(Path("c"), {"Net", 1, 7, settings}, {}, state, {shard.value()}, 9);
    ASSERT_FALSE(error.has_value()) << error->message;
  }

  GivenTensors Read(const std::string& name) const {
    const runtime::Result<WeightSource> source = WeightSource::Open(Path(name));
    if (!source.ok()) ADD_FAILURE() << source.error().message;
    if (!source.ok()) return {};
    GivenTensors tensors;
    for (const WeightTensor& tensor : source.value().tensors()) {
      Given& given = tensors[tensor.name];
      given.shape = tensor.shape;
      EXPECT_FALSE(source.value().Read(tensor, given.values).has_value());
    }
    return tensors;
  }

  const std::filesystem::path root_ =
      std::filesystem::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
};

// [out, in] and [in, out], which is told by where the rank lies.
TEST_F(AdapterFilesTest, Merges) {
  WriteCheckpoint("lora(rank = 1, alpha = 2.0)", {{"w", {{2, 2}, {1, 2, 3, 4}}},
                                                  {"w_lora_a", {{1, 2}, {1, 10}}},
                                                  {"w_lora_b", {{2, 1}, {3, 5}}},
                                                  {"v", {{2, 2}, {1, 2, 3, 4}}},
                                                  {"v_lora_a", {{2, 1}, {1, 10}}},
                                                  {"v_lora_b", {{1, 2}, {3, 5}}},
                                                  {"bias", {{2}, {7, 8}}}});
  EXPECT_EQ(Run({"merge", "R/c", "R/m.safetensors"}),
            "lora(rank = 1, alpha = 2.0) merged into 2 weights of 3 tensors\n");
  const GivenTensors merged = Read("m.safetensors");
  ASSERT_EQ(merged.size(), 3u);
  EXPECT_THAT(merged.at("w").values, ElementsAre(7, 62, 13, 104));
  EXPECT_THAT(merged.at("v").values, ElementsAre(7, 12, 63, 104));
  EXPECT_THAT(merged.at("bias").values, ElementsAre(7, 8));
  EXPECT_THAT(Run({"merge", "R/c", "R/m.safetensors"}, true), HasSubstr("`--force` replaces it"));
}

TEST_F(AdapterFilesTest, MergesMagnitudes) {
  WriteCheckpoint("dora(rank = 1, alpha = 1.0)", {{"w", {{2, 2}, {3, 4, 1, 0}}},
                                                  {"w_lora_a", {{1, 2}, {1, 0}}},
                                                  {"w_lora_b", {{2, 1}, {0, 3}}},
                                                  {"w_lora_magnitude", {{2}, {5, 1}}}});
  Run({"merge", "R/c", "R/m.safetensors"});
  EXPECT_THAT(Read("m.safetensors").at("w").values, ElementsAre(6, 8, 2, 0));
}

// One weight here, three there: B in three parts, and A in each.
TEST_F(AdapterFilesTest, PartsShareA) {
  const GivenTensors here = {{"h.weight", {{3, 2}, {1, 2, 3, 4, 5, 6}}},
                             {"h.weight_lora_a", {{1, 2}, {1, 10}}},
                             {"h.weight_lora_b", {{3, 1}, {3, 5, 7}}},
                             {"up.weight", {{3, 2}, {1, 2, 3, 4, 5, 6}}}};
  WriteCheckpoint("lora(rank = 1, alpha = 2.0)", here);
  WriteText("n.map", "h.weight  l.q.weight + l.k.weight + l.v.weight\nup.weight  up.q.weight\n");
  EXPECT_EQ(Run({"export", "R/c", "R/p", "--adapter", "--map", "R/n.map"}),
            "lora(rank = 1, alpha = 2.0) of 1 weight: 6 tensors in R/p\n");
  const GivenTensors there = Read("p/adapter_model.safetensors");
  EXPECT_THAT(there.at("base_model.model.l.k.lora_A.weight").values, ElementsAre(1, 10));
  EXPECT_THAT(there.at("base_model.model.l.k.lora_B.weight").values, ElementsAre(5));
  std::stringstream config;
  config << std::ifstream(Path("p/adapter_config.json")).rdbuf();
  EXPECT_THAT(config.str(), HasSubstr("\"lora_alpha\": 2,"));
  // Another matrix there is called `q`, and has no adapter.
  EXPECT_THAT(config.str(), HasSubstr("\"target_modules\": [\n    \"k\",\n    \"l.q\",\n    \"v\"\n  ]"));
  EXPECT_THAT(Run({"import", "R/p", "R/b.safetensors", "--map", "R/n.map", "--base", "R/c"}),
              HasSubstr("`adapt = lora(rank = 1, alpha = 2.0, on = \"…\");`"));
  EXPECT_EQ(Read("b.safetensors"), here);
  Run({"import", "R/p", "R/alone.safetensors", "--map", "R/n.map"});
  EXPECT_EQ(Read("alone.safetensors").size(), 2u);

  GivenTensors other = there;
  other["base_model.model.l.k.lora_A.weight"].values[0] = 2;
  WriteTensors("p/adapter_model.safetensors", other);
  EXPECT_THAT(
      Run({"import", "R/p", "R/c.safetensors", "--map", "R/n.map"}, true),
      HasSubstr("`h.weight` here is 3 weights there by line 1 of `R/n.map`: their adapters can be one if all of "
                "them have one, with the same A"));
  other.erase("base_model.model.l.k.lora_A.weight");
  WriteTensors("p/adapter_model.safetensors", other);
  EXPECT_THAT(Run({"import", "R/p", "R/c.safetensors", "--map", "R/n.map"}, true), HasSubstr("`l.k` lacks a matrix"));
  other.erase("base_model.model.l.k.lora_B.weight");
  WriteTensors("p/adapter_model.safetensors", other);
  EXPECT_THAT(Run({"import", "R/p", "R/c.safetensors", "--map", "R/n.map"}, true),
              HasSubstr("if all of them have one"));
}

TEST_F(AdapterFilesTest, WhatIsNoAdapter) {
  const GivenTensors plain = {{"w", {{2, 2}, {1, 2, 3, 4}}}};
  WriteCheckpoint("", plain);
  EXPECT_THAT(Run({"merge", "R/c", "R/m.safetensors"}, true), HasSubstr("checkpoint `R/c/step_1` has no adapters"));
  WriteTensors("plain.safetensors", plain);
  EXPECT_THAT(Run({"export", "R/plain.safetensors", "R/p", "--adapter"}, true), HasSubstr("is no checkpoint"));
  EXPECT_THAT(Run({"import", "R/plain.safetensors", "R/m.safetensors", "--base", "R/c"}, true),
              HasSubstr("SOURCE has no adapter_config.json"));
  EXPECT_THAT(Run({"export", "R/c", "R/p", "--adapter", "--vocabulary", "5"}, true), HasSubstr("exclude each other"));
  std::filesystem::remove_all(root_ / "c");
  WriteCheckpoint("lora(rank = 1, alpha = 2.0, also = \"*.bias\")", plain);
  EXPECT_THAT(Run({"export", "R/c", "R/p", "--adapter"}, true), HasSubstr("those that match \"*.bias\""));
  std::filesystem::remove_all(root_ / "c");
  WriteCheckpoint("tora(rank = 1)", plain);
  EXPECT_THAT(Run({"merge", "R/c", "R/m.safetensors"}, true), HasSubstr("unknown form, `tora(rank = 1)`"));
}

// The number of rows that a mapping asks for, and names that PEFT does not have.
TEST_F(AdapterFilesTest, LinesThatDoNotFit) {
  WriteCheckpoint("lora(rank = 1, alpha = 2.0)", {{"w", {{4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}}},
                                                  {"w_lora_a", {{1, 2}, {1, 10}}},
                                                  {"w_lora_b", {{4, 1}, {3, 5, 7, 9}}}});
  const auto said = [&](const std::string& line, std::vector<std::string> more = {}) {
    WriteText("n.map", line);
    std::vector<std::string> words = {"export", "R/c", "R/p", "--adapter", "--map", "R/n.map"};
    words.insert(words.end(), more.begin(), more.end());
    return Run(words, true);
  };
  EXPECT_THAT(said("v  l.weight\n"), HasSubstr("no line of `R/n.map` is of `w`"));
  EXPECT_THAT(said("w  l\n"), HasSubstr("`l` is not called `MODULE.weight`"));
  EXPECT_THAT(said("w  a.weight + b.weight + c.weight\n"), HasSubstr("makes 3 equal tensors of `w`"));
  EXPECT_THAT(said("w  l.weight qkv\n"), HasSubstr("say with `--heads N`"));
  EXPECT_THAT(said("w  l.weight qkv\n", {"--heads", "1"}), HasSubstr("finds no query, key and value"));
}

TEST_F(AdapterFilesTest, ConfigsOfOtherAdapters) {
  WriteTensors("p/adapter_model.safetensors", {{"base_model.model.w.lora_A.weight", {{1, 2}, {1, 2}}},
                                               {"base_model.model.w.lora_B.weight", {{2, 1}, {3, 4}}}});
  const auto said = [&](const std::string& config, bool fails = true) {
    WriteText("p/adapter_config.json", config);
    return Run({"import", "R/p", "R/m.safetensors", "--force"}, fails);
  };
  said(absl::StrCat(kConfig, R"(, "use_dora": false, "rank_pattern": {}, "task_type": "CAUSAL_LM"})"), false);
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {R"({"peft_type": "IA3"})", "`peft_type` in `R/p/adapter_config.json` is `IA3`; adapters here have `LORA`"},
      {R"({"r": 1})", "lacks `peft_type`"},
      {R"({"peft_type": "LORA", "r": 1})", "lacks `lora_alpha`"},
      {"[]", "lacks `peft_type`"},
      {"{", "is not valid JSON"},
      {absl::StrCat(kConfig, R"(, "rank_pattern": {"w": 2}})"),
       "`rank_pattern` in `R/p/adapter_config.json` is an object"},
      {absl::StrCat(kConfig, R"(, "modules_to_save": ["lm_head"]})"), "is a list; adapters here have nothing there"},
      {absl::StrCat(kConfig, R"(, "use_qalora": true})"), "`use_qalora`"},
      {absl::StrCat(kConfig, R"(, "init_lora_weights": "pissa"})"), "is `pissa`; adapters here have"},
      {absl::StrCat(kConfig, R"(, "lora_dropout": 1.5})"), "a share of at least 0"},
      {R"({"peft_type": "LORA", "r": 0, "lora_alpha": 1})", "a rank of at least 1"},
      {R"({"peft_type": "LORA", "r": 1, "lora_alpha": "x"})", "an alpha above 0"},
      {R"({"peft_type": "LORA", "r": 2, "lora_alpha": 1})", "has another rank than 2"},
      {absl::StrCat(kConfig, R"(, "use_dora": true})"), "has 0 magnitudes, not 2"}};
  for (const auto& [config, message] : wrong) EXPECT_THAT(said(config), HasSubstr(message)) << config;
  WriteTensors("p/adapter_model.safetensors", {{"base_model.model.w.lora_A.weight", {{1, 2}, {1, 2}}},
                                               {"base_model.model.w.lora_B.weight", {{2, 1}, {3, 4}}},
                                               {"base_model.model.w.lora_magnitude_vector", {{2}, {3, 4}}}});
  EXPECT_THAT(said(absl::StrCat(kConfig, R"(, "use_dora": true})")), HasSubstr("`--base` names these"));
  WriteTensors("p/adapter_model.safetensors", {{"base_model.model.w.lora_embedding_A", {{1, 2}, {1, 2}}}});
  EXPECT_THAT(said(absl::StrCat(kConfig, "}")), HasSubstr("is no tensor of LoRA"));
}

}  // namespace
}  // namespace cleave::tools
