#include "runtime/tokenizer/pcre2/regex.h"

#include <gtest/gtest.h>

namespace cleave::runtime {
namespace {

// The matches, each in brackets.
std::string Matches(const std::string& expression, const std::string& text) {
  const Result<Regex> regex = Regex::Compile(expression);
  if (!regex.ok()) return regex.error().message;
  const Result<std::vector<Regex::Match>> matches = regex.value().FindAll(text);
  if (!matches.ok()) return matches.error().message;
  std::string shown;
  for (const Regex::Match& match : matches.value())
    shown += "[" + text.substr(match.begin, match.end - match.begin) + "]";
  return shown;
}

TEST(Regex, MatchesCharactersOfUnicode) {
  EXPECT_EQ(Matches("\\p{L}+", "Łódź, naïve 你好!"), "[Łódź][naïve][你好]");
  EXPECT_EQ(Matches("\\p{N}", "1٣²Ⅷ"), "[1][٣][²][Ⅷ]");
  EXPECT_EQ(Matches("\\s+(?!\\S)|\\s+", "a  b\t\u3000\u00a0"), "[ ][ ][\t\u3000\u00a0]");
  EXPECT_EQ(Matches("(?i:'S|'ll)", "'s 'LL 'ſ"), "['s]['LL]['ſ]");
  EXPECT_EQ(Matches("[^\\s\\p{L}\\p{N}]+", "a–b😀c"), "[–][😀]");
  EXPECT_EQ(Matches("x(?=y)|(?<=z)x", "xy zx x"), "[x][x]");
  EXPECT_EQ(Matches("\\s", "\u180e\u200b"), "") << "no white space";
  EXPECT_EQ(Matches("[^\\S\\n]", "a \n"), "[ ]");
  EXPECT_EQ(Matches("a", ""), "");
}

TEST(Regex, ALiteralHasNoSpecialCharacters) {
  const Regex literal = Regex::Literal("a.*\\s[").value();
  EXPECT_EQ(literal.FindAll("xa.*\\s[a.*\\s[ab").value().size(), 2u);
  EXPECT_TRUE(Regex::Literal("").value().FindAll("abc").value().empty());
}

TEST(Regex, WhatOtherLibrariesReadOtherwiseIsRefused) {
  struct Case {
    const char* expression;
    const char* part;
  };
  for (const Case& wrong :
       {Case{"a.b", "."}, Case{"^a", "^"}, Case{"a$", "$"}, Case{"\\w+", "\\w"}, Case{"a\\b", "\\b"},
        Case{"\\h", "\\h"}, Case{"(a)\\1", "\\1"}, Case{"a{1,3}+", "}+"}, Case{"a{,3}", "{,"}, Case{"[a[bc]]", "["},
        Case{"[a&&b]", "&&"}, Case{"[[:alpha:]]", "["}, Case{"(?m:a)", "(?m"}, Case{"(?<n>a)", "(?<"},
        Case{"(*UTF)a", "(*"}, Case{"\\pL", "\\p"}, Case{"a\\", "\\"}}) {
    const std::string message = Matches(wrong.expression, "");
    EXPECT_EQ(message.find(std::string("has the regular expression `") + wrong.expression + "`, of which `" +
                           wrong.part + "`, at byte "),
              0u)
        << message;
  }
}

TEST(Regex, WhatIsWrongIsSaid) {
  EXPECT_EQ(Matches("a(b", ""), "has the regular expression `a(b`, wrong at byte 3: missing closing parenthesis");
  EXPECT_EQ(Matches("\\p{Nothing}", "").find("has the regular expression `\\p{Nothing}`, wrong at byte "), 0u);
  EXPECT_EQ(Matches("a*", ""), "has the regular expression `a*`, which can match nothing at all");
}

TEST(Regex, LongTextsAndLongSearches) {
  EXPECT_EQ(Regex::Compile("\\p{L}+").value().FindAll(std::string(3000000, 'a')).value().size(), 1u);
  EXPECT_EQ(Regex::Compile("\\s+(?!\\S)|\\s+").value().FindAll(std::string(1000000, ' ') + "a").value().size(), 2u);
  const std::string message = Matches("(?:a+)+(?:b|c)", std::string(40, 'a'));
  EXPECT_EQ(message, "has a regular expression that cannot be matched at byte 0 of a text: match limit exceeded");
}

}  // namespace
}  // namespace cleave::runtime
