// docs/data.md: its commands make arrays of conversations, and its model learns from them what the assistant says, and
// nothing else.
#include <cmath>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "tests/support/command.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

constexpr size_t kSteps = 60;

// The first block with this fence.
std::string BlockOf(const std::string& page, const std::string& fence) {
  const std::vector<std::string> parts = absl::StrSplit(page, absl::MaxSplits(absl::StrCat("```", fence, "\n"), 1));
  const std::vector<std::string> block = absl::StrSplit(parts.at(1), absl::MaxSplits("```", 1));
  return block[0];
}

// A token for each small letter, and for `:` and the end.
void WriteTokenizer(const std::string& folder) {
  std::string vocabulary = R"(":":0,"</s>":1)";
  for (char c = 'a'; c <= 'z'; ++c) absl::StrAppend(&vocabulary, ",\"", std::string(1, c), "\":", c - 'a' + 2);
  WriteText(
      folder + "/tokenizer.json",
      absl::StrCat(R"({"version":"1.0","added_tokens":[{"id":1,"content":"</s>","single_word":false,"lstrip":false,)",
                   R"("rstrip":false,"normalized":false,"special":true}],"decoder":{"type":"Fuse"},)",
                   R"("model":{"type":"BPE","merges":[],"vocab":{)", vocabulary, "}}}"));
  WriteText(folder + "/tokenizer_config.json", R"({"eos_token": "</s>"})");
  WriteText(folder + "/chat_template.jinja",
            "{% for m in messages %}{{ m.role[0] ~ ':' ~ m.content ~ eos_token }}{% endfor %}"
            "{% if add_generation_prompt %}{{ 'a:' }}{% endif %}");
}

// Users write what nobody can predict; the assistant always says the same.
void WriteConversations(const std::string& path) {
  std::mt19937 random(1);
  std::string lines;
  for (int i = 0; i < 300; ++i) {
    std::string asked;
    for (int letter = 0; letter < 8; ++letter) asked += static_cast<char>('a' + random() % 26);
    absl::StrAppend(&lines, "{\"prompt\": \"", asked, "\", \"completion\": \"yes\"}\n");
  }
  WriteText(path, lines);
}

TEST(ChatDataTest, OnlyWhatTheAssistantSaysIsLearned) {
  const std::string page = ReadText("docs/data.md"), folder = FreshFolder("chat_data"),
                    cleave = DataPath("tools/cleave");
  std::filesystem::create_directories(folder + "/tok");
  WriteTokenizer(folder + "/tok");
  WriteConversations(folder + "/chat.jsonl");
  WriteText(folder + "/chat.model", BlockOf(page, "rust"));
  const std::string path =
      absl::StrCat("PATH=", std::filesystem::path(cleave).parent_path().string(), ":", std::getenv("PATH"));
  const CommandResult made =
      RunCommand({"sh", "-ec", BlockOf(page, "sh")}, folder, {path, "BUILD_WORKING_DIRECTORY=" + folder});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  // 17 places each, three in a row of 64; 2 % of 300 are for testing.
  EXPECT_NE(made.out.find("98 rows of 64 tokens: 294 samples, 4,998 tokens, of which 23.5 % are learned"),
            std::string::npos)
      << made.out;
  EXPECT_NE(made.out.find("2 rows for testing"), std::string::npos) << made.out;
  EXPECT_NE(made.out.find("</s>a:«yes</s>»\n--- row 1, document 2"), std::string::npos) << made.out;

  std::vector<std::vector<double>> losses;
  for (const char* const devices : {"1", "2"}) {
    const std::string own = FreshFolder(absl::StrCat("chat_data_", devices));
    std::filesystem::create_directory_symlink(folder + "/chat", own + "/chat");
    WriteText(own + "/chat.model", BlockOf(page, "rust"));
    losses.push_back(TrainModel(own + "/chat.model", {"--devices", devices}, own, kSteps).losses);
    ASSERT_EQ(losses.back().size(), kSteps);
  }
  // A letter of a user alone would keep it at a quarter of log(26).
  EXPECT_GT(losses[0].front(), 1);
  EXPECT_LT(losses[0].back(), 0.1);
  for (size_t step = 0; step < 10; ++step)
    EXPECT_NEAR(losses[0][step], losses[1][step], 1e-3 * losses[0][step]) << step;
}

}  // namespace
}  // namespace cleave::tests
