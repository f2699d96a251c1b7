// The commands that `cleave import` writes for a model, in README.md: each of them works.
#include <cstdlib>
#include <filesystem>
#include <regex>
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

// Runs the commands of the README.md in `out`, with ranks that are threads of a process, and few steps: how programs
// start is tested elsewhere. What they print.
std::vector<std::string> RunCommandsIn(const std::string& out) {
  const std::string cleave = DataPath("tools/cleave");
  const std::string path =
      absl::StrCat("PATH=", std::filesystem::path(cleave).parent_path().string(), ":", std::getenv("PATH"));
  std::vector<std::string> printed;
  for (const std::string& command : CommandsOf(ReadText(out + "/README.md"))) {
    const std::string shorter = absl::StrReplaceAll(
        command, {{"--launch mpirun", "--launch local --steps 2"},
                  {"--mode generate", "--mode generate --set precision=f32"},
                  {"./run.sh --params", "./run.sh --launch local --params"},
                  {"--prompt \"Once upon a time\" --length 40", "--quiet --prompt dh --length 10"}});
    const CommandResult result = RunCommand({"sh", "-ec", shorter}, out, {path, "BUILD_WORKING_DIRECTORY=" + out});
    EXPECT_EQ(result.exit_code, 0) << shorter << result.out << result.err;
    printed.push_back(result.out);
  }
  return printed;
}

void Import(const std::string& folder, const std::string& out, std::vector<std::string> more) {
  std::vector<std::string> words = {DataPath("tools/cleave"), "import", folder, "--out", out, "--name", "net"};
  words.insert(words.end(), more.begin(), more.end());
  const CommandResult imported = RunCommand(words);
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
}

TEST(Readme, ItsCommandsWork) {
  const std::string name = "llama3", out = FreshFolder("readme") + "/net";
  Import(DataPath("tests/import/folders/" + name), out, {});
  std::string numbers;
  for (int i = 0; i < 800; ++i) numbers += {static_cast<char>(i * i % 23), '\0'};
  WriteText(out + "/train.bin", numbers);
  const std::vector<std::string> printed = RunCommandsIn(out);
  ASSERT_EQ(printed.size(), 4u) << "training, generation, export, import";
  EXPECT_TRUE(absl::EndsWith(printed[1], TextOf(name) + "\n")) << printed[1];
  EXPECT_TRUE(tools::WeightSource::Open(out + "/tuned").ok());
  for (const std::string file : {"tokenizer.json", "generation_config.json"}) {
    EXPECT_EQ(ReadText(out + "/tuned/" + file),
              ReadText(DataPath(absl::StrCat("tests/import/folders/", name, "/", file))));
  }
}

// A model that does not go on with a text predicts.
TEST(Readme, ItsCommandsWorkForImages) {
  const std::string out = FreshFolder("images") + "/net";
  Import(DataPath("tests/import/folders/vit"), out, {});
  WriteText(out + "/net.model",
            absl::StrReplaceAll(ReadText(out + "/net.model"), {{"batch: int = 32", "batch: int = 4"}}));
  for (const std::string file : {"image", "label"}) {
    WriteText(absl::StrCat(out, "/", file, "s.npy"), ReadText(DataPath(absl::StrCat("tests/import/", file, ".npy"))));
  }
  ASSERT_EQ(RunCommandsIn(out).size(), 4u) << "training, prediction, export, import";
  EXPECT_TRUE(std::filesystem::exists(out + "/out/net_predict/logits.npy"));
  EXPECT_TRUE(tools::WeightSource::Open(out + "/tuned").ok());
}

// What a run prints, without what differs from run to run: numbers, their units, and where it runs.
std::string WithoutNumbers(const std::string& text, const std::string& folder) {
  const std::string moved = absl::StrReplaceAll(text, {{folder, "/home/you"}});
  return std::regex_replace(moved, std::regex("[0-9][0-9.,]*(e[-+][0-9]+)?( (us|ms|s|MB|KiB)\\b)?"), "#");
}

// Starts a server with the program of the page, asks it a question over HTTP and ends it.
constexpr char kAskServer[] = R"sh(
coproc SERVER { exec cleave serve out/chat --port 0 -- --params ../net/checkpoints; }
read -r line <&"${SERVER[0]}"
port=${line##*:}
server=$SERVER_PID
body='{"messages": [{"role": "user", "content": "Who are you?"}], "temperature": 0}'
exec 3<>"/dev/tcp/127.0.0.1/${port%/v1}"
printf 'POST /v1/chat/completions HTTP/1.1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s' ${#body} "$body" >&3
cat <&3
kill "$server"
wait "$server"
)sh";

// docs/fine_tuning.md: from a folder of Hugging Face and a file of conversations to a chat, and back. Its commands, as
// they are written, print what it says.
TEST(Readme, TheTenCommandsPrintWhatTheirPageSays) {
  const std::string root = FreshFolder("conversations"), example = DataPath("examples/tiny_chat");
  std::filesystem::copy(example + "/model", root + "/model", std::filesystem::copy_options::recursive);
  WriteText(root + "/chat.jsonl", ReadText(example + "/chat.jsonl"));
  const std::string cleave = DataPath("tools/cleave");
  const std::string path =
      absl::StrCat("PATH=", std::filesystem::path(cleave).parent_path().string(), ":", std::getenv("PATH"));
  const std::vector<std::string> parts = absl::StrSplit(ReadText(DataPath("docs/fine_tuning.md")), "```sh\n");
  ASSERT_EQ(parts.size(), 10u) << "the last of the ten is one of Python";
  for (size_t i = 1; i < parts.size(); ++i) {
    const std::vector<std::string> fences = absl::StrSplit(parts[i], "```");
    ASSERT_GE(fences.size(), 3u) << parts[i];
    const std::string folder = i == 1 ? root : root + "/net";
    const CommandResult result =
        RunCommand({"sh", "-ec", fences[0]}, folder, {path, "BUILD_WORKING_DIRECTORY=" + folder});
    EXPECT_EQ(result.exit_code, 0) << fences[0] << result.out << result.err;
    EXPECT_EQ("\n" + WithoutNumbers(result.out, root), WithoutNumbers(fences[2], root)) << fences[0] << result.err;
  }
  const CommandResult served = RunCommand({"bash", "-ec", kAskServer}, root + "/net", {path});
  EXPECT_EQ(served.exit_code, 0) << served.err;
  EXPECT_TRUE(absl::StrContains(served.out, "\"message\":{\"role\":\"assistant\",\"content\":\"A very small model.\"}"))
      << served.out << served.err;
  EXPECT_TRUE(tools::WeightSource::Open(root + "/net/tuned").ok());
  EXPECT_EQ(ReadText(root + "/net/tuned/tokenizer_config.json"), ReadText(root + "/model/tokenizer_config.json"));
}

// The page that an import of a model for chats writes has the same commands.
TEST(Readme, ItsCommandsForConversations) {
  const std::string out = FreshFolder("readme_of_chat") + "/net";
  Import(DataPath("examples/tiny_chat/model"), out, {"--chat"});
  const std::vector<std::string> commands = CommandsOf(ReadText(out + "/README.md"));
  ASSERT_EQ(commands.size(), 5u) << "data, training, generation, export, import";
  EXPECT_TRUE(absl::StrContains(commands[0], "cleave data chat chat.jsonl --tokenizer hugging_face --seq 256"))
      << commands[0];
  EXPECT_TRUE(absl::StrContains(commands[2], "--chat")) << commands[2];
}

// A folder of Hugging Face, the tokenizer of which has a chat template.
std::string FolderWithTemplate(const std::string& root) {
  const std::string source = root + "/source";
  std::filesystem::create_directories(source);
  for (const auto& file : std::filesystem::directory_iterator(DataPath("tests/import/folders/llama3"))) {
    WriteText(source + "/" + file.path().filename().string(), ReadText(file.path().string()));
  }
  WriteText(source + "/tokenizer_config.json",
            R"({"chat_template": "{% for message in messages %}{% if message.role == 'assistant' %}{% generation %})"
            R"({{ message.content }}{% endgeneration %}{% else %}{{ message.content }}{% endif %}{% endfor %}"})");
  return source;
}

TEST(Readme, ItsCommandsWorkForPairs) {
  const std::string root = FreshFolder("pairs"), source = FolderWithTemplate(root), out = root + "/net";
  Import(source, out, {"--dpo"});
  std::string pairs;
  for (const std::string answer : {"dhe", "ace", "bd", "hhh", "cab", "dad", "gab", "e"}) {
    absl::StrAppend(&pairs, R"({"prompt": "abcab", "chosen": ")", answer, R"(", "rejected": "hh"})", "\n");
  }
  WriteText(out + "/pairs.jsonl", pairs);
  const std::vector<std::string> printed = RunCommandsIn(out);
  ASSERT_EQ(printed.size(), 5u) << "data, reference, training, export, import";
  EXPECT_TRUE(absl::StrContains(printed[0], "--- pair 1, rejected\nabcab«hh»")) << printed[0];
  // Before anything is trained, nothing is preferred.
  EXPECT_TRUE(absl::StrContains(printed[2], "loss 0.69")) << printed[2];
  EXPECT_TRUE(tools::WeightSource::Open(out + "/tuned").ok());
}

}  // namespace
}  // namespace cleave::tests
