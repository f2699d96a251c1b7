#include "runtime/generate/text_stream.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/error/error.h"

namespace cleave::runtime {
namespace {

// Token i is text i.
class Texts final : public Tokenizer {
 public:
  explicit Texts(std::vector<std::string> texts) : texts_(std::move(texts)) {}

  int64_t size() const override { return static_cast<int64_t>(texts_.size()); }
  Result<std::vector<int32_t>> Encode(const std::string&) const override { return std::vector<int32_t>(); }
  Result<std::string> Bytes(int32_t token, bool) const override { return texts_[static_cast<size_t>(token)]; }
  bool IsSpecial(int32_t) const override { return false; }
  std::optional<int32_t> Find(const std::string&) const override { return std::nullopt; }

 private:
  std::vector<std::string> texts_;
};

// The pieces that are shown of these tokens, each behind a "|", and "." where a stop word has ended it.
std::string Pieces(const std::vector<std::string>& tokens, const std::vector<std::string>& stops) {
  const Texts tokenizer(tokens);
  TextStream stream(tokenizer, stops);
  std::string pieces;
  for (size_t i = 0; i < tokens.size() && !stream.has_stopped(); ++i) {
    pieces += "|" + stream.Add(static_cast<int32_t>(i));
  }
  return pieces + "|" + stream.Rest() + (stream.has_stopped() ? "." : "");
}

TEST(TextStreamTest, ShowsWholeCharacters) {
  EXPECT_EQ(Pieces({"a", "b"}, {}), "|a|b|");
  EXPECT_EQ(Pieces({"a\xC3", "\xA9z"}, {}), "|a|éz|");
  EXPECT_EQ(Pieces({"\xF0\x9F", "\x98", "\x80"}, {}), "|||\xF0\x9F\x98\x80|");
  EXPECT_EQ(Pieces({"\xE2\x82", "\xAC\xE2"}, {}), "||€|");   // The end of a character has not come.
  EXPECT_EQ(Pieces({"\x80\xFF", "a"}, {}), "|\x80\xFF|a|");  // No characters: bytes that stay as they are.
  EXPECT_EQ(Pieces({"\xC3", "a"}, {}),
            "||\xC3"
            "a|");
}

TEST(TextStreamTest, StopWordsEndIt) {
  EXPECT_EQ(Pieces({"one STOP two", "three"}, {"STOP"}), "|one |.");
  EXPECT_EQ(Pieces({"one S", "T", "OP two"}, {"STOP"}), "|one |||.");
  EXPECT_EQ(Pieces({"one S", "T", "IR"}, {"STOP"}), "|one ||STIR|");
  EXPECT_EQ(Pieces({"one ST"}, {"STOP"}), "|one |ST");
  EXPECT_EQ(Pieces({"aab"}, {"ab"}), "|a|.");
  EXPECT_EQ(Pieces({"a", "a", "b"}, {"aab"}), "||||.");
  EXPECT_EQ(Pieces({"aaa", "b"}, {"aab"}), "|a||.");
}

TEST(TextStreamTest, TheFirstOfSeveralStopWordsEndsIt) {
  EXPECT_EQ(Pieces({"x\nUser: y"}, {"User:", "\n"}), "|x|.");
  EXPECT_EQ(Pieces({"abc"}, {"bc", "b"}), "|a|.");
  EXPECT_EQ(Pieces({"ab", "d"}, {"abc", "bd"}), "||a|.");
  EXPECT_EQ(Pieces({"\xE2\x82", "\xAC!"}, {"€"}), "|||.");
}

TEST(TextStreamTest, APromptIsNoneOfTheContinuation) {
  const Texts tokenizer({"ST", "OP"});
  TextStream stream(tokenizer, {"STOP"});
  EXPECT_EQ(stream.Begin({0}), "ST");
  EXPECT_EQ(stream.Add(1), "OP");
}

TEST(ValidUtf8Test, ReplacesWhatIsNone) {
  EXPECT_EQ(ValidUtf8("é"), "é");
  EXPECT_EQ(ValidUtf8("a\xFF\xC3z"), "a\xEF\xBF\xBD\xEF\xBF\xBDz");
}

}  // namespace
}  // namespace cleave::runtime
