#include "runtime/data/tokens.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

std::string WriteText(const std::string& text) {
  const std::string path =
      testing::TempDir() + "/tokens_" + testing::UnitTest::GetInstance()->current_test_info()->name();
  std::FILE* file = std::fopen(path.c_str(), "wb");
  std::fwrite(text.data(), 1, text.size(), file);
  std::fclose(file);
  return path;
}

// A model on windows of `length` tokens, batch 2.
struct Model {
  Model(const std::string& path, int64_t length, int64_t limit)
      : tokens(static_cast<size_t>(2 * length)),
        next(tokens.size()),
        batches(Batches::Open(Tokens(path),
                              {{"tokens", WholeRegion({2, length}), tokens.data(), limit},
                               {"next", WholeRegion({2, length}), next.data(), limit}},
                              1)) {}
  std::vector<int32_t> tokens;
  std::vector<int32_t> next;
  Result<std::unique_ptr<Batches>> batches;
};

TEST(Tokens, WindowsAreConsecutiveBytesAndTheirSuccessors) {
  std::string text;
  for (int i = 0; i < 100; ++i) text.push_back(static_cast<char>(i));
  Model model(WriteText(text), 7, 256);
  ASSERT_TRUE(model.batches.ok()) << model.batches.error().message;
  Batches& batches = *model.batches.value();
  EXPECT_EQ(batches.note(), "");
  EXPECT_EQ(batches.train_samples(), 90 - 7);
  EXPECT_EQ(batches.samples(DataPart::kTest), 1);  // Ten bytes: seven and the one after them.
  int32_t last = 0;
  for (int64_t step = 0; step < batches.steps_per_epoch(); ++step) {
    batches.LoadTraining(step);
    for (size_t i = 0; i < model.tokens.size(); ++i) {
      EXPECT_EQ(model.tokens[i], model.tokens[i / 7 * 7] + static_cast<int32_t>(i % 7));
      EXPECT_EQ(model.next[i], model.tokens[i] + 1);
      last = std::max(last, model.next[i]);
    }
  }
  EXPECT_LT(last, 90) << "training saw the test part";
  EXPECT_EQ(batches.LoadPart(DataPart::kTest, 0), 1);
  EXPECT_EQ(model.tokens[0], 90);
  EXPECT_EQ(model.next[6], 97);
}

TEST(Tokens, NumbersDistinctBytesWhereTheVocabularyIsSmall) {
  const std::string path = WriteText("zebra zebra zebra zebra zebra zebra");
  Model model(path, 3, 6);
  ASSERT_TRUE(model.batches.ok());
  EXPECT_EQ(model.batches.value()->note(), "tokens: the 6 distinct bytes of `" + path + "` are numbered in byte order");
  model.batches.value()->LoadTraining(0);
  for (int32_t token : model.tokens) EXPECT_TRUE(token >= 0 && token < 6);
}

TEST(Tokens, MoreSymbolsThanTheVocabularyHas) {
  const std::string path = WriteText("abcdefg abcdefg");
  EXPECT_EQ(Model(path, 3, 5).batches.error().message, "byte 97 at offset 0 of `" + path +
                                                           "` is out of range: the model's vocabulary has 5 symbols, "
                                                           "and the file 8 distinct bytes, too many to number them");
}

TEST(Tokens, FilesThatAreMissingOrShort) {
  EXPECT_EQ(Model("/nowhere/text", 3, 256).batches.error().message,
            "cannot read `/nowhere/text`: No such file or directory");
  const std::string path = WriteText("abcd");
  EXPECT_EQ(Model(path, 3, 256).batches.error().message,
            "tokens `" + path + "` has 1 training samples, fewer than one batch of 2");
  EXPECT_EQ(Model(WriteText(""), 3, 256).batches.error().message,
            "tokens `" + path + "` has 0 training samples, fewer than one batch of 2");
}

}  // namespace
}  // namespace cleave::runtime
