// Everything here goes through the command line, on files that it writes.
#include "tools/weights/weights.h"

#include <signal.h>
#include <sys/resource.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/writer.h"
#include "tools/weights/output.h"
#include "tools/weights/source.h"

namespace cleave::tools {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  ExitCode code;
  std::string out, err;
};

struct NamedValues {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> values;

  bool operator==(const NamedValues&) const = default;
};

// Values that differ from each other and from those of other seeds.
std::vector<float> Numbers(size_t count, float seed) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = seed + static_cast<float>(i) / 1024;
  return values;
}

class WeightsTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }

  std::string Path(const std::string& name) const { return (root_ / name).string(); }

  // Its folder is called R.
  Outcome Run(std::vector<std::string> words) const {
    std::ostringstream out, err;
    const ExitCode code = RunWeights("cleave weights", "Weights.", words, out, err);
    const auto shown = [&](const std::string& text) { return absl::StrReplaceAll(text, {{root_.string(), "R"}}); };
    return {code, shown(out.str()), shown(err.str())};
  }

  void WriteText(const std::string& name, const std::string& text) const {
    std::ofstream(root_ / name, std::ios::binary) << text;
  }

  void WriteWeights(const std::string& name, const std::vector<NamedValues>& all) const {
    std::vector<OutputTensor> tensors;
    for (const NamedValues& one : all) tensors.push_back({one.name, one.shape});
    runtime::Result<WeightOutput> output = WeightOutput::Create(Path(name), tensors, {.is_replaced = true});
    ASSERT_TRUE(output.ok()) << output.error().message;
    for (size_t i = 0; i < all.size(); ++i) ASSERT_FALSE(output.value().Write(i, all[i].values).has_value());
    ASSERT_FALSE(output.value().Finish().has_value());
  }

  std::vector<NamedValues> ReadWeights(const std::string& name) const {
    const runtime::Result<WeightSource> source = WeightSource::Open(Path(name));
    if (!source.ok()) ADD_FAILURE() << source.error().message;
    if (!source.ok()) return {};
    std::vector<NamedValues> all;
    for (const WeightTensor& tensor : source.value().tensors()) {
      all.push_back({tensor.name, tensor.shape, {}});
      EXPECT_FALSE(source.value().Read(tensor, all.back().values).has_value());
    }
    return all;
  }

  // A checkpoint of two ranks that have halves of `w` and the same of its state.
  void WriteCheckpoint(const std::string& folder, int64_t step) const {
    const runtime::Mesh mesh = {{"m0", 2}};
    std::vector<float> values[2] = {w_, Numbers(8, 9)};
    std::vector<runtime::Shard> shards;
    std::vector<runtime::StateTensor> state;
    for (int64_t rank = 0; rank < 2; ++rank) {
      state = {{"w", {{4, 2}, {{0}}}, values[0].data() + rank * 4}, {"w.momentum", {{4, 2}}, values[1].data()}};
      runtime::ShardWriter writer(Path(folder), state, mesh, rank);
      writer.Start(step);
      runtime::Result<runtime::Shard> shard = writer.Take();
      ASSERT_TRUE(shard.ok()) << shard.error().message;
      shards.push_back(shard.value());
    }
    const auto error = runtime::Complete(Path(folder), {"Net", step, 7, {{"batch", "64"}}}, mesh, state, shards, 9);
    ASSERT_FALSE(error.has_value()) << error->message;
  }

  const fs::path root_ = fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::vector<float> w_ = Numbers(8, 1);
};

TEST_F(WeightsTest, ListsACheckpoint) {
  WriteCheckpoint("c", 5);
  WriteCheckpoint("c", 12);
  const std::string text =
      "R/c/step_12\n"
      "model Net, step 12, seed 7\n"
      "written by 2 ranks: m0 = 2\n"
      "settings: batch = 64\n"
      "tensor      type  shape   bytes\n"
      "w           F32   [4, 2]  32\n"
      "w.momentum  F32   [4, 2]  32\n"
      "2 tensors, 16 values, 64 bytes, of which 1 tensor and 32 bytes are the optimizer's state\n";
  EXPECT_EQ(Run({"list", Path("c")}).out, text);
  EXPECT_EQ(Run({"list", Path("c/step_12")}).out, text);
  EXPECT_TRUE(absl::StrContains(Run({"list", Path("c/step_5")}).out, "step 5,"));
}

TEST_F(WeightsTest, ExportsTheParametersOfACheckpoint) {
  WriteCheckpoint("c", 5);
  EXPECT_EQ(Run({"export", Path("c"), Path("a.safetensors")}).out,
            "tensor  shape   becomes  shape\n"
            "w       [4, 2]  w        [4, 2]\n"
            "without 1 tensor of the optimizer's state (`--with-optimizer` takes them along)\n"
            "1 tensor, 8 values, 32 bytes\n");
  EXPECT_EQ(ReadWeights("a.safetensors"), (std::vector<NamedValues>{{"w", {4, 2}, w_}}));
  EXPECT_EQ(Run({"export", Path("c"), Path("b.safetensors"), "--with-optimizer"}).code, ExitCode::kDone);
  EXPECT_EQ(ReadWeights("b.safetensors"),
            (std::vector<NamedValues>{{"w", {4, 2}, w_}, {"w.momentum", {4, 2}, Numbers(8, 9)}}));
}

TEST_F(WeightsTest, StatesLieAsTheirParametersDo) {
  WriteCheckpoint("c", 5);
  WriteText("m.map", "w  other.weight  transposed\n");
  EXPECT_EQ(Run({"export", Path("c"), Path("a.safetensors"), "--map", Path("m.map"), "--with-optimizer"}).err, "");
  const std::vector<NamedValues> all = ReadWeights("a.safetensors");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].name, "other.weight.momentum");
  EXPECT_EQ(all[1].shape, (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(all[1].values[1], Numbers(8, 9)[2]);
}

TEST_F(WeightsTest, NpyFilesGoOutAndIn) {
  const std::vector<NamedValues> all = {{"a.weight", {2, 3}, Numbers(6, 2)}, {"b", {5}, Numbers(5, 3)}, {"c", {}, {4}}};
  WriteWeights("a.safetensors", all);
  fs::create_directories(root_ / "arrays");
  EXPECT_EQ(Run({"export", Path("a.safetensors"), Path("arrays")}).err, "");
  EXPECT_EQ(ReadWeights("arrays"), all);
  // NumPy wants the values at a multiple of 64 bytes.
  EXPECT_EQ(fs::file_size(root_ / "arrays/b.npy") % 64, 5 * sizeof(float));
  EXPECT_EQ(Run({"diff", Path("arrays"), Path("a.safetensors")}).out, "3 tensors: equal\n");
  EXPECT_EQ(Run({"export", Path("a.safetensors"), Path("arrays")}).err,
            "error: `R/arrays/a.weight.npy` exists; `--force` replaces it\n");
}

// Matrices that a number counts there are one tensor here.
TEST_F(WeightsTest, StacksMatrices) {
  WriteWeights("a.safetensors", {{"h.0.e.0.w", {2, 3}, Numbers(6, 2)}, {"h.0.e.1.w", {2, 3}, Numbers(6, 3)}});
  WriteText("m.map", "x.{i}.up  h.{i}.e.{j}.w  transposed stacked\n");
  const std::vector<std::string> in = {"import", Path("a.safetensors"), Path("b.safetensors"), "--map", Path("m.map")};
  EXPECT_EQ(Run(in).out,
            "tensor     shape   becomes  shape\n"
            "h.0.e.0.w  [2, 3]  x.0.up   [2, 3, 2]  transposed, stacked\n"
            "h.0.e.1.w  [2, 3]\n"
            "1 tensor, 12 values, 48 bytes\n");
  EXPECT_EQ(Run({"export", Path("b.safetensors"), Path("c.safetensors"), "--map", Path("m.map")}).err, "");
  EXPECT_EQ(ReadWeights("c.safetensors"), ReadWeights("a.safetensors"));
  WriteWeights("a.safetensors", {{"h.0.e.0.w", {1, 1}, {7}}, {"h.0.e.2.w", {1, 1}, {8}}, {"h.0.v", {1}, {8}}});
  EXPECT_EQ(Run(in).err,
            "error: line 1 of `R/m.map` makes `x.0.up` of 3 tensors, and `R/a.safetensors` lacks that which is called "
            "`h.{i}.e.1.w`\n");
}

// As `npy("arrays/{name}.npy")` of a model reads them: under its own names.
TEST_F(WeightsTest, ImportsIntoAFolder) {
  WriteWeights("a.safetensors", {{"h.0.w", {2, 3}, Numbers(6, 2)}, {"h.1.w", {2, 3}, Numbers(6, 3)}});
  WriteText("m.map", "x.{i}.weight  h.{i}.w  transposed\n");
  fs::create_directories(root_ / "arrays");
  const std::vector<std::string> words = {"import", Path("a.safetensors"), Path("arrays"), "--map", Path("m.map")};
  EXPECT_EQ(Run(words).out,
            "tensor  shape   becomes     shape\n"
            "h.0.w   [2, 3]  x.0.weight  [3, 2]  transposed\n"
            "h.1.w   [2, 3]  x.1.weight  [3, 2]  transposed\n"
            "2 tensors, 12 values, 48 bytes\n");
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(root_ / "arrays")) names.push_back(entry.path().filename());
  EXPECT_THAT(names, testing::UnorderedElementsAre("x.0.weight.npy", "x.1.weight.npy"));
  EXPECT_EQ(Run({"export", Path("arrays"), Path("b.safetensors"), "--map", Path("m.map")}).err, "");
  EXPECT_EQ(ReadWeights("b.safetensors"), ReadWeights("a.safetensors"));

  // Of several files one that exists is enough: none is written.
  WriteWeights("a.safetensors", {{"h.0.w", {1, 1}, {7}}, {"h.1.w", {1, 1}, {8}}});
  fs::remove(root_ / "arrays/x.0.weight.npy");
  const Outcome refused = Run(words);
  EXPECT_EQ(refused.code, ExitCode::kUsage);
  EXPECT_EQ(refused.err, "error: `R/arrays/x.1.weight.npy` exists; `--force` replaces it\n");
  EXPECT_FALSE(fs::exists(root_ / "arrays/x.0.weight.npy"));
  std::vector<std::string> by_force = words;
  by_force.push_back("--force");
  EXPECT_EQ(Run(by_force).err, "");
  EXPECT_EQ(ReadWeights("arrays"),
            (std::vector<NamedValues>{{"x.0.weight", {1, 1}, {7}}, {"x.1.weight", {1, 1}, {8}}}));
}

TEST_F(WeightsTest, AnIndexNamesTheFileOfEachTensor) {
  fs::create_directories(root_ / "hf");
  WriteWeights("hf/model-1.safetensors", {{"a", {2}, {1, 2}}, {"unlisted", {1}, {5}}});
  WriteWeights("hf/model-2.safetensors", {{"b", {2}, {3, 4}}});
  const auto index = [&](const std::string& file_of_b) {
    WriteText("hf/model.safetensors.index.json",
              R"({"metadata": {}, "weight_map": {"a": "model-1.safetensors", "b": ")" + file_of_b + "\"}}");
  };
  index("model-2.safetensors");
  const std::vector<NamedValues> all = {{"a", {2}, {1, 2}}, {"b", {2}, {3, 4}}};
  EXPECT_EQ(ReadWeights("hf"), all);
  EXPECT_EQ(ReadWeights("hf/model.safetensors.index.json"), all);
  index("model-1.safetensors");
  EXPECT_EQ(Run({"list", Path("hf")}).err,
            "error: `R/hf/model.safetensors.index.json` says that `b` is in `model-1.safetensors`, which lacks it\n");
  index("../model-2.safetensors");
  EXPECT_EQ(Run({"list", Path("hf")}).err,
            "error: `R/hf/model.safetensors.index.json` names no .safetensors file beside it for `b`\n");
  index("model-3.safetensors");
  EXPECT_TRUE(absl::StrContains(Run({"list", Path("hf")}).err, "model-3.safetensors"));
  WriteText("hf/model.safetensors.index.json", "{}");
  EXPECT_EQ(Run({"list", Path("hf")}).code, ExitCode::kModelWrong);
}

TEST_F(WeightsTest, WhatIsNoSource) {
  EXPECT_EQ(Run({"list", Path("none")}).err, "error: `R/none` does not exist\n");
  EXPECT_EQ(Run({"list", Path("none")}).code, ExitCode::kModelWrong);
  EXPECT_EQ(Run({"list", root_.string()}).err,
            "error: `R` holds no weights: neither a checkpoint nor .safetensors or .npy files\n");
  WriteText("a.safetensors", "not at all");
  EXPECT_EQ(Run({"list", Path("a.safetensors")}).code, ExitCode::kModelWrong);
  WriteWeights("a.safetensors", {{"a", {1}, {1}}});
  WriteWeights("b.safetensors", {{"a", {1}, {1}}});
  EXPECT_EQ(Run({"list", root_.string()}).err,
            "error: `R` has `a.safetensors` and `b.safetensors`: name one of them\n");
}

TEST_F(WeightsTest, ADamagedCheckpointIsNotExported) {
  WriteCheckpoint("c", 5);
  const fs::path shard = root_ / "c/step_5/rank_1.safetensors";
  std::fstream file(shard, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-1, std::ios::end);
  file.put('x');
  file.close();
  const Outcome outcome = Run({"export", Path("c"), Path("a.safetensors")});
  EXPECT_EQ(outcome.code, ExitCode::kModelWrong);
  EXPECT_TRUE(absl::StrContains(outcome.err, "`R/c/step_5/rank_1.safetensors` is damaged")) << outcome.err;
  EXPECT_FALSE(fs::exists(root_ / "a.safetensors"));
  EXPECT_FALSE(fs::exists(root_ / "a.safetensors.unfinished"));
}

TEST_F(WeightsTest, WhatExistsIsReplacedOnlyByForce) {
  WriteWeights("a.safetensors", {{"a", {1}, {1}}});
  WriteWeights("b.safetensors", {{"b", {1}, {2}}});
  const Outcome outcome = Run({"export", Path("a.safetensors"), Path("b.safetensors")});
  EXPECT_EQ(outcome.code, ExitCode::kUsage);
  EXPECT_EQ(outcome.err, "error: `R/b.safetensors` exists; `--force` replaces it\n");
  EXPECT_EQ(ReadWeights("b.safetensors")[0].name, "b");
  EXPECT_EQ(Run({"export", Path("a.safetensors"), Path("b.safetensors"), "--force"}).code, ExitCode::kDone);
  EXPECT_EQ(ReadWeights("b.safetensors")[0].name, "a");
  // A file may take its own place.
  EXPECT_EQ(Run({"export", Path("a.safetensors"), Path("a.safetensors"), "--force"}).code, ExitCode::kDone);
  EXPECT_EQ(ReadWeights("a.safetensors")[0].values, std::vector<float>{1});
}

TEST_F(WeightsTest, AFullDiskLeavesNothing) {
  WriteWeights("a.safetensors", {{"a", {4096}, Numbers(4096, 1)}, {"b", {4096}, Numbers(4096, 2)}});
  fs::create_directories(root_ / "arrays");
  struct rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const struct rlimit little = {16384, before.rlim_max};  // Less than a file of `a`.
  const auto old = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  const Outcome file = Run({"export", Path("a.safetensors"), Path("b.safetensors")});
  const Outcome folder = Run({"export", Path("a.safetensors"), Path("arrays")});
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, old);
  EXPECT_EQ(file.code, ExitCode::kEnvironment);
  EXPECT_EQ(file.err, "error: cannot write `R/b.safetensors`: File too large\n");
  EXPECT_EQ(folder.code, ExitCode::kEnvironment);
  EXPECT_TRUE(fs::is_empty(root_ / "arrays"));
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), fs::directory_iterator()), 2);
}

TEST_F(WeightsTest, DiffSaysWhatDiffers) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  WriteWeights("a.safetensors", {{"a", {4}, {1, 2, 3, nan}}, {"b", {2}, {1, 2}}, {"c", {1}, {1}}, {"d", {1}, {1}}});
  WriteWeights("b.safetensors",
               {{"a", {4}, {1, 2.5, 3.25, nan}}, {"b", {1, 2}, {1, 2}}, {"c", {1}, {1}}, {"e", {1}, {1}}});
  const Outcome outcome = Run({"diff", Path("a.safetensors"), Path("b.safetensors")});
  EXPECT_EQ(outcome.code, ExitCode::kDiffers);
  EXPECT_EQ(outcome.out,
            "tensor  shape  difference\n"
            "a       [4]    2 values of 4 differ, by up to 0.5\n"
            "b       [2]    is [1, 2] in the second\n"
            "d       [1]    only in the first\n"
            "e       [1]    only in the second\n"
            "3 tensors in both, 4 that differ; largest difference 0.5\n");
}

TEST_F(WeightsTest, DiffToleratesWhatItIsTold) {
  WriteWeights("a.safetensors", {{"a", {2}, {1, 2}}});
  WriteWeights("b.safetensors", {{"a", {2}, {1, 2.5}}});
  const std::vector<std::string> words = {"diff", Path("a.safetensors"), Path("b.safetensors"), "--tolerance"};
  const auto with = [&](const std::string& tolerance) {
    std::vector<std::string> all = words;
    all.push_back(tolerance);
    return Run(all);
  };
  EXPECT_EQ(with("0.5").code, ExitCode::kDone);
  EXPECT_EQ(with("0.5").out,
            "1 tensor in both, 0 that differ, 1 within the tolerance of 0.5; largest difference 0.5\n");
  EXPECT_EQ(with("0.49").code, ExitCode::kDiffers);
  EXPECT_EQ(with("-1").code, ExitCode::kUsage);
  EXPECT_EQ(with("nan").code, ExitCode::kUsage);
  WriteWeights("b.safetensors", {{"a", {2}, {1, std::nanf("")}}});
  EXPECT_EQ(with("1e30").code, ExitCode::kDiffers);
}

// A matrix of (heads, 3, head size) rows as another program has it: (3, heads, head size), and transposed.
TEST_F(WeightsTest, HeadsAndTranspositionGoBothWays) {
  constexpr int64_t kHeads = 2, kHead = 3, kWidth = 5, kRows = kHeads * 3 * kHead;
  const std::vector<NamedValues> ours = {{"x.10.qkv", {kRows, kWidth}, Numbers(kRows * kWidth, 1)}};
  WriteWeights("a.safetensors", ours);
  WriteText("m.map", "x.{i}.qkv  h.{i}.attn  transposed qkv\n");
  EXPECT_EQ(
      Run({"export", Path("a.safetensors"), Path("b.safetensors"), "--map", Path("m.map")}).err,
      "error: line 1 of `R/m.map` puts the heads of `x.10.qkv` in another order: say with `--heads N` how many there "
      "are\n");
  EXPECT_EQ(Run({"export", Path("a.safetensors"), Path("b.safetensors"), "--map", Path("m.map"), "--heads", "4"}).err,
            "error: line 1 of `R/m.map` finds no query, key and value of 4 heads in the rows of `x.10.qkv`, which is "
            "[18, 5]\n");
  EXPECT_EQ(Run({"export", Path("a.safetensors"), Path("b.safetensors"), "--map", Path("m.map"), "--heads", "2"}).err,
            "");
  const std::vector<NamedValues> theirs = ReadWeights("b.safetensors");
  ASSERT_EQ(theirs.size(), 1u);
  EXPECT_EQ(theirs[0].name, "h.10.attn");
  EXPECT_EQ(theirs[0].shape, (std::vector<int64_t>{kWidth, kRows}));
  for (int64_t head = 0; head < kHeads; ++head) {
    for (int64_t part = 0; part < 3; ++part) {
      for (int64_t i = 0; i < kHead; ++i) {
        for (int64_t k = 0; k < kWidth; ++k) {
          const int64_t here = ((head * 3 + part) * kHead + i) * kWidth + k;
          const int64_t there = k * kRows + (part * kHeads + head) * kHead + i;
          EXPECT_EQ(theirs[0].values[static_cast<size_t>(there)], ours[0].values[static_cast<size_t>(here)]);
        }
      }
    }
  }
  WriteText("config.json", R"({"n_head": 2})");
  EXPECT_EQ(Run({"import", Path("b.safetensors"), Path("c.safetensors"), "--map", Path("m.map")}).err, "");
  EXPECT_EQ(ReadWeights("c.safetensors"), ours);
  const Outcome other =
      Run({"import", Path("b.safetensors"), Path("d.safetensors"), "--map", Path("m.map"), "--heads", "1"});
  EXPECT_EQ(other.code, ExitCode::kModelWrong);
  EXPECT_TRUE(absl::StrContains(other.err, "error: `--heads 1`, and config.json beside `")) << other.err;
  EXPECT_TRUE(absl::StrContains(other.err, "` says `n_head` 2\n")) << other.err;
}

TEST_F(WeightsTest, SeveralTensorsThereAreOneHere) {
  WriteWeights("a.safetensors", {{"v", {1, 2}, {5, 6}}, {"q", {1, 2}, {1, 2}}, {"k", {1, 2}, {3, 4}}});
  WriteText("m.map", "all  q + k + v\n");
  const std::vector<std::string> import = {"import", Path("a.safetensors"), Path("b.safetensors"),
                                           "--map",  Path("m.map"),         "--force"};
  EXPECT_EQ(Run(import).out,
            "tensor  shape   becomes  shape\n"
            "q       [1, 2]  all      [3, 2]\n"
            "k       [1, 2]\n"
            "v       [1, 2]\n"
            "1 tensor, 6 values, 24 bytes\n");
  EXPECT_EQ(ReadWeights("b.safetensors"), (std::vector<NamedValues>{{"all", {3, 2}, {1, 2, 3, 4, 5, 6}}}));
  EXPECT_EQ(Run({"export", Path("b.safetensors"), Path("c.safetensors"), "--map", Path("m.map")}).err, "");
  EXPECT_EQ(Run({"diff", Path("a.safetensors"), Path("c.safetensors")}).out, "3 tensors: equal\n");
  WriteWeights("a.safetensors", {{"q", {1, 2}, {1, 2}}, {"v", {1, 2}, {5, 6}}});
  EXPECT_EQ(
      Run(import).err,
      "error: line 1 of `R/m.map` makes `all` of 3 tensors, and `R/a.safetensors` lacks that which is called `k`\n");
  WriteWeights("a.safetensors", {{"q", {1, 2}, {1, 2}}, {"k", {2, 2}, {1, 2, 3, 4}}, {"v", {1, 2}, {5, 6}}});
  EXPECT_EQ(
      Run(import).err,
      "error: line 1 of `R/m.map` puts together `q`, which is [1, 2], and `k`, which is [2, 2]: they must be equal\n");
  WriteWeights("b.safetensors", {{"all", {4, 1}, {1, 2, 3, 4}}});
  EXPECT_EQ(Run({"export", Path("b.safetensors"), Path("c.safetensors"), "--map", Path("m.map"), "--force"}).err,
            "error: line 1 of `R/m.map` makes 3 equal tensors of `all`, which is [4, 1]\n");
}

TEST_F(WeightsTest, TiedWeightsAreOneTensorHere) {
  WriteText("m.map", "table  wte = head\n");
  const std::vector<std::string> words = {"import", Path("a.safetensors"), Path("b.safetensors"),
                                          "--map",  Path("m.map"),         "--force"};
  WriteWeights("a.safetensors", {{"head", {2}, {1, 2}}, {"wte", {2}, {1, 2}}});
  EXPECT_EQ(Run(words).out,
            "tensor  shape  becomes  shape\n"
            "wte     [2]    table    [2]\n"
            "head    [2]    -               has the values of `wte`\n"
            "1 tensor, 2 values, 8 bytes\n");
  WriteWeights("a.safetensors", {{"head", {2}, {1, 2}}});
  EXPECT_EQ(Run(words).err, "");
  EXPECT_EQ(ReadWeights("b.safetensors"), (std::vector<NamedValues>{{"table", {2}, {1, 2}}}));
  WriteWeights("a.safetensors", {{"head", {2}, {1, 3}}, {"wte", {2}, {1, 2}}});
  EXPECT_EQ(Run(words).err,
            "error: `head` does not have the values of `wte`, and by line 1 of the mapping both are `table`\n");
  EXPECT_EQ(Run({"export", Path("b.safetensors"), Path("c.safetensors"), "--map", Path("m.map")}).err, "");
  EXPECT_EQ(ReadWeights("c.safetensors"), (std::vector<NamedValues>{{"wte", {2}, {1, 2}}}));
}

TEST_F(WeightsTest, PaddedVocabulariesAreCutWhereAsked) {
  WriteText("m.map", "table  wte  vocabulary\n");
  WriteWeights("a.safetensors", {{"table", {4, 2}, Numbers(8, 1)}});
  const auto run = [&](const std::string& rows) {
    return Run({"export", Path("a.safetensors"), Path("b.safetensors"), "--map", Path("m.map"), "--vocabulary", rows});
  };
  EXPECT_EQ(run("5").err, "error: `--vocabulary 5` asks for more rows than `table`, which is [4, 2] has\n");
  EXPECT_TRUE(absl::StrContains(run("3").out, "without the last 1 row\n"));
  std::vector<float> first = Numbers(8, 1);
  first.resize(6);
  EXPECT_EQ(ReadWeights("b.safetensors"), (std::vector<NamedValues>{{"wte", {3, 2}, first}}));
}

TEST_F(WeightsTest, WhatNoLineMatchesKeepsItsName) {
  WriteText("m.map", "w.{i}  other.{i}\nb  bias\n-  mask\n");
  WriteWeights("a.safetensors", {{"other.1", {1}, {1}}, {"extra", {1}, {2}}, {"mask", {1}, {3}}});
  const std::vector<std::string> words = {"import", Path("a.safetensors"), Path("b.safetensors"), "--map",
                                          Path("m.map")};
  const Outcome refused = Run(words);
  EXPECT_EQ(refused.code, ExitCode::kModelWrong);
  EXPECT_EQ(
      refused.err,
      "error: `R/a.safetensors` is not what `R/m.map` describes, and nothing is written; `--partial` takes what is "
      "there\n"
      "  missing: `bias` (line 2)\n"
      "  not described: `extra`, which is [1]\n");
  EXPECT_FALSE(fs::exists(root_ / "b.safetensors"));
  std::vector<std::string> partial = words;
  partial.push_back("--partial");
  EXPECT_EQ(Run(partial).out,
            "tensor   shape  becomes  shape\n"
            "other.1  [1]    w.1      [1]\n"
            "extra    [1]    extra    [1]    no line of the mapping: keeps its name\n"
            "mask     [1]    -               not wanted (line 3)\n"
            "no tensor is called `bias` (line 2)\n"
            "2 tensors, 2 values, 8 bytes\n");
}

// What some layers have all must have, but where a line is optional.
TEST_F(WeightsTest, LayersThatLackATensorAreListed) {
  WriteWeights("a.safetensors", {{"h.0.q", {1}, {1}}, {"h.0.n", {1}, {2}}, {"h.1.q", {1}, {3}}, {"e.7", {1}, {4}}});
  const std::vector<std::string> in = {"import", Path("a.safetensors"), Path("b.safetensors"), "--map", Path("m.map")};
  WriteText("m.map", "x.{i}.{p}.w h.{i}.{p}\ny.{i}.n e.{i}\n");
  EXPECT_EQ(Run(in).err, "");
  fs::remove(root_ / "b.safetensors");
  WriteText("m.map", "x.{i}.q h.{i}.q\nx.{i}.norm h.{i}.n\ny.{i}.n e.{i}\n");
  EXPECT_TRUE(absl::EndsWith(Run(in).err, "\n  missing: `h.{i}.n` (line 2), for `x.1.norm`\n")) << Run(in).err;
  WriteText("m.map", "x.{i}.q h.{i}.q\nx.{i}.norm h.{i}.n optional\ny.{i}.n e.{i}\nb bias optional\n");
  EXPECT_EQ(Run(in).err, "");
}

// A mapping that has a name is taken in the case that the file has.
TEST_F(WeightsTest, TiedTablesAreOne) {
  std::vector<NamedValues> tensors = {{"model.embed_tokens.weight", {4, 2}, Numbers(8, 1)},
                                      {"model.norm.weight", {2}, {1, 2}}};
  const char* const kinds[] = {"input_layernorm",  "self_attn.q_proj", "self_attn.k_proj",
                               "self_attn.v_proj", "self_attn.o_proj", "post_attention_layernorm",
                               "mlp.gate_proj",    "mlp.up_proj",      "mlp.down_proj"};
  for (const char* const kind : kinds) {
    tensors.push_back({absl::StrCat("model.layers.0.", kind, ".weight"), {2, 2}, Numbers(4, 3)});
  }
  const auto first_name = [&](const std::string& config) {
    WriteWeights("a.safetensors", tensors);
    WriteText("config.json", config);
    const Outcome in = Run({"import", Path("a.safetensors"), Path("b.safetensors"), "--map", "llama", "--force"});
    if (in.code != ExitCode::kDone) return in.err;
    const std::vector<NamedValues> made = ReadWeights("b.safetensors");
    const bool is_tied =
        std::any_of(made.begin(), made.end(), [](const NamedValues& tensor) { return tensor.name == "table"; });
    return std::string(is_tied ? "tied" : "not tied");
  };
  EXPECT_EQ(first_name("{}"), "tied");
  EXPECT_TRUE(absl::StrContains(first_name(R"({"tie_word_embeddings": false})"), "missing: `lm_head.weight` (line"));
  tensors.push_back({"lm_head.weight", {4, 2}, Numbers(8, 1)});
  EXPECT_EQ(first_name("{}"), "not tied");
  EXPECT_EQ(first_name(R"({"tie_word_embeddings": true})"), "tied");
}

TEST_F(WeightsTest, MappingsThatDoNotFitAreRefused) {
  WriteWeights("a.safetensors", {{"a.1", {2}, {1, 2}}, {"b", {2}, {1, 2}}});
  const auto mistake = [&](const std::string& mapping) {
    WriteText("m.map", mapping);
    return Run({"export", Path("a.safetensors"), Path("b.safetensors"), "--map", Path("m.map")}).err;
  };
  EXPECT_EQ(mistake("x y\n"),
            "error: `R/m.map` fits no tensor of `R/a.safetensors`, which has `a.1` and `b`; it has names like `x`\n");
  EXPECT_EQ(mistake("a.{i} c.{i}\na.1 d\n"), "error: `a.1` is matched by line 1 and by line 2 of `R/m.map`\n");
  EXPECT_EQ(mistake("a.{i} b\n"), "error: line 1 of `R/m.map` has other numbers in braces in `a.{i}` than in `b`\n");
  EXPECT_EQ(mistake("a.1 c\nb c\n"), "error: `a.1` and `b` would both be called `c`\n");
  EXPECT_EQ(mistake("b a.1\n"), "error: `a.1` and `b` would both be called `a.1`\n");
  EXPECT_EQ(mistake("b c transposed\n"), "error: line 1 of `R/m.map` transposes `b`, which is [2]\n");
  WriteText("m.map", "x a.1\nx b\n");
  EXPECT_EQ(Run({"import", Path("a.safetensors"), Path("b.safetensors"), "--map", Path("m.map")}).err,
            "error: lines 1 and 2 of `R/m.map` both make `x`\n");
  WriteText("m.map", "x.{i} [y.]a.{i}\n");
  WriteWeights("a.safetensors", {{"a.1", {2}, {1, 2}}, {"y.a.1", {2}, {1, 2}}});
  EXPECT_EQ(Run({"import", Path("a.safetensors"), Path("b.safetensors"), "--map", Path("m.map")}).err,
            "error: `a.1` and `y.a.1` both become `x.1` by line 1 of `R/m.map`\n");
  EXPECT_FALSE(fs::exists(root_ / "b.safetensors"));
}

// Written by hand: whole numbers, and half precision.
TEST_F(WeightsTest, OtherTypesOfValues) {
  const std::string header =
      R"({"half":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},"steps":{"dtype":"I64","shape":[1],"data_offsets":[4,12]}})";
  std::string bytes(1, static_cast<char>(header.size()));
  bytes += std::string(7, '\0') + header + std::string("\x80\x3f\x00\x40", 4) + std::string(8, '\1');
  WriteText("a.safetensors", bytes);
  EXPECT_EQ(Run({"import", Path("a.safetensors"), Path("b.safetensors")}).out,
            "tensor  shape  becomes  shape\n"
            "half    [2]    half     [2]\n"
            "steps   [1]    -               values of type I64\n"
            "1 tensor, 2 values, 8 bytes\n");
  EXPECT_EQ(ReadWeights("b.safetensors"), (std::vector<NamedValues>{{"half", {2}, {1, 2}}}));
  WriteText("m.map", "x steps\n");
  EXPECT_EQ(Run({"import", Path("a.safetensors"), Path("c.safetensors"), "--map", Path("m.map")}).err,
            "error: `steps` has values of type I64; line 1 of `R/m.map` wants floating-point numbers: F32, F64, F16 or "
            "BF16\n");
  // The same values in another type are within any tolerance.
  WriteWeights("c.safetensors", {{"half", {2}, {1, 2}}});
  EXPECT_EQ(Run({"diff", Path("b.safetensors"), Path("c.safetensors")}).code, ExitCode::kDone);
  const Outcome types = Run({"diff", Path("c.safetensors"), Path("a.safetensors")});
  EXPECT_TRUE(absl::StrContains(types.out, "half    [2]    F32 and BF16, equal values\n")) << types.out;
  EXPECT_EQ(Run({"diff", Path("a.safetensors"), Path("a.safetensors")}).out,
            "the values of `steps (I64)` are not compared\n2 tensors: equal\n");
}

TEST_F(WeightsTest, ValuesAreRoundedToTheTypeThatIsAsked) {
  // Halfway between two numbers of bf16, above it, and what f16 has below 2^-14.
  WriteWeights("a.safetensors",
               {{"a", {5}, {1.00390625f, 1.01171875f, 1.00390637f, -3e-8f, 65519}}, {"b", {1}, {1e5}}});
  const Outcome bf16 = Run({"export", Path("a.safetensors"), Path("b.safetensors"), "--dtype", "bf16"});
  EXPECT_EQ(bf16.err, "");
  EXPECT_TRUE(absl::StrContains(bf16.out, "2 tensors, 6 values, 12 bytes\n")) << bf16.out;
  EXPECT_EQ(ReadWeights("b.safetensors"),
            (std::vector<NamedValues>{{"a", {5}, {1, 1.015625f, 1.0078125f, -3.00351530313491821e-8f, 65536}},
                                      {"b", {1}, {99840}}}));
  const Outcome f16 = Run({"export", Path("a.safetensors"), Path("c.safetensors"), "--dtype", "f16"});
  EXPECT_EQ(f16.code, ExitCode::kModelWrong);
  EXPECT_EQ(f16.err, "error: `b` has the value 100000, which is too large for F16\n");
  EXPECT_FALSE(fs::exists(root_ / "c.safetensors"));
  WriteWeights("a.safetensors", {{"a", {4}, {1.00390625f, -4e-8f, 65519, std::numeric_limits<float>::infinity()}}});
  EXPECT_EQ(Run({"export", Path("a.safetensors"), Path("c.safetensors"), "--dtype", "f16"}).err, "");
  EXPECT_EQ(
      ReadWeights("c.safetensors"),
      (std::vector<NamedValues>{{"a", {4}, {1.00390625f, -0x1p-24f, 65504, std::numeric_limits<float>::infinity()}}}));
  fs::create_directories(root_ / "arrays");
  EXPECT_EQ(Run({"export", Path("a.safetensors"), Path("arrays"), "--dtype", "f16"}).code, ExitCode::kUsage);
}

// A chunk of values is rounded at a time.
TEST_F(WeightsTest, ManyValuesAreRounded) {
  const size_t count = (size_t{1} << 20) + 3;
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 200);
  WriteWeights("a.safetensors", {{"a", {static_cast<int64_t>(count)}, values}});
  EXPECT_EQ(Run({"export", Path("a.safetensors"), Path("b.safetensors"), "--dtype", "bf16"}).err, "");
  EXPECT_EQ(ReadWeights("b.safetensors")[0].values, values);
}

// As save_pretrained of transformers divides: in order, and what is too large has its own file.
TEST_F(WeightsTest, LargeFilesAreDivided) {
  const std::vector<NamedValues> all = {{"a", {100}, Numbers(100, 1)}, {"b", {150}, Numbers(150, 2)},
                                        {"c", {600}, Numbers(600, 3)}, {"none", {0}, {}},
                                        {"d", {125}, Numbers(125, 4)}, {"e", {126}, Numbers(126, 5)}};
  WriteWeights("a.safetensors", all);
  fs::create_directories(root_ / "hf");
  const auto names = [&] {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(root_ / "hf")) found.push_back(entry.path().filename());
    return found;
  };
  const auto run = [&](const std::string& size, bool is_forced) {
    std::vector<std::string> words = {"export", Path("a.safetensors"), Path("hf/model.safetensors"), "--shard-size",
                                      size};
    if (is_forced) words.push_back("--force");
    return Run(words).err;
  };
  EXPECT_EQ(run("1KB", false), "");
  EXPECT_THAT(names(),
              testing::UnorderedElementsAre("model-00001-of-00004.safetensors", "model-00002-of-00004.safetensors",
                                            "model-00003-of-00004.safetensors", "model-00004-of-00004.safetensors",
                                            "model.safetensors.index.json"));
  EXPECT_EQ(ReadWeights("hf"), all);
  EXPECT_EQ(ReadWeights("hf/model-00001-of-00004.safetensors"), (std::vector<NamedValues>{all[0], all[1]}));
  EXPECT_EQ(ReadWeights("hf/model-00002-of-00004.safetensors"), (std::vector<NamedValues>{all[2], all[3]}));
  EXPECT_EQ(ReadWeights("hf/model-00003-of-00004.safetensors"), (std::vector<NamedValues>{all[4]}));
  std::ifstream index(root_ / "hf/model.safetensors.index.json");
  const std::string text((std::istreambuf_iterator<char>(index)), std::istreambuf_iterator<char>());
  EXPECT_TRUE(absl::StartsWith(
      text,
      R"({"metadata":{"total_parameters":1101,"total_size":4404},"weight_map":{"a":"model-00001-of-00004.safetensors",)"))
      << text;
  // One of the index and the file, so that whoever opens the folder finds the new one.
  EXPECT_EQ(run("1MB", false), "error: `R/hf/model.safetensors.index.json` exists; `--force` replaces it\n");
  EXPECT_EQ(run("1MB", true), "");
  EXPECT_FALSE(fs::exists(root_ / "hf/model.safetensors.index.json"));
  EXPECT_EQ(ReadWeights("hf/model.safetensors"), all);
  EXPECT_EQ(run("1KB", false), "error: `R/hf/model.safetensors` exists; `--force` replaces it\n");
  EXPECT_EQ(run("0.4KB", true), "");
  EXPECT_EQ(ReadWeights("hf"), all);
  for (const char* const size : {"0KB", "5", "GB", "5GiB", "-1GB", "nanGB", "9999999TB", "5 potatoes"}) {
    EXPECT_TRUE(absl::StrContains(run(size, true), "is not a size")) << size;
  }
}

TEST_F(WeightsTest, AFullDiskLeavesNoPart) {
  WriteWeights("a.safetensors", {{"a", {4096}, Numbers(4096, 1)}, {"b", {8192}, Numbers(8192, 2)}});
  struct rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const struct rlimit little = {20000, before.rlim_max};  // More than a file of `a`, and less than one of `b`.
  const auto old = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  const Outcome outcome = Run({"export", Path("a.safetensors"), Path("b.safetensors"), "--shard-size", "16.4KB"});
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, old);
  EXPECT_EQ(outcome.err, "error: cannot write `R/b-00002-of-00002.safetensors`: File too large\n");
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), fs::directory_iterator()), 1);
}

TEST_F(WeightsTest, Usage) {
  WriteWeights("a.safetensors", {{"a/b", {1}, {1}}});
  const auto mistake = [&](const std::vector<std::string>& words) {
    const Outcome outcome = Run(words);
    EXPECT_EQ(outcome.code, ExitCode::kUsage);
    return outcome.err.substr(0, outcome.err.find('\n'));
  };
  const std::string a = Path("a.safetensors");
  EXPECT_EQ(mistake({"list", a, a}), "error: unexpected `R/a.safetensors`");
  EXPECT_EQ(mistake({"diff", a}), "error: `diff` needs a TARGET");
  EXPECT_EQ(mistake({"list", a, "--force"}), "error: `list` takes no `--force`");
  EXPECT_EQ(mistake({"import", a, Path("b.safetensors"), "--dtype", "bf16"}), "error: `import` takes no `--dtype`");
  EXPECT_EQ(mistake({"import", a, Path("b.safetensors"), "--vocabulary", "3"}),
            "error: `import` takes no `--vocabulary`");
  for (const char* const action : {"export", "import"}) {
    EXPECT_EQ(mistake({action, a, Path("b")}), "error: `R/b` is neither a .safetensors file nor a folder that exists");
  }
  fs::create_directories(root_ / "folder.safetensors");
  EXPECT_EQ(mistake({"export", a, Path("folder.safetensors")}), "error: `R/folder.safetensors` is a folder");
  EXPECT_EQ(Run({"export", a, root_.string()}).err, "error: `a/b` is no name of a file\n");
  EXPECT_TRUE(absl::StrContains(mistake({"copy", a}), "`copy` is not `list`, `diff`, `export`, `import` or `merge`"));
}

}  // namespace
}  // namespace cleave::tools
