#include "runtime/tokenizer/byte_tokenizer.h"

#include <gtest/gtest.h>

#include <fstream>

namespace cleave::runtime {
namespace {

using Tokens = std::vector<int32_t>;

std::string WriteText(const std::string& text) {
  const std::string path =
      testing::TempDir() + "/byte_tokenizer_" + testing::UnitTest::GetInstance()->current_test_info()->name();
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

TEST(ByteTokenizer, EncodesAndDecodesTheBytesOfItsText) {
  const auto tokenizer = OpenByteTokenizer(WriteText("zebra\n"), 6);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_EQ(tokenizer.value()->size(), 6);
  EXPECT_EQ(tokenizer.value()->Encode("bar\nze").value(), (Tokens{2, 1, 4, 0, 5, 3}));
  EXPECT_EQ(tokenizer.value()->Encode("").value(), Tokens());
  EXPECT_EQ(Decode(*tokenizer.value(), {2, 1, 4, 0, 5, 3}).value(), "bar\nze");
  EXPECT_FALSE(tokenizer.value()->IsSpecial(0));
  EXPECT_EQ(tokenizer.value()->Find("\n"), 0);
  EXPECT_EQ(tokenizer.value()->Find("q"), std::nullopt);
  EXPECT_EQ(tokenizer.value()->Find("</s>"), std::nullopt);
}

TEST(ByteTokenizer, BytesThatTheTextDoesNotHave) {
  const std::string path = WriteText("zebra\n");
  const auto tokenizer = OpenByteTokenizer(path, 6);
  EXPECT_EQ(
      tokenizer.value()->Encode("zebq").error().message,
      "byte 113 (`q`) at offset 3 of the text is none of the 6 distinct bytes of `" + path + "`, so it has no token");
  EXPECT_EQ(tokenizer.value()->Encode("\xC3\xA4").error().message,
            "byte 195 at offset 0 of the text is none of the 6 distinct bytes of `" + path + "`, so it has no token");
  EXPECT_EQ(OpenByteTokenizer(path, 123).value()->Encode("q~").error().message,
            "byte 126 (`~`) at offset 1 of the text is out of range: the model's vocabulary has 123 symbols");
  EXPECT_TRUE(OpenByteTokenizer(path, 123).value()->Encode("quagga").ok()) << "bytes are tokens as they are";
}

TEST(ByteTokenizer, TokensThatAreNone) {
  const auto tokenizer = OpenByteTokenizer(WriteText("zebra\n"), 6);
  for (const int32_t token : {-1, 6, INT32_MAX, INT32_MIN}) {
    EXPECT_EQ(Decode(*tokenizer.value(), {1, token}).error().message,
              Format("token %d is none of the 6 bytes that the model knows", token));
  }
}

TEST(ByteTokenizer, FilesThatAreMissing) {
  EXPECT_EQ(OpenByteTokenizer("/nowhere/text", 6).error().message,
            "cannot read `/nowhere/text`: No such file or directory");
}

}  // namespace
}  // namespace cleave::runtime
