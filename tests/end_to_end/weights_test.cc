// Weights of PyTorch models in programs of this project: the same outputs, seen in the loss of the first step, which is
// computed before parameters change.
#include <cmath>
#include <string>
#include <vector>

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
};

void ExpectTheSameOutputs(const Reference& reference) {
  const std::string folder = FreshFolder(reference.weights);
  const std::string cleave = DataPath("tools/cleave"), theirs = DataPath(kData + reference.weights + ".safetensors");
  const std::string ours = folder + "/ours.safetensors", back = folder + "/back.safetensors";
  for (const char* name : {"tokens.npy", "next.npy"}) WriteText(folder + "/" + name, ReadText(DataPath(kData + name)));
  WriteText(folder + "/net.model", ReadText(DataPath(reference.model)));
  const std::vector<std::string> by = {"--map", reference.mapping, "--heads", "2"};
  const auto move = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {cleave, "weights"});
    words.insert(words.end(), by.begin(), by.end());
    return RunCommand(words, folder);
  };
  const CommandResult imported = move({"import", theirs, ours});
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_EQ(imported.out.find("no tensor is called"), std::string::npos) << imported.out;
  EXPECT_EQ(imported.out.find("keeps its name"), std::string::npos) << imported.out;

  for (const char* const ranks : {"1", "2"}) {
    std::vector<std::string> arguments = {"--devices", ranks};
    for (const std::string& setting : reference.settings) arguments.insert(arguments.end(), {"--set", setting});
    const TrainedModel trained = TrainModel(folder + "/net.model", arguments, folder, 1);
    ASSERT_EQ(trained.losses.size(), 1u) << trained.said;
    EXPECT_NEAR(trained.losses[0], reference.loss, 1e-5) << "on " << ranks;
  }

  EXPECT_EQ(move({"export", ours, back}).exit_code, 0);
  const CommandResult diff = RunCommand({cleave, "weights", "diff", theirs, back});
  EXPECT_EQ(diff.exit_code, 0) << diff.out;
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
                        .loss = 3.0599286556243896});
}

}  // namespace
}  // namespace cleave::tests
