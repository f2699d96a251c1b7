#include "tests/examples/stored.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tests/support/command.h"

namespace cleave::tests {
namespace {

constexpr absl::string_view kPrompt = "$ ";

bool IsModel(const std::string& path) {
  return absl::EndsWith(path, ".model") && absl::StrContains("\n" + ReadText(path), "\nmodel ");
}

}  // namespace

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

std::vector<std::string> ModelsWithout(const std::vector<Stored>& all) {
  std::vector<std::string> without;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("examples")) {
    const std::string path = entry.path().string();
    const bool is_stored = std::any_of(all.begin(), all.end(), [&](const Stored& stored) {
      return std::find(stored.command.begin(), stored.command.end(), path) != stored.command.end();
    });
    if (!is_stored && IsModel(path)) without.push_back(path);
  }
  return without;
}

}  // namespace cleave::tests
