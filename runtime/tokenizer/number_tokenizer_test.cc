#include "runtime/tokenizer/number_tokenizer.h"

#include "gtest/gtest.h"

namespace cleave::runtime {
namespace {

using Tokens = std::vector<int32_t>;

TEST(NumberTokenizerTest, NumbersAreTokens) {
  const auto tokenizer = OpenNumberTokenizer("", 100);
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ(tokenizer.value()->size(), 100);
  EXPECT_EQ(tokenizer.value()->Encode(" 3\n0\t99 ").value(), (Tokens{3, 0, 99}));
  EXPECT_TRUE(tokenizer.value()->Encode("").value().empty());
  EXPECT_EQ(Decode(*tokenizer.value(), {3, 0, 99}).value(), "3 0 99");
  EXPECT_EQ(tokenizer.value()->Find("7"), 7);
  EXPECT_EQ(OpenNumberTokenizer("", 0).value()->Encode("2147483646").value(), (Tokens{2147483646}));
}

TEST(NumberTokenizerTest, OtherWordsAreErrors) {
  const auto tokenizer = OpenNumberTokenizer("", 100);
  for (const char* text : {"100", "-1", "1.5", "x", "1 two", "99999999999999999999"}) {
    const Result<Tokens> tokens = tokenizer.value()->Encode(text);
    ASSERT_FALSE(tokens.ok()) << text;
    EXPECT_EQ(tokens.error().code, ExitCode::kInput);
  }
  EXPECT_EQ(tokenizer.value()->Encode("1 two").error().message,
            "`two` is no token: tokens are the numbers from 0 to 99");
  EXPECT_FALSE(tokenizer.value()->Bytes(100, true).ok());
  EXPECT_FALSE(tokenizer.value()->Find("100").has_value());
}

}  // namespace
}  // namespace cleave::runtime
