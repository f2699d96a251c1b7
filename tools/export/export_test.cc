// A small Llama that the test writes, imported and exported through the command lines.
#include "tools/export/export.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/import/import.h"
#include "tools/weights/output.h"
#include "tools/weights/source.h"

namespace cleave::tools {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  ExitCode code;
  std::string out, err;
};

constexpr char kConfig[] = R"({
  "architectures": ["LlamaForCausalLM"],
  "model_type": "llama",
  "vocab_size": 6,
  "hidden_size": 4,
  "intermediate_size": 3,
  "num_hidden_layers": 1,
  "num_attention_heads": 2,
  "tie_word_embeddings": true,
  "torch_dtype": "bfloat16",
  "house": "blue"
}
)";

class ExportTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(root_ / "hf");
    Import(kConfig);
  }
  void TearDown() override { fs::current_path(before_); }

  std::string Path(const std::string& name) const { return (root_ / name).string(); }

  // Its folder is called R.
  template <typename Tool>
  Outcome Run(Tool tool, const std::vector<std::string>& words) const {
    std::ostringstream out, err;
    const ExitCode code = tool("cleave", "", words, out, err);
    const auto shown = [&](const std::string& text) { return absl::StrReplaceAll(text, {{root_.string(), "R"}}); };
    return {code, shown(out.str()), shown(err.str())};
  }

  // Options may follow.
  Outcome Export(const std::string& folder, const std::vector<std::string>& options = {},
                 const std::string& weights = "net/weights.safetensors") const {
    std::vector<std::string> words = {Path(weights), Path(folder)};
    words.insert(words.end(), options.begin(), options.end());
    return Run(RunExport, words);
  }

  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(root_ / name, std::ios::binary) << text;
  }

  std::string Read(const std::string& name) const {
    std::ifstream file(root_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  std::vector<std::string> NamesIn(const std::string& folder) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(root_ / folder)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  // Weights of so many layers and symbols under the names of the model.
  void WriteWeights(const std::string& file, int layers, int64_t symbols, const std::string& layer,
                    const std::string& table, const std::string& normal, const std::vector<std::string>& names) const {
    std::vector<OutputTensor> tensors = {{table, {symbols, 4}}};
    const std::vector<std::vector<int64_t>> shapes = {{4}, {4, 4}, {4, 4}, {4, 4}, {4, 4}, {4}, {3, 4}, {3, 4}, {4, 3}};
    for (int i = 0; i < layers; ++i) {
      for (size_t j = 0; j < names.size(); ++j) tensors.push_back({absl::StrCat(layer, i, ".", names[j]), shapes[j]});
    }
    tensors.push_back({normal, {4}});
    auto output = WeightOutput::Create(Path(file), tensors, {.is_replaced = true});
    ASSERT_TRUE(output.ok()) << output.error().message;
    for (size_t i = 0; i < tensors.size(); ++i) {
      std::vector<float> values(static_cast<size_t>(ValueCount(tensors[i].shape)));
      for (size_t k = 0; k < values.size(); ++k) values[k] = static_cast<float>(i) + static_cast<float>(k) / 64;
      ASSERT_FALSE(output.value().Write(i, values).has_value());
    }
    ASSERT_FALSE(output.value().Finish().has_value());
  }

  void WriteOurs(const std::string& file, int layers, int64_t symbols) const {
    WriteWeights(file, layers, symbols, "x.", "table", "normal.weight",
                 {"norm1.weight", "attn.query.weight", "attn.key.weight", "attn.value.weight", "attn.out.weight",
                  "norm2.weight", "ffn.gate.weight", "ffn.up.weight", "ffn.down.weight"});
  }

  void Import(const std::string& config) const {
    Write("hf/config.json", config);
    Write("hf/tokenizer.json", "{}");
    Write("hf/other.bin", "not wanted");
    WriteWeights("hf/model.safetensors", 1, 6, "model.layers.", "model.embed_tokens.weight", "model.norm.weight",
                 {"input_layernorm.weight", "self_attn.q_proj.weight", "self_attn.k_proj.weight",
                  "self_attn.v_proj.weight", "self_attn.o_proj.weight", "post_attention_layernorm.weight",
                  "mlp.gate_proj.weight", "mlp.up_proj.weight", "mlp.down_proj.weight"});
    const Outcome imported =
        Run(RunImport, {Path("hf"), "--out", Path("net"), "--name", "net", "--ignore", "house", "--force"});
    ASSERT_EQ(imported.code, ExitCode::kDone) << imported.err;
  }

  const fs::path before_ = fs::current_path();
  const fs::path root_ =
      fs::canonical(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(ExportTest, AnImportKeepsWhatGoesAlong) {
  EXPECT_EQ(NamesIn("net/hugging_face"), (std::vector<std::string>{"config.json", "tokenizer.json"}));
  EXPECT_EQ(Read("net/hugging_face/config.json"), kConfig);
  // Nothing of an earlier import stays.
  fs::remove(root_ / "hf/tokenizer.json");
  EXPECT_EQ(Run(RunImport, {Path("hf"), "--out", Path("net"), "--name", "net", "--ignore", "house", "--force"}).err,
            "");
  EXPECT_EQ(NamesIn("net/hugging_face"), std::vector<std::string>{"config.json"});
  // Something there is no file.
  fs::create_directories(root_ / "hf/tokenizer.json");
  const Outcome folder = Run(RunImport, {Path("hf"), "--out", Path("net"), "--ignore", "house", "--force"});
  EXPECT_EQ(folder.code, ExitCode::kModelWrong);
  EXPECT_TRUE(absl::StrContains(folder.err, "error[E0614]: the folder `R/hf` cannot be used\n")) << folder.err;
}

TEST_F(ExportTest, WritesAFolder) {
  const Outcome outcome = Export("tuned");
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out,
            "Llama of R/net/weights.safetensors: 11 tensors, 136 values, 272 bytes in bf16\n"
            "wrote R/tuned/config.json\nwrote R/tuned/model.safetensors\nwrote R/tuned/tokenizer.json\n");
  EXPECT_EQ(Read("tuned/config.json"), kConfig);
  const auto source = WeightSource::Open(Path("tuned"));
  ASSERT_TRUE(source.ok());
  ASSERT_EQ(source.value().tensors().size(), 11u);
  // `lm_head.weight` is not there: it is the table of the tokens.
  EXPECT_EQ(source.value().tensors()[0].name, "model.embed_tokens.weight");
  EXPECT_EQ(source.value().tensors()[0].type, "BF16");
}

TEST_F(ExportTest, TypesAndSizesOfFiles) {
  EXPECT_EQ(Export("a", {"--dtype", "f32", "--shard-size", "0.4KB"}).err, "");
  EXPECT_EQ(Read("a/config.json"), absl::StrReplaceAll(kConfig, {{"bfloat16", "float32"}}));
  EXPECT_THAT(NamesIn("a"), testing::ElementsAre("config.json", "model-00001-of-00002.safetensors",
                                                 "model-00002-of-00002.safetensors", "model.safetensors.index.json",
                                                 "tokenizer.json"));
  // As transformers 5 calls it, and where it is not said.
  Import(absl::StrReplaceAll(kConfig, {{"torch_dtype", "dtype"}}));
  EXPECT_EQ(Export("b", {"--dtype", "f16"}).err, "");
  EXPECT_TRUE(absl::StrContains(Read("b/config.json"), "\"dtype\": \"float16\""));
  EXPECT_FALSE(absl::StrContains(Read("b/config.json"), "torch_dtype"));
  Import(absl::StrReplaceAll(kConfig, {{"\"torch_dtype\": \"bfloat16\",\n", ""}}));
  EXPECT_EQ(Export("c").err, "");
  EXPECT_TRUE(absl::StartsWith(Read("c/config.json"), "{\n  \"torch_dtype\": \"float32\",\n  \"architectures\""));
  EXPECT_EQ(Export("d", {"--dtype", "f64"}).code, ExitCode::kUsage);
}

TEST_F(ExportTest, TheClassIsTheOneWhoseWeightsTheseAre) {
  Import(absl::StrReplaceAll(kConfig, {{"  \"architectures\": [\"LlamaForCausalLM\"],\n", ""}}));
  EXPECT_EQ(Export("a").err, "");
  EXPECT_TRUE(absl::StartsWith(Read("a/config.json"), "{\n  \"architectures\": [\"LlamaForCausalLM\"],"))
      << Read("a/config.json");
}

TEST_F(ExportTest, FindsTheImport) {
  EXPECT_EQ(Export("whole", {}, "net").err, "");
  fs::create_directories(root_ / "net/out/net/run");
  fs::rename(root_ / "net/weights.safetensors", root_ / "net/out/net/run/w.safetensors");
  EXPECT_EQ(Export("a", {}, "net/out/net/run/w.safetensors").err, "");
  // From the folder of the import, weights that are elsewhere.
  fs::rename(root_ / "net/out/net/run/w.safetensors", root_ / "w.safetensors");
  const Outcome nowhere = Export("b", {}, "w.safetensors");
  EXPECT_EQ(nowhere.code, ExitCode::kModelWrong);
  EXPECT_EQ(nowhere.err,
            "error[E0618]: no folder of an import is around `R/w.safetensors`, nor here\n"
            "help: name the folder that `cleave import` wrote: `--from FOLDER`\n");
  EXPECT_EQ(Export("b", {"--from", Path("net")}, "w.safetensors").err, "");
  fs::current_path(root_ / "net");
  EXPECT_EQ(Export("c", {}, "w.safetensors").err, "");
  // Here is one, and around the weights another one.
  fs::copy(root_ / "net", root_ / "net2", fs::copy_options::recursive);
  fs::copy(root_ / "w.safetensors", root_ / "net2/w.safetensors");
  EXPECT_TRUE(absl::StartsWith(Export("d", {}, "net2/w.safetensors").err,
                               "error[E0618]: the weights may be those of `R/net2` and of `R/net`\n"));
  EXPECT_EQ(Export("d", {"--from", "../net2"}, "net2/w.safetensors").err, "");
  EXPECT_TRUE(absl::StartsWith(Export("e", {"--from", Path("hf")}, "w.safetensors").err,
                               "error[E0618]: `R/hf` has no `hugging_face/config.json`"));
}

TEST_F(ExportTest, TheMappingIsThatOfTheImport) {
  fs::copy(root_ / "net/net.map", root_ / "net/own.map");
  EXPECT_TRUE(absl::StartsWith(Export("a").err, "error[E0618]: `R/net` has the mappings `net.map` and `own.map`\n"));
  EXPECT_EQ(Export("a", {"--map", Path("net/own.map")}).err, "");
  Write("net/own.map", "table\n");
  EXPECT_TRUE(absl::StartsWith(Export("b", {"--map", Path("net/own.map")}).err, "error[E0618]: line 1 of"));
  fs::remove(root_ / "net/net.map");
  fs::remove(root_ / "net/own.map");
  EXPECT_TRUE(absl::StartsWith(Export("b").err, "error[E0618]: `R/net` has no .map file\n"));
}

// A model whose names were changed, with a mapping that was changed with them.
TEST_F(ExportTest, OtherNamesWithTheirMapping) {
  Write("net/net.map", absl::StrReplaceAll(Read("net/net.map"), {{"normal.weight", "last.weight  "}}));
  EXPECT_TRUE(absl::StrContains(Export("a").err, "note: `model.norm.weight` [4]\n"));
  WriteWeights("net/own.safetensors", 1, 6, "x.", "table", "last.weight",
               {"norm1.weight", "attn.query.weight", "attn.key.weight", "attn.value.weight", "attn.out.weight",
                "norm2.weight", "ffn.gate.weight", "ffn.up.weight", "ffn.down.weight"});
  EXPECT_EQ(Export("a", {}, "net/own.safetensors").err, "");
}

TEST_F(ExportTest, ChangedModelsSayWhatConfigShouldSay) {
  WriteOurs("net/more.safetensors", 2, 8);
  const std::string help =
      "help: for a model that was changed say what config.json should say: `--set FIELD=VALUE`, or `--vocabulary N`\n";
  EXPECT_EQ(Export("a", {}, "net/more.safetensors").err,
            absl::StrCat("error[E0617]: config.json asks for other shapes of 1 tensor\n"
                         "note: `model.embed_tokens.weight` is [8, 4], and by config.json [6, 4]\n",
                         help,
                         "\nerror[E0617]: the weights have what the model of config.json has not: 9 tensors\n"
                         "note: `model.layers.1.input_layernorm.weight` [4]\n"
                         "note: `model.layers.1.mlp.down_proj.weight` [4, 3]\n"
                         "note: `model.layers.1.mlp.gate_proj.weight` [3, 4]\n"
                         "note: `model.layers.1.mlp.up_proj.weight` [3, 4]\n"
                         "note: `model.layers.1.post_attention_layernorm.weight` [4]\n"
                         "note: … and 4 more\n",
                         help));
  EXPECT_FALSE(fs::exists(root_ / "a"));
  EXPECT_EQ(Export("a", {"--set", "num_hidden_layers=2", "--set", "vocab_size=8"}, "net/more.safetensors").err, "");
  EXPECT_EQ(Read("a/config.json"),
            absl::StrReplaceAll(kConfig, {{"\"vocab_size\": 6", "\"vocab_size\": 8"},
                                          {"\"num_hidden_layers\": 1", "\"num_hidden_layers\": 2"}}));
  EXPECT_EQ(Export("b", {"--set", "num_hidden_layers=2", "--vocabulary", "7"}, "net/more.safetensors").err, "");
  const auto source = WeightSource::Open(Path("b"));
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(source.value().tensors()[0].shape, (std::vector<int64_t>{7, 4}));
  EXPECT_TRUE(absl::StrContains(Read("b/config.json"), "\"vocab_size\": 7"));
  EXPECT_TRUE(absl::StrContains(Export("c", {"--vocabulary", "7"}).err,
                                "`--vocabulary 7` asks for more rows than `table`, which is [6, 4] has"));
}

TEST_F(ExportTest, SettingsThatAreWrong) {
  const auto first = [&](const std::string& setting) {
    const Outcome outcome = Export("a", {"--set", setting});
    EXPECT_FALSE(fs::exists(root_ / "a")) << setting;
    return outcome.err.substr(0, outcome.err.find('\n'));
  };
  EXPECT_EQ(first("vocab_sise=8"), "error[E0616]: `--set vocab_sise=8` names no field of config.json that Llama has");
  EXPECT_EQ(first("house=red"), "error[E0616]: `--set house=red` names no field of config.json that Llama has");
  EXPECT_EQ(first("model_type=gpt2"),
            "error[E0616]: `--set model_type=gpt2` names no field of config.json that Llama has");
  EXPECT_EQ(first("rope_scaling.factor=2"),
            "error[E0616]: config.json has no object for the field `rope_scaling.factor`");
  EXPECT_EQ(first("hidden_act=tanh"), "error[E0616]: `hidden_act` is \"tanh\", and for Llama `\"silu\"` is supported");
  EXPECT_EQ(
      first("num_hidden_layers=99999999999"),
      "error[E0616]: `num_hidden_layers` is 99999999999, and for Llama whole numbers from 1 to 1000 are supported");
  EXPECT_EQ(first("hidden_size=2147483647"),
            "error[E0616]: the sizes that config.json gives contradict each other, or are too large");
  EXPECT_EQ(Export("a", {"--set", "vocab_size"}).code, ExitCode::kUsage);
}

TEST_F(ExportTest, AFolderIsReplacedOnlyByForceAndOnlyIfAnExportWroteIt) {
  EXPECT_EQ(Export("a", {"--dtype", "f32", "--shard-size", "0.3KB"}).err, "");
  const Outcome refused = Export("a");
  EXPECT_EQ(refused.code, ExitCode::kEnvironment);
  EXPECT_TRUE(absl::StartsWith(refused.err, "error[E0601]: `R/a` exists; `--force` replaces it\n")) << refused.err;
  EXPECT_EQ(Export("a", {"--force"}).err, "");
  EXPECT_THAT(NamesIn("a"), testing::ElementsAre("config.json", "model.safetensors", "tokenizer.json"));
  Write("a/thesis.txt", "years of work");
  EXPECT_TRUE(absl::StartsWith(Export("a", {"--force"}).err,
                               "error[E0601]: `R/a` has `thesis.txt`, which is nothing that is written here\n"));
  EXPECT_EQ(Read("a/thesis.txt"), "years of work");
  fs::remove(root_ / "a/thesis.txt");
  // A name of ours that is a folder with something in it.
  fs::remove(root_ / "a/tokenizer.json");
  fs::create_directories(root_ / "a/tokenizer.json/deep");
  EXPECT_EQ(Export("a", {"--force"}).code, ExitCode::kEnvironment);
  EXPECT_TRUE(fs::exists(root_ / "a/tokenizer.json/deep"));
  // Empty ones are welcome, and links lead somewhere.
  fs::create_directories(root_ / "empty");
  fs::create_directory_symlink("empty", root_ / "link");
  EXPECT_EQ(Export("link").err, "");
  EXPECT_TRUE(fs::exists(root_ / "empty/config.json"));
  EXPECT_TRUE(fs::is_symlink(root_ / "link"));
  EXPECT_EQ(Export("net").code, ExitCode::kEnvironment);
  EXPECT_TRUE(absl::StrContains(Export("net/hugging_face", {"--force"}).err, "is the folder by which is exported"));
  EXPECT_EQ(NamesIn("net/hugging_face"), (std::vector<std::string>{"config.json", "tokenizer.json"}));
  EXPECT_EQ(Export("none/deep").err, "");
}

TEST_F(ExportTest, WhatAKilledExportLeftIsRemoved) {
  fs::create_directories(root_ / "a.unfinished");
  Write("a.unfinished/model-00001-of-00002.safetensors.unfinished", "half");
  EXPECT_EQ(Export("a").err, "");
  EXPECT_FALSE(fs::exists(root_ / "a.unfinished"));
  fs::create_directories(root_ / "b.unfinished");
  Write("b.unfinished/mine.txt", "mine");
  EXPECT_TRUE(absl::StrContains(Export("b").err, "`R/b.unfinished` has `mine.txt`"));
  EXPECT_EQ(Read("b.unfinished/mine.txt"), "mine");
}

TEST_F(ExportTest, AFullDiskLeavesWhatWasThere) {
  EXPECT_EQ(Export("a").err, "");
  const std::string weights = Read("a/model.safetensors");
  Write("net/hugging_face/tokenizer.json", std::string(20000, ' '));
  struct rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const struct rlimit little = {10000, before.rlim_max};  // More than the weights.
  const auto old = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  const Outcome outcome = Export("a", {"--force"});
  const Outcome fresh = Export("b");
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, old);
  EXPECT_EQ(outcome.code, ExitCode::kEnvironment);
  EXPECT_EQ(fresh.code, ExitCode::kEnvironment);
  EXPECT_TRUE(
      absl::StartsWith(outcome.err, "error[E0602]: cannot write `R/a.unfinished/tokenizer.json`: File too large"))
      << outcome.err;
  EXPECT_EQ(Read("a/model.safetensors"), weights);
  EXPECT_THAT(NamesIn("."), testing::ElementsAre("a", "hf", "net"));
}

TEST_F(ExportTest, FilesThatAreNotWhatTheyWere) {
  Write("net/hugging_face/config.json", "{");
  EXPECT_TRUE(absl::StartsWith(Export("a").err, "error[E0614]: `R/net/hugging_face/config.json` is not valid JSON"));
  Write("net/hugging_face/config.json", "[]");
  EXPECT_TRUE(absl::StartsWith(Export("a").err, "error[E0614]"));
  Write("net/hugging_face/config.json", absl::StrCat(kConfig, std::string(1 << 20, ' ')));
  EXPECT_TRUE(absl::StrContains(Export("a").err, "has more than 1048576 bytes"));
  Write("net/hugging_face/config.json", R"({"model_type": "pet"})");
  EXPECT_TRUE(absl::StartsWith(Export("a").err, "error[E0615]"));
  Write("net/hugging_face/config.json", kConfig);
  fs::remove(root_ / "net/weights.safetensors");
  EXPECT_TRUE(absl::StartsWith(Export("a").err, "error[E0617]: `R/net/weights.safetensors` does not exist\n"));
  EXPECT_FALSE(fs::exists(root_ / "a"));
}

}  // namespace
}  // namespace cleave::tools
