// Tests that for any bytes Parse gives either a tree or at least one error, and never crashes.
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "dsl/parse/parse.h"
#include "dsl/syntax/print.h"

namespace cleave::dsl {
namespace {

std::string ReadTour() {
  std::ifstream file("dsl/parse/testdata/tour.model");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Checks the law and returns whether the text parsed.
bool CheckLaw(const std::string& text) {
  SourceSet sources;
  Diagnostics diagnostics;
  const std::optional<syntax::File> file = Parse(sources.Add("test.model", text), sources, diagnostics);
  EXPECT_EQ(file.has_value(), diagnostics.error_count() == 0) << text;
  // What fits of a text is all of one without mistakes. Once more takes long for a text that is long.
  if (text.size() < 10'000) {
    Diagnostics of_parts;
    const syntax::File fitting = ParseWhatFits(FileId(0), sources, of_parts);
    EXPECT_EQ(file.has_value(), of_parts.error_count() == 0) << text;
    const std::string shown = syntax::PrintTree(fitting);
    if (file) {
      EXPECT_EQ(shown, syntax::PrintTree(*file));
    }
  }
  EXPECT_LE(diagnostics.items().size(), 20u);
  for (const Diagnostic& diagnostic : diagnostics.items()) {
    EXPECT_FALSE(diagnostic.message.empty());
    for (const Label& label : diagnostic.labels) {
      EXPECT_LE(0, label.span.begin);
      EXPECT_LE(label.span.begin, label.span.end);
      EXPECT_LE(static_cast<size_t>(label.span.end), sources.file(*label.span.file).text().size());
    }
  }
  if (file) {
    EXPECT_EQ(syntax::PrintTree(*file).empty(), file->items.empty());
  }
  EXPECT_EQ(RenderText(diagnostics, sources).empty(), file.has_value());
  return file.has_value();
}

std::string RandomBytes(std::mt19937_64& random) {
  std::string bytes;
  for (uint64_t i = random() % 4; i > 0; --i) bytes += static_cast<char>(random() % 256);
  return bytes;
}

std::string RandomSign(std::mt19937_64& random) {
  static const char* const kSigns[] = {"(",   ")",    "[",   "]",       "{",         "}",     ";", ",",  "=",
                                       "..",  "#[",   "\"",  "//",      "/*",        "*/",    ":", "->", "let ",
                                       "fn ", "for ", "in ", "return ", "model M {", "loss ", "1", "1.", "40GB",
                                       "_",   "-",    "+",   "==",      "…",         "\n"};
  return kSigns[random() % std::size(kSigns)];
}

TEST(MutationTest, TheTourItselfParses) { EXPECT_TRUE(CheckLaw(ReadTour())); }

TEST(MutationTest, EveryPrefix) {
  const std::string tour = ReadTour();
  int parsed = 0;
  for (size_t length = 0; length <= tour.size(); length += 3) {
    SCOPED_TRACE(testing::Message() << "prefix of " << length << " bytes");
    parsed += CheckLaw(tour.substr(0, length)) ? 1 : 0;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(parsed, 5);  // Those that end between items or in a comment.
}

TEST(MutationTest, RandomEdits) {
  const std::string tour = ReadTour();
  int failed = 0;
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    std::string text = tour;
    for (uint64_t edits = 1 + random() % 4; edits > 0; --edits) {
      const size_t begin = random() % text.size();
      const size_t length = std::min<size_t>(random() % 8, text.size() - begin);
      text.replace(begin, length, random() % 3 == 0 ? RandomBytes(random) : RandomSign(random));
    }
    failed += CheckLaw(text) ? 0 : 1;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(failed, 700);
}

TEST(MutationTest, RandomSigns) {
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    std::string text = "model M {\n";
    for (uint64_t i = random() % 200; i > 0; --i) absl::StrAppend(&text, RandomSign(random), random() % 2 ? " " : "");
    CheckLaw(text);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(MutationTest, LongMonotonousTexts) {
  for (const char* part : {"(",  ")",  "[",  "{", "}", "-", "1+", "let ",      "fn ",         "#[a] ",           "x[0]",
                           "f(", "\"", "/*", "`", ";", "1", "_",  "model M {", "let x = ;\n", "for i in 0..1 {", "..",
                           "a=", "a,", "é"}) {
    SCOPED_TRACE(part);
    for (const char* head : {"", "model M { let x = ", "parallel { "}) {
      std::string text = head;
      for (int i = 0; i < 20'000; ++i) text += part;
      CheckLaw(text);
    }
  }
}

}  // namespace
}  // namespace cleave::dsl
