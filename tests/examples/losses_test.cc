// The losses with which each example begins to learn, on one rank and on several.
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "tests/examples/stored.h"
#include "tests/support/command.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

constexpr double kClose = 5e-3;  // Processors add up in different orders, and a relu then turns at another step.

// Of `cleave run MODEL …`: what is behind the model goes to the compiler.
std::vector<double> Trained(const std::vector<std::string>& command) {
  const std::string folder = FreshFolder("examples"), out = folder + "/out";
  std::vector<std::string> arguments = {std::filesystem::absolute(command[2]), "--out", out, "--quiet"};
  arguments.insert(arguments.end(), command.begin() + 3, command.end());
  const CommandResult compiled = Compile(arguments, folder);
  EXPECT_EQ(compiled.exit_code, 0) << compiled.err;
  const CommandResult built = MakeLocal(out);
  EXPECT_EQ(built.exit_code, 0) << built.err;
  const CommandResult ran = StartLocal(out);
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  std::vector<double> losses = ran.exit_code == 0 ? Losses(out) : std::vector<double>();
  std::filesystem::remove_all(folder);
  return losses;
}

std::vector<double> NumbersOf(const std::string& line) {
  std::vector<double> numbers;
  for (const absl::string_view word : absl::StrSplit(line, absl::ByAnyChar(" \n"), absl::SkipEmpty())) {
    EXPECT_TRUE(absl::SimpleAtod(word, &numbers.emplace_back())) << word;
  }
  return numbers;
}

TEST(LossesTest, AreThoseOfTheFile) {
  const auto write = [](std::string* text, double loss) { absl::StrAppendFormat(text, "%.6g", loss); };
  ExpectAllExamples("tests/examples/losses.txt");
  CheckStored(
      "tests/examples/losses.txt",
      [&](const Stored& stored) { return absl::StrCat(absl::StrJoin(Trained(stored.command), " ", write), "\n"); },
      [](const std::string& losses, const Stored& stored) {
        EXPECT_LE(LargestRelativeDifference(NumbersOf(losses), NumbersOf(stored.result)), kClose);
      });
}

}  // namespace
}  // namespace cleave::tests
