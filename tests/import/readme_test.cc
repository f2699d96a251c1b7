// The commands that `cleave import` writes for a model, in README.md: each of them works.
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "tests/support/command.h"
#include "tools/weights/source.h"

namespace cleave::tests {
namespace {

std::vector<std::string> CommandsOf(const std::string& readme) {
  std::vector<std::string> blocks;
  const std::vector<std::string> parts = absl::StrSplit(readme, "```sh\n");
  for (size_t i = 1; i < parts.size(); ++i) {
    const std::vector<std::string> ends = absl::StrSplit(parts[i], absl::MaxSplits("```", 1));
    blocks.push_back(ends[0]);
  }
  return blocks;
}

// The tokens that PyTorch gives (pytorch.txt), as the letters that the tokenizer of the folder has for them, up to one
// that ends a text by its generation_config.json.
std::string TextOf(const std::string& name) {
  std::string text;
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(ReadText("tests/import/pytorch.txt"), '\n', absl::SkipEmpty()))) {
    if (!absl::StartsWith(line, name + " ")) continue;
    std::stringstream tokens(line.substr(line.find(';') + 1));
    for (int token; tokens >> token && token != 1 && token != 9;) text += static_cast<char>('a' + token);
  }
  return text;
}

// With ranks that are threads of a process, and few steps: how programs start is tested elsewhere.
TEST(Readme, ItsCommandsWork) {
  const std::string name = "llama3", out = FreshFolder("readme") + "/net", cleave = DataPath("tools/cleave");
  const std::string path =
      absl::StrCat("PATH=", std::filesystem::path(cleave).parent_path().string(), ":", std::getenv("PATH"));
  const CommandResult imported =
      RunCommand({cleave, "import", DataPath("tests/import/folders/" + name), "--out", out, "--name", "net"});
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  std::string numbers;
  for (int i = 0; i < 800; ++i) numbers += {static_cast<char>(i * i % 23), '\0'};
  WriteText(out + "/train.bin", numbers);
  const std::vector<std::string> commands = CommandsOf(ReadText(out + "/README.md"));
  ASSERT_EQ(commands.size(), 4u) << "training, generation, export, import";
  for (size_t i = 0; i < commands.size(); ++i) {
    const std::string shorter = absl::StrReplaceAll(
        commands[i], {{"--launch mpirun", "--launch local --steps 2"},
                      {"--mode generate", "--mode generate --set precision=f32"},
                      {"./run.sh --params", "./run.sh --launch local --params"},
                      {"--prompt \"Once upon a time\" --length 40", "--quiet --prompt dh --length 10"}});
    const CommandResult result = RunCommand({"sh", "-ec", shorter}, out, {path, "BUILD_WORKING_DIRECTORY=" + out});
    EXPECT_EQ(result.exit_code, 0) << shorter << result.out << result.err;
    if (i == 1) EXPECT_TRUE(absl::EndsWith(result.out, TextOf(name) + "\n")) << result.out;
  }
  EXPECT_TRUE(tools::WeightSource::Open(out + "/tuned").ok());
  for (const std::string file : {"tokenizer.json", "generation_config.json"}) {
    EXPECT_EQ(ReadText(out + "/tuned/" + file),
              ReadText(DataPath(absl::StrCat("tests/import/folders/", name, "/", file))));
  }
}

}  // namespace
}  // namespace cleave::tests
