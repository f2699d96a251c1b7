#include "tools/weights/mapping.h"

#include <fstream>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace cleave::tools {
namespace {

std::string MappingMistake(const std::string& text) {
  const runtime::Result<Mapping> mapping = ParseMapping("M", text);
  return mapping.ok() ? "no error" : mapping.error().message;
}

NamePattern Pattern(const std::string& text) {
  runtime::Result<NamePattern> pattern = NamePattern::Parse(text);
  EXPECT_TRUE(pattern.ok()) << text;
  return pattern.value();
}

TEST(NamePatternTest, MatchesNumbers) {
  const NamePattern pattern = Pattern("h.{i}.ln.{j}");
  EXPECT_EQ(pattern.Match("h.11.ln.0"), (NameParts{{"i", 11}, {"j", 0}}));
  EXPECT_EQ(pattern.Fill({{"i", 11}, {"j", 0}}), "h.11.ln.0");
  for (const char* name : {"h.11.ln.", "h.01.ln.0", "h.-1.ln.0", "h.x.ln.0", "h.1.ln.0.weight", "xh.1.ln.0", "",
                           "h.9999999999999999999.ln.0"}) {
    EXPECT_EQ(pattern.Match(name), std::nullopt) << name;
  }
  EXPECT_EQ(Pattern("{i}.{i}").Match("2.2"), (NameParts{{"i", 2}}));
  EXPECT_EQ(Pattern("{i}.{i}").Match("2.3"), std::nullopt);
}

TEST(NamePatternTest, NumbersMayBeShifted) {
  const NamePattern pattern = Pattern("layer{i+1}.{j}");
  EXPECT_EQ(pattern.Match("layer1.0"), (NameParts{{"i", 0}, {"j", 0}}));
  EXPECT_EQ(pattern.Match("layer10.3"), (NameParts{{"i", 9}, {"j", 3}}));
  EXPECT_EQ(pattern.Match("layer0.0"), std::nullopt);
  EXPECT_EQ(pattern.Fill({{"i", 9}, {"j", 3}}), "layer10.3");
  EXPECT_EQ(pattern.Names(), (std::set<std::string>{"i", "j"}));
  EXPECT_EQ(Pattern("{i}.{i+2}").Match("2.4"), (NameParts{{"i", 2}}));
  EXPECT_EQ(Pattern("{i}.{i+2}").Match("2.2"), std::nullopt);
}

TEST(NamePatternTest, WordsHaveNoDots) {
  const NamePattern pattern = Pattern("h.{i}.{p}.weight");
  EXPECT_EQ(pattern.Match("h.3.query_norm.weight"), (NameParts{{"i", 3}, {"p", "query_norm"}}));
  EXPECT_EQ(pattern.Fill({{"i", 3}, {"p", "query_norm"}}), "h.3.query_norm.weight");
  EXPECT_EQ(pattern.Match("h.3.query.norm.weight"), std::nullopt);
  EXPECT_EQ(pattern.Match("h.3..weight"), std::nullopt);
}

TEST(NamePatternTest, WhatIsInBracketsMayBeLeftOut) {
  const NamePattern pattern = Pattern("[model.]h.{i}");
  EXPECT_EQ(pattern.Match("model.h.3"), (NameParts{{"i", 3}}));
  EXPECT_EQ(pattern.Match("h.3"), (NameParts{{"i", 3}}));
  EXPECT_EQ(pattern.Match("odel.h.3"), std::nullopt);
  EXPECT_EQ(pattern.Fill({{"i", 3}}), "model.h.3");
}

TEST(MappingTest, LinesSayHowValuesLie) {
  const runtime::Result<Mapping> read = ParseMapping("M",
                                                     "# a comment\n\n"
                                                     "a.{i}  q.{i} + k.{i} + v.{i}  qkv transposed  # and another\r\n"
                                                     "t w = l vocabulary\n"
                                                     "- mask.{i}");
  ASSERT_TRUE(read.ok()) << read.error().message;
  const std::vector<MappingLine>& lines = read.value().lines;
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].number, 3);
  EXPECT_EQ(lines[0].theirs.size(), 3u);
  EXPECT_EQ(lines[0].theirs[2].text(), "v.{i}");
  EXPECT_TRUE(lines[0].is_qkv && lines[0].is_transposed && !lines[0].is_vocabulary);
  EXPECT_EQ(lines[1].copy->text(), "l");
  EXPECT_TRUE(lines[1].is_vocabulary && !lines[1].is_qkv);
  EXPECT_FALSE(lines[2].ours.has_value());
  EXPECT_TRUE(read.value().HasQkv());
}

TEST(MappingTest, EveryMistakeNamesItsLine) {
  EXPECT_EQ(MappingMistake("a b\nc"), "line 2 of M has no name in the other program");
  EXPECT_EQ(MappingMistake("a b transpose"),
            "line 1 of M has `transpose`, which is not `transposed`, `qkv`, `vocabulary`, `stacked` or `optional`; did "
            "you mean `transposed`?");
  EXPECT_EQ(MappingMistake("a b qkv qkv"), "line 1 of M says `qkv` twice");
  EXPECT_EQ(MappingMistake("a.{i} b.{i}.{j} qkv stacked"),
            "line 1 of M says `stacked` beside other things; only `transposed` and `optional` may stand there, too");
  EXPECT_EQ(MappingMistake("a.{i} b.{i} stacked"),
            "line 1 of M says `stacked`: `b.{i}` has one number in braces more than `a.{i}`, which counts the tensors");
  EXPECT_EQ(MappingMistake("a b +"), "line 1 of M ends where a name is expected");
  EXPECT_EQ(MappingMistake("a b + + c"), "line 1 of M has `+` where a name is expected");
  EXPECT_EQ(MappingMistake("a b + c = d"), "line 1 of M has `=` after several names, which belongs to one");
  EXPECT_EQ(MappingMistake("a b + c vocabulary"), "line 1 of M says `vocabulary` of several tensors");
  EXPECT_EQ(MappingMistake("a.{i} b.{j}"), "line 1 of M has other numbers in braces in `a.{i}` than in `b.{j}`");
  EXPECT_EQ(MappingMistake("a.{i} b.{i} = c"), "line 1 of M has other numbers in braces in `a.{i}` than in `c`");
  for (const std::string number : {"I", "", "+1", "i+", "i+-1", "i+01", "i+1234", "i-1", "i+1+1", "i+j"}) {
    const std::string expected = absl::StrCat("line 1 of M has `{", number, "}`: in braces stand lower case letters, ");
    EXPECT_TRUE(absl::StartsWith(MappingMistake(absl::StrCat("a.{", number, "} b")), expected)) << number;
  }
  EXPECT_EQ(MappingMistake("a.{i b"), "line 1 of M has `{` without `}`");
  EXPECT_EQ(MappingMistake("a}i b"), "line 1 of M has `}` without `{`");
  EXPECT_EQ(MappingMistake("a.{i}{j} b"), "line 1 of M has `{` behind `}`");
  EXPECT_EQ(MappingMistake("a.{i}0 b"), "line 1 of M has a digit behind `}`");
  EXPECT_EQ(MappingMistake("a.{p}b c.{p}b"), "line 1 of M has no dot behind `{p}`, which is a whole word");
  EXPECT_EQ(MappingMistake("a.{p+1} b"), "line 1 of M has `{p+1}`, which adds to a word");
  EXPECT_EQ(MappingMistake("a [b"), "line 1 of M may have one `[` and one `]` behind it in a name");
  EXPECT_EQ(MappingMistake("a ]b["), "line 1 of M may have one `[` and one `]` behind it in a name");
  EXPECT_EQ(MappingMistake("a [b][c]"), "line 1 of M may have one `[` and one `]` behind it in a name");
  EXPECT_EQ(MappingMistake("a.{i} [b.{i}]"), "line 1 of M has `{` in brackets");
  EXPECT_EQ(MappingMistake("[a.]b c"), "line 1 of M has brackets in a name of this project");
  EXPECT_EQ(MappingMistake("- b transposed"), "line 1 of M says `transposed` of what is not wanted");
  EXPECT_EQ(MappingMistake("- b + c"),
            "line 1 of M has several names that are not wanted; each takes a line of its own");
  EXPECT_EQ(MappingMistake("# nothing\n"), "M has no lines");
}

TEST(MappingTest, AllThatHaveNamesAreRead) {
  EXPECT_FALSE(MappingNames().empty());
  for (const std::string& name : MappingNames()) {
    const runtime::Result<Mapping> mapping = ReadMapping(name);
    EXPECT_TRUE(mapping.ok()) << mapping.error().message;
  }
}

TEST(MappingTest, OthersAreFiles) {
  const std::string path = testing::TempDir() + "own.map";
  std::ofstream(path) << "a b\n";
  const runtime::Result<Mapping> own = ReadMapping(path);
  ASSERT_TRUE(own.ok()) << own.error().message;
  EXPECT_EQ(own.value().lines.size(), 1u);
  const runtime::Result<Mapping> none = ReadMapping("gpt3");
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("`gpt3`"), std::string::npos);
  EXPECT_NE(none.error().message.find(
                "; mappings that have names are `bert`, `clip`, `deepseek`, `distilbert`, `gemma2`, `gpt2`, `llama`, "
                "`olmo2`, `phi3`, `resnet`, `resnet_transformers`, `roberta`, `t5`, `vit` and `whisper`"),
            std::string::npos);
}

}  // namespace
}  // namespace cleave::tools
