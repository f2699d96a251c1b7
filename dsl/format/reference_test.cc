// Every example of docs/language.md parses, and formatting it twice changes nothing.
#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "dsl/format/format.h"
#include "dsl/parse/parse.h"
#include "dsl/syntax/print.h"

namespace cleave::dsl {
namespace {

struct Example {
  int line = 0;  // Of its fence.
  bool is_fragment = false;
  std::string text;
};

std::vector<Example> ReadExamples() {
  std::ifstream page("docs/language.md");
  std::vector<Example> examples;
  std::string line;
  bool is_inside = false;
  for (int number = 1; std::getline(page, line); ++number) {
    if (is_inside && line == "```") {
      is_inside = false;
    } else if (is_inside) {
      absl::StrAppend(&examples.back().text, line, "\n");
    } else if (line == "```rust" || line == "```rust fragment") {
      is_inside = true;
      examples.push_back({.line = number, .is_fragment = line != "```rust", .text = ""});
    }
  }
  return examples;
}

std::optional<syntax::File> TryParse(const std::string& text, std::string& errors) {
  SourceSet sources;
  Diagnostics diagnostics;
  std::optional<syntax::File> file = Parse(sources.Add("example.model", text), sources, diagnostics);
  errors = RenderText(diagnostics, sources);
  return file;
}

void CheckFormat(const syntax::File& file) {
  const std::string text = Format(file);
  std::string errors;
  const std::optional<syntax::File> again = TryParse(text, errors);
  ASSERT_TRUE(again.has_value()) << errors;
  EXPECT_EQ(syntax::PrintTree(*again), syntax::PrintTree(file));
  EXPECT_EQ(Format(*again), text);
}

TEST(ReferenceTest, EveryExampleParsesAndFormats) {
  const std::vector<Example> examples = ReadExamples();
  EXPECT_GE(examples.size(), 15u);
  for (const Example& example : examples) {
    SCOPED_TRACE(absl::StrCat("docs/language.md:", example.line));
    std::string errors;
    std::optional<syntax::File> file = TryParse(example.text, errors);
    if (!file && example.is_fragment) file = TryParse(absl::StrCat("fn body() {\n", example.text, "}\n"), errors);
    if (!file && example.is_fragment) file = TryParse(absl::StrCat("parallel {\n", example.text, "}\n"), errors);
    ASSERT_TRUE(file.has_value()) << errors;
    CheckFormat(*file);
  }
}

}  // namespace
}  // namespace cleave::dsl
