#include "tests/examples/stored.h"

#include <filesystem>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "tests/support/command.h"

namespace cleave::tests {
namespace {

constexpr absl::string_view kPrompt = "$ ";

bool IsModel(const std::string& path) {
  return absl::EndsWith(path, ".model") && absl::StrContains("\n" + ReadText(path), "\nmodel ");
}

std::vector<Stored> ReadStored(const std::string& path) {
  std::vector<Stored> all;
  for (const absl::string_view line : absl::StrSplit(ReadText(path), '\n')) {
    if (absl::StartsWith(line, kPrompt)) {
      all.push_back({.command = absl::StrSplit(line.substr(kPrompt.size()), ' '), .result = ""});
    } else if (!all.empty() && !line.empty()) {
      absl::StrAppend(&all.back().result, line, "\n");
    }
  }
  return all;
}

std::string StoredText(const std::vector<Stored>& all) {
  return absl::StrJoin(all, "\n", [](std::string* text, const Stored& stored) {
    absl::StrAppend(text, kPrompt, absl::StrJoin(stored.command, " "), "\n", stored.result);
  });
}

}  // namespace

std::vector<std::string> ExamplesWithout(const std::set<std::string>& paths) {
  std::vector<std::string> without;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("examples")) {
    const std::string path = entry.path().string();
    if (paths.count(path) == 0 && IsModel(path)) without.push_back(path);
  }
  return without;
}

void ExpectAllExamples(const std::string& path) {
  std::set<std::string> words;
  for (const Stored& stored : ReadStored(path)) words.insert(stored.command.begin(), stored.command.end());
  EXPECT_EQ(ExamplesWithout(words), std::vector<std::string>()) << "write `$ cleave ...` into " << path;
}

void CheckStored(const std::string& path, const std::function<std::string(const Stored&)>& run,
                 const std::function<void(const std::string& result, const Stored& stored)>& check) {
  std::vector<Stored> all = ReadStored(path);
  const std::optional<std::string> root = FolderToBless();
  for (Stored& stored : all) {
    SCOPED_TRACE(absl::StrJoin(stored.command, " "));
    std::string result = run(stored);
    if (!root.has_value()) check(result, stored);
    stored.result = std::move(result);
  }
  if (root.has_value()) WriteText(absl::StrCat(*root, "/", path), StoredText(all));
}

}  // namespace cleave::tests
