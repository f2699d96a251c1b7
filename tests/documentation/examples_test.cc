// Every example of the documentation that a reader could copy into a file: models are compiled into programs, and those
// with C++ files are built and run.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "tests/support/command.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

constexpr size_t kSteps = 5;

struct Block {
  std::string place;  // "docs/language.md:9", the line of its fence.
  std::string fence;  // "rust", "rust fragment", "cpp soft_cap.h"
  std::string text;

  bool IsModel() const { return fence == "rust"; }
  // The name of the C++ file that it is; empty if it is none.
  std::string CppFile() const { return absl::StartsWith(fence, "cpp ") ? fence.substr(4) : ""; }
  // Whether a line begins with `word`, as an item of a model file does.
  bool HasItem(const std::string& word) const { return absl::StrContains("\n" + text, absl::StrCat("\n", word, " ")); }
};

using Page = std::vector<Block>;

Page ReadPage(const std::string& path) {
  Page page;
  bool is_inside = false;
  int number = 0;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(ReadText(path), '\n'))) {
    ++number;
    if (absl::StartsWith(line, "```")) {
      is_inside = !is_inside;
      if (is_inside) page.push_back({.place = absl::StrCat(path, ":", number), .fence = line.substr(3), .text = ""});
    } else if (is_inside) {
      absl::StrAppend(&page.back().text, line, "\n");
    }
  }
  return page;
}

// README.md and the pages of //docs:pages. Those of diagnostic codes are tested as cases.
std::vector<Page> ReadPages() {
  std::vector<Page> pages = {ReadPage("README.md")};
  for (const auto& entry : std::filesystem::recursive_directory_iterator("docs")) {
    const std::string path = entry.path().string();
    if (absl::EndsWith(path, ".md")) pages.push_back(ReadPage(path));
  }
  return pages;
}

// A fresh folder with `model` as example.model, and the C++ files of its page.
std::string FolderOf(const Block& model, const Page& page) {
  const std::string folder = FreshFolder("example");
  WriteText(folder + "/example.model", model.text);
  for (const Block& block : page) {
    if (!block.CppFile().empty()) WriteText(absl::StrCat(folder, "/", block.CppFile()), block.text);
  }
  return folder;
}

TEST(ExamplesTest, FencesSayWhatTheBlocksAre) {
  for (const Page& page : ReadPages()) {
    for (const Block& block : page) {
      SCOPED_TRACE(block.place);
      if (absl::StartsWith(block.fence, "rust")) {
        EXPECT_EQ(block.fence, block.IsModel() ? "rust" : "rust fragment");
      }
      EXPECT_TRUE(!block.IsModel() || block.HasItem("model")) << "a whole file has a model";
      EXPECT_TRUE(block.IsModel() || !block.HasItem("model") || !block.HasItem("train")) << "this is a whole model";
      EXPECT_TRUE(!block.CppFile().empty() || !absl::StrContains(block.text, "#include \"runtime/custom/view.h\""))
          << "this is a whole header: its fence has the name of the file";
    }
  }
}

TEST(ExamplesTest, ModelsAreCompiledAndCppFilesBuiltAndRun) {
  int compiled_models = 0;
  int run = 0;
  for (const Page& page : ReadPages()) {
    for (const Block& model : page) {
      if (!model.IsModel()) continue;
      SCOPED_TRACE(model.place);
      const std::string folder = FolderOf(model, page);
      const bool has_cpp = std::any_of(page.begin(), page.end(), [&](const Block& file) {
        return !file.CppFile().empty() && absl::StrContains(model.text, absl::StrCat("\"", file.CppFile(), "\""));
      });
      if (!has_cpp) {
        const CommandResult compiled = Compile({"example.model", "--quiet"}, folder);
        EXPECT_EQ(compiled.exit_code, 0) << compiled.err;
        ++compiled_models;
        continue;
      }
      const TrainedModel trained = TrainModel(folder + "/example.model", {"--devices", "2"}, folder, kSteps);
      EXPECT_EQ(trained.diagnostics, "");
      EXPECT_EQ(trained.losses.size(), kSteps);
      ++run;
    }
  }
  EXPECT_GE(compiled_models, 16);
  EXPECT_GE(run, 1);
}

}  // namespace
}  // namespace cleave::tests
