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

// `loss`: of PyTorch, as tests/end_to_end/weights/README.md computes it.
void ExpectTheSameOutputs(const std::string& mapping, const std::string& model, std::vector<std::string> settings,
                          double loss) {
  const std::string folder = FreshFolder(mapping);
  const std::string cleave = DataPath("tools/cleave"), theirs = DataPath(kData + mapping + ".safetensors");
  for (const char* name : {"tokens.npy", "next.npy"}) WriteText(folder + "/" + name, ReadText(DataPath(kData + name)));
  WriteText(folder + "/net.model", ReadText(DataPath(model)));
  const CommandResult imported = RunCommand(
      {cleave, "weights", "import", theirs, folder + "/ours.safetensors", "--map", mapping, "--heads", "2"}, folder);
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_EQ(imported.out.find("no tensor is called"), std::string::npos) << imported.out;
  EXPECT_EQ(imported.out.find("keeps its name"), std::string::npos) << imported.out;

  std::vector<std::string> arguments = {"--devices", "2"};
  for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
  const TrainedModel trained = TrainModel(folder + "/net.model", arguments, folder, 1);
  ASSERT_EQ(trained.losses.size(), 1u) << trained.said;
  EXPECT_NEAR(trained.losses[0], loss, 1e-5);

  const std::string back = folder + "/back.safetensors";
  EXPECT_EQ(
      RunCommand({cleave, "weights", "export", folder + "/ours.safetensors", back, "--map", mapping, "--heads", "2"})
          .exit_code,
      0);
  const CommandResult diff = RunCommand({cleave, "weights", "diff", theirs, back});
  EXPECT_EQ(diff.exit_code, 0) << diff.out;
}

TEST(WeightsTest, Gpt2) {
  ExpectTheSameOutputs("gpt2", "bench/gpu/gpt2.model",
                       {"batch=3", "seq=4", "vocab=11", "width=8", "heads=2", "depth=2", "precision=f32", "epochs=1",
                        "data=npy(tokens = \"tokens.npy\", next = \"next.npy\")", "params=\"ours.safetensors\""},
                       2.6985960006713867);
}

TEST(WeightsTest, Llama) { ExpectTheSameOutputs("llama", kData + "llama.model", {}, 2.3958215713500977); }

}  // namespace
}  // namespace cleave::tests
