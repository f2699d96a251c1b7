// What is wrong with a checkpoint or its folder is said, and the last good one is used or left as it is.

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "runtime/digest/digest.h"
#include "tests/end_to_end/resuming.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

namespace fs = std::filesystem;

constexpr int kUsage = 2;
constexpr int kInput = 3;
constexpr int kEnvironment = 5;

using Names = std::vector<std::string>;

// Checkpoints of steps 4 and 8 by two ranks. `out`: a folder of this name.
std::string Saved(const std::string& name) {
  const std::string out = FreshFolder(name);
  const CommandResult ran = Train(OnTwoRanks(), out, "--quiet --checkpoint-every 4 --steps 8");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(NamesIn(out + "/checkpoints"), (Names{"step_4", "step_8"}));
  return out;
}

void ExpectRefused(const CommandResult& ran, int code, const std::vector<std::string>& said) {
  EXPECT_EQ(ran.exit_code, code) << ran.out << ran.err;
  for (const std::string& text : said) EXPECT_TRUE(absl::StrContains(ran.err, text)) << text << " in " << ran.err;
  EXPECT_EQ(ran.err.rfind("error: ", 0), 0u) << ran.err;
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

void FlipByte(const std::string& path, size_t from_end) {
  std::string content = ReadText(path);
  content[content.size() - from_end] ^= 1;
  WriteText(path, content);
}

TEST(BadCheckpoints, NoneIsThere) {
  const std::string out = FreshFolder("none");
  ExpectRefused(Train(OnTwoRanks(), out, "--resume"), kInput, {absl::StrCat("no checkpoint is in `", out)});
  ExpectRefused(Train(OnTwoRanks(), out, "--resume /nowhere"), kInput, {"no checkpoint is in `/nowhere`"});
}

TEST(BadCheckpoints, OfAnotherModel) {
  const LocalProgram wider =
      BuildLocal("wider", "tests/end_to_end/resumed.model",
                 {"--devices", "1", "--set", "width=23", "--set", "optimizer=momentum(lr = 0.1, momentum = 0.9)"});
  const std::string out = Saved("another");
  const std::string metrics = ReadText(out + "/metrics.jsonl");
  ExpectRefused(
      Train(wider, out, "--resume"), kInput,
      {"/checkpoints/step_8` is of another model (Resumed)", "`h.weight` is [257, 19] there and [257, 23] here",
       "it does not have `h.weight.momentum`", "this program does not have ", "more"});
  EXPECT_EQ(NamesIn(out + "/checkpoints"), (Names{"step_4", "step_8"}));
  EXPECT_EQ(ReadText(out + "/metrics.jsonl"), metrics);
}

// The files of the checkpoint that is asked for.
TEST(BadCheckpoints, CutEmptyAndMissingFiles) {
  const std::string checkpoint = Saved("cut") + "/checkpoints/step_8";
  const std::string flags = absl::StrCat("--resume ", checkpoint);
  const std::string out = FreshFolder("cut_out");
  for (const std::string name : {"checkpoint.json", "rank_0.safetensors", "rank_1.safetensors"}) {
    const std::string path = checkpoint + "/" + name;
    const std::string content = ReadText(path);
    for (const size_t length : {size_t{0}, content.size() / 2, content.size() - 1}) {
      SCOPED_TRACE(absl::StrCat(name, " of ", length, " bytes"));
      WriteText(path, content.substr(0, length));
      ExpectRefused(Train(OnTwoRanks(), out, flags), kInput, {path});
      ExpectRefused(Train(OnOneRank(), out, flags), kInput, {path});
    }
    fs::remove(path);
    // Without its index it is no checkpoint.
    ExpectRefused(Train(OnTwoRanks(), out, flags), kInput, {name == "checkpoint.json" ? checkpoint : path});
    WriteText(path, content);
  }
  EXPECT_EQ(Train(OnTwoRanks(), out, flags).exit_code, 0);
}

TEST(BadCheckpoints, OfALaterFormat) {
  const std::string out = Saved("format");
  const std::string path = out + "/checkpoints/step_8/checkpoint.json";
  const std::string text = ReadText(path);
  const std::string end = ",\"digest\":\"";
  const std::string body = absl::StrReplaceAll(text.substr(0, text.rfind(end)), {{"\"format\":1", "\"format\":3"}});
  WriteText(path, absl::StrCat(body, end, runtime::DigestOf(body.data(), static_cast<int64_t>(body.size())), "\"}\n"));
  ExpectRefused(Train(OnTwoRanks(), out, absl::StrCat("--resume ", out, "/checkpoints/step_8")), kInput,
                {path, "has format 3, and this program reads 1 and 2"});
}

// The one before it is used, the story is told once, and what is damaged is set aside.
TEST(BadCheckpoints, ADamagedOneIsPassedOver) {
  const std::string out = Saved("damaged");
  FlipByte(out + "/checkpoints/step_8/rank_1.safetensors", 100);
  const CommandResult ran = Train(OnTwoRanks(), out, "--quiet --resume --checkpoint-every 4 --keep 9");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(Count(ran.err, "step_8/rank_1.safetensors` is damaged"), 1u) << ran.err;
  EXPECT_EQ(Count(ran.err, "step_4`, the last good checkpoint, is used"), 1u) << ran.err;
  EXPECT_EQ(Count(ran.err, "\n"), 2u) << ran.err;
  EXPECT_EQ(NamesIn(out + "/checkpoints"),
            (Names{"step_12", "step_16", "step_20", "step_21", "step_4", "step_8", "step_8.set_aside"}));
  EXPECT_EQ(Losses(out).size(), 21u);
}

TEST(BadCheckpoints, NoneIsGood) {
  const std::string out = Saved("all_damaged");
  FlipByte(out + "/checkpoints/step_8/checkpoint.json", 100);
  FlipByte(out + "/checkpoints/step_4/rank_0.safetensors", 5);
  ExpectRefused(Train(OnTwoRanks(), out, "--quiet --resume"), kInput,
                {"step_8/checkpoint.json` is damaged or cut", "step_4/rank_0.safetensors` is damaged"});
  EXPECT_EQ(NamesIn(out + "/checkpoints"), (Names{"step_4", "step_8"}));
}

TEST(BadCheckpoints, TrainingAnewDoesNotTouchThem) {
  const std::string out = Saved("anew");
  const std::string metrics = ReadText(out + "/metrics.jsonl");
  ExpectRefused(Train(OnTwoRanks(), out, "--checkpoint-every 4"), kUsage,
                {"has checkpoints of earlier training, up to step 8", "`--resume`"});
  EXPECT_EQ(NamesIn(out + "/checkpoints"), (Names{"step_4", "step_8"}));
  EXPECT_EQ(ReadText(out + "/metrics.jsonl"), metrics);
  // Training that saves nothing has no use for the folder.
  EXPECT_EQ(Train(OnTwoRanks(), out, "--checkpoint-every 0 --steps 1").exit_code, 0);
  EXPECT_EQ(NamesIn(out + "/checkpoints"), (Names{"step_4", "step_8"}));
}

TEST(BadCheckpoints, LaterOnesAreSetAside) {
  const std::string out = Saved("later");
  const CommandResult ran =
      Train(OnTwoRanks(), out, absl::StrCat("--checkpoint-every 3 --keep 1 --resume ", out, "/checkpoints/step_4"));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_TRUE(absl::StrContains(ran.out, "step_8` is set aside\n")) << ran.out;
  EXPECT_EQ(NamesIn(out + "/checkpoints"), (Names{"step_21", "step_8.set_aside"}));
}

TEST(BadCheckpoints, NothingIsLeftToTrain) {
  const std::string out = FreshFolder("done");
  ASSERT_EQ(Train(OnTwoRanks(), out, "--quiet --checkpoint-every 0 --keep 1").exit_code, 0);
  EXPECT_FALSE(fs::exists(out + "/checkpoints"));
  const CommandResult trained = Train(OnTwoRanks(), out, "--checkpoint-every 100");
  const std::string metrics = ReadText(out + "/metrics.jsonl");
  const CommandResult ran = Train(OnTwoRanks(), out, "--resume");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_TRUE(absl::StrContains(ran.out, "all 21 steps are done")) << ran.out;
  // It is tested again.
  const std::string test = trained.out.substr(trained.out.rfind("epoch 2 | test"), 30);
  EXPECT_TRUE(absl::StrContains(ran.out, test)) << ran.out;
  EXPECT_EQ(ReadText(out + "/metrics.jsonl"), metrics);
}

// A rank's file may not become as large as it has to: what a full disk does, too.
TEST(BadCheckpoints, FullDisk) {
  const std::string out = Saved("full");
  const std::string limit = "trap '' XFSZ; ulimit -f 100;";
  ExpectRefused(Train(OnTwoRanks(), out, "--quiet --resume --checkpoint-every 4", limit), kEnvironment,
                {"cannot write `", "step_12.unfinished/rank_", "File too large",
                 absl::StrCat("the last good checkpoint is `", out, "/checkpoints/step_8`")});
  EXPECT_EQ(NamesIn(out + "/checkpoints"), (Names{"step_4", "step_8"}));
  EXPECT_EQ(Train(OnTwoRanks(), out, "--quiet --resume").exit_code, 0);
  ExpectRefused(Train(OnTwoRanks(), FreshFolder("full_anew"), "--quiet --checkpoint-every 4", limit), kEnvironment,
                {"step_4.unfinished/rank_", "File too large", "this run has saved nothing before"});
}

TEST(BadCheckpoints, AnotherJobUsesTheFolder) {
  const std::string out = FreshFolder("shared");
  const std::string second = absl::StrCat("exec 9>>", out, "/.cleave_lock; flock -x 9;");
  ExpectRefused(
      Train(OnTwoRanks(), out + "/own", absl::StrCat("--quiet --checkpoint-every 4 --checkpoints ", out), second),
      kEnvironment, {absl::StrCat("another job uses the folder `", out, "`")});
  // It may be the folder of the other files.
  EXPECT_EQ(Train(OnTwoRanks(), out, absl::StrCat("--quiet --checkpoint-every 4 --checkpoints ", out, "/.")).exit_code,
            0);
}

TEST(BadCheckpoints, AFolderThatCannotBeWritten) {
  const std::string out = FreshFolder("unwritable");
  WriteText(out + "/file", "");
  ExpectRefused(Train(OnTwoRanks(), out, "--quiet --checkpoint-every 4 --checkpoints /proc/none"), kEnvironment,
                {"cannot write to the folder `/proc/none`: No such file or directory"});
  ExpectRefused(Train(OnTwoRanks(), out, absl::StrCat("--quiet --checkpoint-every 4 --checkpoints ", out, "/file")),
                kEnvironment, {"/file`: Not a directory"});
  // Before anything is trained.
  EXPECT_EQ(ReadText(out + "/metrics.jsonl"), "");
}

}  // namespace
}  // namespace cleave::tests
