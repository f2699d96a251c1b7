// Tests the laws of the formatter, on random trees and on random layouts of their text.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "dsl/format/format.h"
#include "dsl/format/random_tree.h"
#include "dsl/parse/parse.h"
#include "dsl/syntax/print.h"

namespace cleave::dsl {
namespace {

constexpr int kTrees = 250;

syntax::File MustParse(const std::string& text) {
  SourceSet sources;
  Diagnostics diagnostics;
  std::optional<syntax::File> file = Parse(sources.Add("test.model", text), sources, diagnostics);
  EXPECT_TRUE(file.has_value()) << RenderText(diagnostics, sources) << "in\n" << text;
  return file.value_or(syntax::File{});
}

// Runs `law` on trees of growing size and stops at the first that breaks it, which is the smallest tried.
template <typename Law>
void ForRandomTrees(Law law) {
  for (uint64_t seed = 1; seed <= kTrees; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    law(RandomTree(seed, static_cast<int>(seed / 50)), seed);
    if (testing::Test::HasFailure()) return;
  }
}

// The same tokens with other space: every space and newline of `text` outside of strings becomes a random run of space
// and comments.
std::string Scatter(const std::string& text, uint64_t seed, int percent_comments) {
  static const char* const kSpaces[] = {" ", "\n", "\n\n\n", "\t ", " \n "};
  static const char* const kComments[] = {" // end of line\n", "\n    // own line\n", " /* inside */ ",
                                          "\n\n/* two\n lines */\n"};
  std::mt19937_64 random(seed);
  std::string scattered;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char character = text[i];
    if (in_string && character == '\\') {
      scattered += character;
      scattered += text[++i];
      continue;
    }
    if (character == '"') in_string = !in_string;
    if (in_string || (character != ' ' && character != '\n')) {
      scattered += character;
    } else if (random() % 100 < static_cast<uint64_t>(percent_comments)) {
      scattered += kComments[random() % std::size(kComments)];
    } else {
      scattered += kSpaces[random() % std::size(kSpaces)];
    }
  }
  return scattered;
}

size_t CountComments(const syntax::File& file) { return file.comments.size(); }

TEST(FormatLawTest, ParsingFormattedTextGivesTheSameTree) {
  ForRandomTrees([](const syntax::File& tree, uint64_t) {
    const std::string text = Format(tree);
    EXPECT_EQ(syntax::PrintTree(MustParse(text)), syntax::PrintTree(tree)) << text;
  });
}

TEST(FormatLawTest, FormattingTwiceChangesNothing) {
  ForRandomTrees([](const syntax::File& tree, uint64_t) {
    const std::string text = Format(tree);
    EXPECT_EQ(Format(MustParse(text)), text);
  });
}

TEST(FormatLawTest, SpaceDoesNotMatterBeyondBlankLines) {
  ForRandomTrees([](const syntax::File& tree, uint64_t seed) {
    const std::string scattered = Scatter(Format(tree), seed, 0);
    const std::string text = Format(MustParse(scattered));
    EXPECT_EQ(syntax::PrintTree(MustParse(text)), syntax::PrintTree(tree)) << scattered;
    EXPECT_EQ(Format(MustParse(text)), text) << scattered;
  });
}

TEST(FormatLawTest, CommentsSurviveAndStayWhereTheyAre) {
  ForRandomTrees([](const syntax::File& tree, uint64_t seed) {
    const std::string scattered = Scatter(Format(tree), seed, 20);
    const syntax::File parsed = MustParse(scattered);
    const std::string text = Format(parsed);
    const syntax::File again = MustParse(text);
    EXPECT_EQ(CountComments(again), CountComments(parsed)) << scattered << "\nbecame\n" << text;
    EXPECT_EQ(syntax::PrintTree(again), syntax::PrintTree(tree)) << scattered;
    EXPECT_EQ(Format(again), text) << scattered;
  });
}

}  // namespace
}  // namespace cleave::dsl
