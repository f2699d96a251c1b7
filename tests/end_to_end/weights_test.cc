// Weights of PyTorch models in programs of this project: the same outputs, seen in the loss of the first step, which is
// computed before parameters change.
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "tests/support/command.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

const std::string kData = "tests/end_to_end/weights/";

struct Reference {
  std::string weights;  // NAME.safetensors, of PyTorch.
  std::string mapping;
  std::string model;
  std::vector<std::string> settings = {};
  double loss = 0;  // Of PyTorch, as tests/end_to_end/weights/README.md computes it.
  std::vector<std::string> data = {"tokens.npy", "next.npy"};
  std::string left_out = "";  // The end of the names of tensors that the mapping does not want.
  std::vector<std::string> ranks = {"1", "2"};
};

// That `theirs` has come `back`, but for what was not wanted.
void ExpectTheSameWeights(const std::string& theirs, const std::string& back, const std::string& left_out) {
  const CommandResult diff = RunCommand({DataPath("tools/cleave"), "weights", "diff", theirs, back});
  const std::vector<std::string> lines = absl::StrSplit(diff.out, '\n', absl::SkipEmpty());
  for (size_t i = 1; i + 1 < lines.size(); ++i) {  // Between the titles and the sum.
    const bool is_left_out =
        absl::StrContains(lines[i], left_out + " ") && absl::EndsWith(lines[i], "only in the first");
    EXPECT_TRUE(!left_out.empty() && is_left_out) << lines[i];
  }
  EXPECT_EQ(diff.exit_code, left_out.empty() ? 0 : 1) << diff.out << diff.err;
}

// Returns the file of the weights under our names.
std::string ExpectTheSameOutputs(const Reference& reference) {
  const std::string folder = FreshFolder(reference.weights);
  const std::string cleave = DataPath("tools/cleave"), theirs = DataPath(kData + reference.weights + ".safetensors");
  const std::string ours = folder + "/ours.safetensors", back = folder + "/back.safetensors";
  for (const std::string& name : reference.data) WriteText(folder + "/" + name, ReadText(DataPath(kData + name)));
  WriteText(folder + "/net.model", ReadText(DataPath(reference.model)));
  const std::vector<std::string> by = {"--map", reference.mapping, "--heads", "2"};
  const auto move = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {cleave, "weights"});
    words.insert(words.end(), by.begin(), by.end());
    return RunCommand(words, folder);
  };
  const CommandResult imported = move({"import", theirs, ours});
  EXPECT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_EQ(imported.out.find("no tensor is called"), std::string::npos) << imported.out;
  EXPECT_EQ(imported.out.find("keeps its name"), std::string::npos) << imported.out;

  for (const std::string& ranks : reference.ranks) {
    std::vector<std::string> arguments = {"--devices", ranks};
    for (const std::string& setting : reference.settings) arguments.insert(arguments.end(), {"--set", setting});
    const TrainedModel trained = TrainModel(folder + "/net.model", arguments, folder, 1);
    EXPECT_EQ(trained.losses.size(), 1u) << trained.said;
    if (!trained.losses.empty()) EXPECT_NEAR(trained.losses[0], reference.loss, 1e-5) << "on " << ranks;
  }

  EXPECT_EQ(move({"export", ours, back}).exit_code, 0);
  ExpectTheSameWeights(theirs, back, reference.left_out);
  return ours;
}

TEST(WeightsTest, Gpt2) {
  ExpectTheSameOutputs(
      {.weights = "gpt2",
       .mapping = "gpt2",
       .model = "bench/gpu/gpt2.model",
       .settings = {"batch=3", "seq=4", "vocab=11", "width=8", "heads=2", "depth=2", "precision=f32", "epochs=1",
                    "data=npy(tokens = \"tokens.npy\", next = \"next.npy\")", "params=\"ours.safetensors\""},
       .loss = 2.6985960006713867});
}

TEST(WeightsTest, Llama) {
  ExpectTheSameOutputs(
      {.weights = "llama", .mapping = "llama", .model = kData + "llama.model", .loss = 2.3958215713500977});
}

TEST(WeightsTest, LlamaWithSharedKeys) {
  ExpectTheSameOutputs({.weights = "llama_grouped",
                        .mapping = "llama",
                        .model = kData + "llama.model",
                        .settings = {"width=16", "heads=4", "key_heads=2"},
                        .loss = 3.0599286556243896,
                        .ranks = {"2"}});
}

// A program that predicts gives PyTorch's logits, on two ranks.
void ExpectLogits(const std::string& params) {
  const std::string folder = FreshFolder("resnet_predict"), expected = FreshFolder("resnet_logits");
  WriteText(folder + "/images.npy", ReadText(DataPath(kData + "images.npy")));
  WriteText(folder + "/net.model", ReadText(DataPath(kData + "resnet.model")));
  WriteText(expected + "/logits.npy", ReadText(DataPath(kData + "logits.npy")));
  const std::string cleave = DataPath("tools/cleave"), out = folder + "/out";
  const CommandResult compiled =
      RunCommand({cleave, "compile", folder + "/net.model", "--mode", "predict", "--output", "logits", "--devices", "2",
                  "--launch", "local", "--out", out, "--set", "data=npy(image = \"images.npy\")"},
                 folder);
  ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  const CommandResult built = MakeLocal(out);
  ASSERT_EQ(built.exit_code, 0) << built.err;
  const CommandResult ran = RunCommand({out + "/run.sh", "--params", params, "--quiet"}, folder);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const CommandResult diff = RunCommand({cleave, "weights", "diff", out, expected, "--tolerance", "1e-4"});
  EXPECT_EQ(diff.exit_code, 0) << diff.out << diff.err;
}

// In training by the statistics of the batch, and else by their running averages.
TEST(WeightsTest, ResNet) {
  std::vector<std::string> ours;
  for (const char* const name : {"resnet", "resnet_transformers"}) {
    ours.push_back(ExpectTheSameOutputs({.weights = name,
                                         .mapping = name,
                                         .model = kData + "resnet.model",
                                         .loss = 3.677091598510742,
                                         .data = {"images.npy", "labels.npy"},
                                         .left_out = ".num_batches_tracked",
                                         .ranks = {"2"}}));
  }
  ExpectTheSameWeights(ours[0], ours[1], /*left_out=*/"");
  ExpectLogits(ours[0]);
}

// However its sizes hang together, what is simulated is small.
TEST(WeightsTest, ResNet18OfImageNetIsProven) {
  for (const std::vector<std::string>& choice : std::vector<std::vector<std::string>>{
           {"--devices", "8", "--search", "data_parallel"},
           {"--devices", "8", "--search", "sapp"},
           {"--devices", "3", "--search", "sapp", "--set", "size=225"},
       }) {
    std::vector<std::string> arguments = {DataPath(kData + "resnet.model"), "--emit", "program", "--quiet"};
    for (const char* const setting :
         {"batch=64", "size=224", "classes=1000", "width=64", "stages=4", "data=synthetic()"}) {
      arguments.insert(arguments.end(), {"--set", setting});
    }
    arguments.insert(arguments.end(), choice.begin(), choice.end());
    const CommandResult compiled = Compile(arguments, FreshFolder("resnet18"));
    EXPECT_EQ(compiled.exit_code, 0) << absl::StrJoin(choice, " ") << "\n" << compiled.err;
  }
}

}  // namespace
}  // namespace cleave::tests
