// A program with adapters: trained, interrupted and resumed, its adapter against that of PEFT, its merged weights in a
// model without adapters.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "tests/support/command.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

constexpr char kCase[] = "gpt2_dora";

std::vector<double> LossesOfPeft(const std::string& name) {
  std::vector<double> losses;
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(ReadText(DataPath("tests/adapters/peft.txt")), '\n'))) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    for (size_t i = 1; words[0] == name && i < words.size(); ++i) losses.push_back(std::stod(words[i]));
  }
  return losses;
}

TEST(TrainedTest, ResumedExportedAndMerged) {
  const std::string folder = FreshFolder("trained"), cleave = DataPath("tools/cleave");
  const std::string saved = DataPath(absl::StrCat("tests/adapters/folders/", kCase, "/start/adapter_config.json"));
  const std::string peft = saved.substr(0, saved.rfind("/start"));
  const std::string base = DataPath("tests/import/folders/gpt2/config.json");
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.begin(), cleave);
    const CommandResult result = RunCommand(words, folder);
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    return result;
  };
  for (const char* const input : {"tokens", "next"}) {
    WriteText(absl::StrCat(folder, "/", input, ".npy"),
              ReadText(DataPath(absl::StrCat("tests/import/", input, ".npy"))));
  }
  run({"import", base.substr(0, base.rfind('/')), "--out", "net", "--name", "net"});
  const std::vector<std::string> by = {"--map", "net/net.map", "--heads", "3"};
  const auto with_map = [&](std::vector<std::string> words) {
    words.insert(words.end(), by.begin(), by.end());
    return run(words);
  };
  with_map({"weights", "import", peft + "/start", "net/adapted.safetensors", "--base", "net/weights.safetensors"});
  std::vector<std::string> compile = {"compile", "net/net.model", "--devices", "2"};
  for (const char* const setting :
       {"batch=4", "seq=12", "data=npy(tokens = \"tokens.npy\", next = \"next.npy\")", "clip=1e9", "precision=f32",
        "optimizer=adamw(lr = 0.02, weight_decay = 0.0)", "steps=5", "log_every=1", "checkpoint=every(3)"}) {
    compile.insert(compile.end(), {"--set", setting});
  }
  const auto make = [&](const std::string& out, const std::vector<std::string>& settings) {
    std::vector<std::string> words = compile;
    for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
    words.insert(words.end(), {"--out", out});
    run(words);
    const CommandResult made = MakeLocal(absl::StrCat(folder, "/", out));
    EXPECT_EQ(made.exit_code, 0) << made.err;
  };
  make("adapted", {"adapt=dora(rank = 2, alpha = 4, on = (\"*.attn.*\", \"*.ffn.down.*\"))",
                   "params=\"net/adapted.safetensors\""});
  const std::string out = folder + "/adapted", checkpoints = out + "/checkpoints";
  EXPECT_EQ(StartLocal(out, {"--steps", "3"}).exit_code, 0);
  // What is not trained stays in the file.
  const std::string index = ReadText(checkpoints + "/step_3/checkpoint.json");
  EXPECT_TRUE(absl::StrContains(index, "net/adapted.safetensors\",\"beside\":\"../../net/adapted.safetensors\""))
      << index;
  const CommandResult resumed = StartLocal(out, {"--resume"});
  EXPECT_TRUE(absl::StrContains(resumed.out, "goes on after step 3\n")) << resumed.out << resumed.err;
  const std::vector<double> losses = Losses(out);
  const std::vector<double> expected = LossesOfPeft(kCase);
  EXPECT_EQ(expected.size(), 5u);
  EXPECT_LT(LargestRelativeDifference(losses, expected), 1e-5);

  with_map({"weights", "export", checkpoints, "back", "--adapter"});
  run({"weights", "diff", "back/adapter_model.safetensors", peft + "/trained/adapter_model.safetensors", "--tolerance",
       "1e-5"});

  // The loss of the first step is of the parameters as they are read.
  run({"weights", "merge", checkpoints, "merged.safetensors"});
  EXPECT_EQ(StartLocal(out, {"--params", checkpoints, "--steps", "1", "--checkpoints", folder + "/other"}).exit_code,
            0);
  const std::vector<double> adapted = Losses(out);
  make("plain", {"params=\"merged.safetensors\""});
  EXPECT_EQ(StartLocal(folder + "/plain", {"--steps", "1"}).exit_code, 0);
  const std::vector<double> plain = Losses(folder + "/plain");
  ASSERT_EQ(plain.size(), 1u);
  EXPECT_LT(plain[0], expected.back());
  EXPECT_LT(LargestRelativeDifference(plain, adapted), 1e-6);
}

// Frozen weights are bf16 there: read from a file, read again where training goes on, and divided among ranks.
TEST(TrainedTest, FrozenWeightsIn16Bits) {
  const std::string folder = FreshFolder("frozen"), cleave = DataPath("tools/cleave");
  const std::string config = DataPath("tests/adapters/folders/gpt2_lora/start/adapter_config.json");
  const std::string base = DataPath("tests/import/folders/gpt2/config.json");
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.begin(), cleave);
    const CommandResult result = RunCommand(words, folder);
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  };
  for (const char* const input : {"tokens", "next"}) {
    WriteText(absl::StrCat(folder, "/", input, ".npy"),
              ReadText(DataPath(absl::StrCat("tests/import/", input, ".npy"))));
  }
  run({"import", base.substr(0, base.rfind('/')), "--out", "net", "--name", "net"});
  run({"weights", "import", config.substr(0, config.rfind('/')), "net/adapted.safetensors", "--base",
       "net/weights.safetensors", "--map", "net/net.map", "--heads", "3"});
  std::vector<std::string> words = {"compile", "net/net.model", "--devices", "4", "--out", "out"};
  for (const char* const setting :
       {"batch=4", "seq=12", "data=npy(tokens = \"tokens.npy\", next = \"next.npy\")", "clip=1e9", "precision=bf16",
        "optimizer=adamw(lr = 0.02, weight_decay = 0.0)", "steps=5", "log_every=1", "checkpoint=every(3)", "zero=3",
        "adapt=lora(rank = 3, alpha = 6, on = (\"*.attn.qkv.*\", \"*.ffn.up.*\"))",
        "params=\"net/adapted.safetensors\""}) {
    words.insert(words.end(), {"--set", setting});
  }
  run(words);
  const std::string out = folder + "/out";
  EXPECT_TRUE(absl::StrContains(ReadText(out + "/program.cc"), "BFloat16* const attn_qkv_weight ="));
  EXPECT_EQ(MakeLocal(out).exit_code, 0);
  EXPECT_EQ(StartLocal(out, {"--checkpoint-every", "0"}).exit_code, 0);
  const std::vector<double> whole = Losses(out);
  EXPECT_LT(LargestRelativeDifference(whole, {3.455322504, 3.413399696, 3.372612238, 3.329561949, 3.285852432}), 3e-3);
  EXPECT_EQ(StartLocal(out, {"--steps", "3"}).exit_code, 0);
  EXPECT_EQ(StartLocal(out, {"--resume"}).exit_code, 0);
  EXPECT_LT(LargestRelativeDifference(Losses(out), whole), 1e-6);
  // The rounding of what is computed with is not saved: a checkpoint takes these weights from their file.
  run({"weights", "export", "out/checkpoints", "saved.safetensors"});
  run({"weights", "export", "out/checkpoints", "back", "--adapter", "--map", "net/net.map", "--heads", "3"});
  run({"weights", "import", "back", "again.safetensors", "--base", "net/weights.safetensors", "--map", "net/net.map",
       "--heads", "3"});
  run({"weights", "diff", "again.safetensors", "saved.safetensors"});
}

// Frozen matrices are numbers of 8 bits and scales there, made of the file by each rank, and sent as they are.
TEST(TrainedTest, FrozenWeightsIn8Bits) {
  const std::string folder = FreshFolder("in_8_bits"), cleave = DataPath("tools/cleave");
  const std::string config = DataPath("tests/adapters/folders/gpt2_lora/start/adapter_config.json");
  const std::string base = DataPath("tests/import/folders/gpt2/config.json");
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.begin(), cleave);
    const CommandResult result = RunCommand(words, folder);
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  };
  for (const char* const input : {"tokens", "next"}) {
    WriteText(absl::StrCat(folder, "/", input, ".npy"),
              ReadText(DataPath(absl::StrCat("tests/import/", input, ".npy"))));
  }
  run({"import", base.substr(0, base.rfind('/')), "--out", "net", "--name", "net"});
  run({"weights", "import", config.substr(0, config.rfind('/')), "net/adapted.safetensors", "--base",
       "net/weights.safetensors", "--map", "net/net.map", "--heads", "3"});
  std::vector<std::string> words = {"compile", "net/net.model", "--devices", "4", "--out", "out"};
  for (const char* const setting :
       {"batch=4", "seq=12", "data=npy(tokens = \"tokens.npy\", next = \"next.npy\")", "clip=1e9", "precision=f32",
        "optimizer=adamw(lr = 0.02, weight_decay = 0.0)", "steps=5", "log_every=1", "checkpoint=every(3)", "zero=3",
        "adapt=lora(rank = 3, alpha = 6, on = (\"*.attn.qkv.*\", \"*.ffn.up.*\"), frozen = i8)",
        "params=\"net/adapted.safetensors\""}) {
    words.insert(words.end(), {"--set", setting});
  }
  run(words);
  const std::string out = folder + "/out";
  EXPECT_TRUE(absl::StrContains(ReadText(out + "/program.cc"), "std::vector<Gathered<int8_t>>"));
  EXPECT_EQ(MakeLocal(out).exit_code, 0);
  EXPECT_EQ(StartLocal(out, {"--steps", "3"}).exit_code, 0);
  EXPECT_EQ(StartLocal(out, {"--resume"}).exit_code, 0);
  EXPECT_LT(LargestRelativeDifference(Losses(out), LossesOfPeft("gpt2_lora_i8")), 1e-5);
  // What is merged are the weights of the file.
  run({"weights", "export", "out/checkpoints", "saved.safetensors"});
  run({"weights", "export", "out/checkpoints", "back", "--adapter", "--map", "net/net.map", "--heads", "3"});
  run({"weights", "import", "back", "again.safetensors", "--base", "net/weights.safetensors", "--map", "net/net.map",
       "--heads", "3"});
  run({"weights", "diff", "again.safetensors", "saved.safetensors"});
}

}  // namespace
}  // namespace cleave::tests
