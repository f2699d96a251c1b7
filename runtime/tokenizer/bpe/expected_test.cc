// Tokens and texts as the reference implementation has them, for tokenizers of each kind; testdata/README.md.
#include <gtest/gtest.h>

#include <map>

#include "runtime/file/file.h"
#include "runtime/json/json.h"
#include "runtime/tokenizer/bpe/tokenizer_json.h"

namespace cleave::runtime {
namespace {

constexpr char kFolder[] = "runtime/tokenizer/bpe/testdata/";

using Tokens = std::vector<int32_t>;

std::unique_ptr<TextTokenizer> Open(const std::string& name) {
  Result<std::unique_ptr<TextTokenizer>> tokenizer = OpenTextTokenizer(kFolder + name + ".json");
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  return tokenizer.ok() ? std::move(tokenizer.value()) : nullptr;
}

TEST(Expected, TokensAndTextsAreThoseOfTheReferenceImplementation) {
  const std::vector<uint8_t> bytes = ReadFile(std::string(kFolder) + "expected.json").value();
  const Json cases = ParseJson(std::string(bytes.begin(), bytes.end())).value();
  std::map<std::string, std::unique_ptr<TextTokenizer>> tokenizers;
  for (const Json& item : cases.items) {
    const std::string& name = item.items[0].text;
    const std::string& text = item.items[1].text;
    std::unique_ptr<TextTokenizer>& tokenizer = tokenizers[name];
    if (tokenizer == nullptr) tokenizer = Open(name);
    ASSERT_NE(tokenizer, nullptr);
    Tokens expected;
    for (const Json& token : item.items[2].items) expected.push_back(static_cast<int32_t>(*JsonInteger(token)));
    Result<Tokens> tokens = tokenizer->Encode(text);
    ASSERT_TRUE(tokens.ok()) << tokens.error().message;
    tokens.value().insert(tokens.value().end(), tokenizer->suffix().begin(), tokenizer->suffix().end());
    EXPECT_EQ(tokens.value(), expected) << name << ": " << text;
    // The reference puts U+FFFD where bytes are no character, as before a token in the middle of one.
    const std::string& decoded = item.items[3].text;
    if (decoded.find("\uFFFD") == std::string::npos) {
      EXPECT_EQ(Decode(*tokenizer, expected).value(), decoded) << name;
    }
  }
  EXPECT_EQ(tokenizers.size(), 8u);
}

TEST(Expected, BytesComeAsTheirTokensDo) {
  for (const char* name : {"byte_level", "split_by_regex", "sentencepiece"}) {
    const std::unique_ptr<TextTokenizer> tokenizer = Open(name);
    const std::string text = "h\u00e9 \U0001F600\U00020000x";
    const Tokens tokens = tokenizer->Encode(text).value();
    Detokenizer detokenizer(*tokenizer);
    std::string shown;
    bool ends_in_a_character = false;
    for (const int32_t token : tokens) {
      shown += detokenizer.Next(token).value();
      EXPECT_EQ(text.compare(0, shown.size(), shown), 0) << name;
      ends_in_a_character |= (static_cast<unsigned char>(text[shown.size()]) & 0xC0) == 0x80;
    }
    EXPECT_EQ(shown, text) << name;
    EXPECT_TRUE(ends_in_a_character) << name;
  }
}

TEST(Expected, OnlyTheFirstTokenLosesItsSpace) {
  const std::unique_ptr<TextTokenizer> tokenizer = Open("sentencepiece");
  const int32_t begin = *tokenizer->Find("<s>");
  const int32_t space_a = *tokenizer->Find("\u2581a");
  EXPECT_TRUE(tokenizer->IsSpecial(begin));
  EXPECT_FALSE(tokenizer->IsSpecial(space_a));
  EXPECT_EQ(tokenizer->Bytes(begin, true).value(), "");
  EXPECT_EQ(tokenizer->Bytes(space_a, true).value(), "a");
  EXPECT_EQ(tokenizer->Bytes(space_a, false).value(), " a");
  EXPECT_EQ(Decode(*tokenizer, {begin, space_a, begin, space_a}).value(), "a a");
}

TEST(Expected, TextsThatGoOnHaveNoTokenBehindThem) {
  EXPECT_EQ(OpenTokenizerJson(kFolder + std::string("unigram.json")).error().message,
            Format("the tokenizer `%sunigram.json` puts `</s>` behind every text, which has no end where it goes on",
                   kFolder));
  EXPECT_EQ(Open("word_piece")->prefix(), Tokens{2});
  EXPECT_EQ(Open("word_piece")->suffix(), Tokens{3});
}

TEST(Expected, NumbersThatAreNoTokens) {
  const std::unique_ptr<TextTokenizer> tokenizer = Open("byte_level");
  EXPECT_EQ(tokenizer->size(), 500);
  for (const int32_t token : {-1, 500, INT32_MAX, INT32_MIN}) {
    EXPECT_EQ(Decode(*tokenizer, {token}).error().message,
              Format("the tokenizer `%sbyte_level.json` has no token %d: they are below 500", kFolder, token));
    EXPECT_FALSE(tokenizer->IsSpecial(token));
  }
  EXPECT_EQ(tokenizer->Find("<|endoftext|>"), 0);
  EXPECT_EQ(tokenizer->Find("nothing"), std::nullopt);
}

TEST(Expected, TextsThatAreNotUtf8) {
  for (const char* name : {"byte_level", "sentencepiece"}) {
    EXPECT_EQ(Open(name)->Encode("caf\xE9 x").error().message,
              "the text is not UTF-8: byte 0xE9 at offset 3 begins no character");
  }
}

// Time that is quadratic in the length would be noticed: by the limit of the test.
TEST(Expected, LongWords) {
  for (const char* name : {"byte_level", "split_by_regex", "sentencepiece", "metaspace", "composed", "unigram"}) {
    const std::unique_ptr<TextTokenizer> tokenizer = Open(name);
    std::string word;
    while (word.size() < 400000) word += "thethenandkingslord";
    EXPECT_EQ(Decode(*tokenizer, tokenizer->Encode(word).value()).value(), word);
  }
}

}  // namespace
}  // namespace cleave::runtime
