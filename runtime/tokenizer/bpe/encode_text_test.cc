// What EncodeText adds to Encode: ranges in which no text is a mark, and places of a text among its tokens.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "runtime/tokenizer/bpe/tokenizer_json.h"
#include "runtime/utf8/utf8.h"

namespace cleave::runtime {
namespace {

using Tokens = std::vector<int32_t>;

std::unique_ptr<TextTokenizer> Open(const std::string& name) {
  Result<std::unique_ptr<TextTokenizer>> tokenizer =
      OpenTextTokenizer("runtime/tokenizer/bpe/testdata/" + name + ".json");
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  return std::move(tokenizer.value());
}

uint64_t Seed() {
  const char* const text = std::getenv("CLEAVE_TEST_SEED");
  return text == nullptr ? 7 : std::strtoull(text, nullptr, 10);
}

// The bytes of the first `count` tokens, marks as they are written.
std::string TextOf(const TextTokenizer& tokenizer, const Tokens& tokens, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    text += tokenizer.IsSpecial(tokens[i]) ? tokenizer.Content(tokens[i]) : tokenizer.Bytes(tokens[i], i == 0).value();
  }
  return text;
}

// The tokens that end before a place are the longest row of tokens whose text does, and those that begin before it the
// shortest whose text reaches it. With a memory that has seen other texts the tokens are those of Encode.
TEST(EncodeText, PlacesAreBetweenTheTextsOfTokens) {
  std::mt19937_64 random(Seed());
  const std::vector<std::string> parts = {"the king ",     "ab", " ", "\n\n", "12", "\u00e9", "\U0001F600",
                                          "<|endoftext|>", "'s", "x"};
  for (const char* name : {"byte_level", "split_by_regex", "sentencepiece"}) {
    const std::unique_ptr<TextTokenizer> tokenizer = Open(name);
    const std::unique_ptr<TextTokenizer::Memory> memory = tokenizer->NewMemory();
    for (int round = 0; round < 300; ++round) {
      SCOPED_TRACE(testing::Message() << name << ", CLEAVE_TEST_SEED=" << Seed() << ", round " << round);
      std::string text;
      for (uint64_t i = random() % 8; i > 0; --i) text += parts[random() % parts.size()];
      std::vector<size_t> places;
      for (size_t at = 0; at < text.size(); ReadUtf8(text, at)) {
        if (random() % 3 == 0) places.push_back(at);
      }
      places.push_back(text.size());
      const Result<TextEncoding> encoding = tokenizer->EncodeText(text, {}, places, *memory);
      ASSERT_TRUE(encoding.ok()) << encoding.error().message;
      const Tokens& tokens = encoding.value().tokens;
      Tokens expected = tokenizer->Encode(text).value();
      expected.erase(expected.begin(), expected.begin() + static_cast<ptrdiff_t>(tokenizer->prefix().size()));
      ASSERT_EQ(tokens, expected);
      if (TextOf(*tokenizer, tokens, tokens.size()) != text) continue;  // A first space that went away.
      ASSERT_EQ(encoding.value().cuts.size(), places.size());
      for (size_t i = 0; i < places.size(); ++i) {
        const auto [ended, begun] = encoding.value().cuts[i];
        ASSERT_LE(TextOf(*tokenizer, tokens, ended).size(), places[i]);
        ASSERT_GE(TextOf(*tokenizer, tokens, begun).size(), places[i]);
        if (places[i] > 0 && ended < tokens.size()) ASSERT_GT(TextOf(*tokenizer, tokens, ended + 1).size(), places[i]);
        if (begun > 0) ASSERT_LT(TextOf(*tokenizer, tokens, begun - 1).size(), places[i]);
      }
    }
  }
}

TEST(EncodeText, LiteralTextIsNoMark) {
  const std::unique_ptr<TextTokenizer> tokenizer = Open("byte_level");
  const std::unique_ptr<TextTokenizer::Memory> memory = tokenizer->NewMemory();
  const std::string mark = "<|endoftext|>", text = "a" + mark + "b" + mark;
  const auto marks = [&](const std::vector<TextRange>& literal, int64_t passed_over) {
    const TextEncoding encoding = tokenizer->EncodeText(text, literal, {}, *memory).value();
    EXPECT_EQ(TextOf(*tokenizer, encoding.tokens, encoding.tokens.size()), text);
    EXPECT_EQ(encoding.passed_over, passed_over);
    return std::count_if(encoding.tokens.begin(), encoding.tokens.end(),
                         [&](int32_t token) { return tokenizer->IsSpecial(token); });
  };
  EXPECT_EQ(marks({}, 0), 2);
  EXPECT_EQ(marks({{0, text.size()}}, 2), 0);
  EXPECT_EQ(marks({{0, 1}, {14, 15}}, 0), 2);  // What is beside them.
  EXPECT_EQ(marks({{1, 2}}, 1), 1);            // One byte of the first one,
  EXPECT_EQ(marks({{13, 14}}, 1), 1);          // also the last.
  EXPECT_EQ(marks({{15, 28}}, 1), 1);
}

}  // namespace
}  // namespace cleave::runtime
