#include "runtime/data/token_files.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "runtime/data/testing.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

// Files of tokens in a folder of the test's own.
class TokenFilesTest : public testing::Test {
 protected:
  TokenFilesTest()
      : folder_(testing::TempDir() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name() + "_") {}

  std::string Write(const std::string& name, const std::string& bytes) const {
    const std::string path = folder_ + name;
    std::FILE* file = std::fopen(path.c_str(), "wb");
    std::fwrite(bytes.data(), 1, bytes.size(), file);
    std::fclose(file);
    return path;
  }

  static std::string Bytes(const std::vector<int64_t>& numbers, int bits) {
    std::string bytes;
    for (const int64_t number : numbers) {
      for (int i = 0; i < bits / 8; ++i) bytes += static_cast<char>(number >> (8 * i) & 255);
    }
    return bytes;
  }

  static std::string Header(int64_t mark, int64_t version, int64_t count) {
    std::vector<int64_t> words(256, 0);
    words[0] = mark;
    words[1] = version;
    words[2] = count;
    return Bytes(words, 32);
  }

  static std::vector<int64_t> CountFrom(int64_t first, int64_t count) {
    std::vector<int64_t> numbers;
    for (int64_t i = 0; i < count; ++i) numbers.push_back(first + i);
    return numbers;
  }

  Result<std::unique_ptr<Batches>> Open(const std::vector<InputFile>& files, int bits, int64_t limit = 0) {
    return Batches::Open(TokenFiles(files, bits),
                         {{"tokens", WholeRegion({2, 4}), tokens_, limit}, {"next", WholeRegion({2, 4}), next_, limit}},
                         1);
  }

  std::string Mistake(const std::vector<InputFile>& files, int bits, int64_t limit = 0) {
    return MistakeOf(Open(files, bits, limit), folder_);
  }

  const std::string folder_;
  int32_t tokens_[8];
  int32_t next_[8];
};

// Each token but the first of a file is predicted once, and no window spans two files.
TEST_F(TokenFilesTest, WindowsFollowOneAnotherInAllFiles) {
  Write("b.bin", Bytes(CountFrom(50000, 9), 16));  // Two windows.
  Write("a.bin", Bytes(CountFrom(1000, 20), 16));  // Four, and three tokens are left over.
  const std::string test = Write("test", Bytes(CountFrom(7, 10), 16));
  const auto batches = Open({{"train", folder_ + "?.bin"}, {"test", test}}, 16);
  ASSERT_TRUE(batches.ok()) << batches.error().message;
  EXPECT_EQ(batches.value()->note(), "tokens: 29 of 16 bits in 2 files, to test 10 of 16 bits in 1 file");
  EXPECT_EQ(batches.value()->train_samples(), 6);
  EXPECT_EQ(batches.value()->samples(DataPart::kTest), 2);
  EXPECT_EQ(batches.value()->bytes(), 0) << "the tokens stay in the files";
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    std::set<int32_t> firsts;
    for (int64_t step = 0; step < 3; ++step) {
      batches.value()->LoadTraining(3 * epoch + step);
      for (size_t i = 0; i < 8; ++i) {
        EXPECT_EQ(tokens_[i], tokens_[i / 4 * 4] + static_cast<int32_t>(i % 4));
        EXPECT_EQ(next_[i], tokens_[i] + 1);
      }
      firsts.insert(tokens_[0]);
      firsts.insert(tokens_[4]);
    }
    EXPECT_EQ(firsts, (std::set<int32_t>{1000, 1004, 1008, 1012, 50000, 50004}));
  }
  EXPECT_EQ(batches.value()->LoadPart(DataPart::kTest, 0), 2);
  EXPECT_EQ(tokens_[0], 7);
  EXPECT_EQ(next_[7], 15);
}

TEST_F(TokenFilesTest, TheLastTenthTestsWhereNoFileDoes) {
  const std::string path = Write("x", Bytes(CountFrom(0, 101), 8));
  const auto batches = Open({{"train", path}}, 8, 256);
  ASSERT_TRUE(batches.ok()) << batches.error().message;
  EXPECT_EQ(batches.value()->train_samples(), 23);
  EXPECT_EQ(batches.value()->samples(DataPart::kTest), 2);
  batches.value()->LoadPart(DataPart::kTest, 0);
  EXPECT_EQ(tokens_[0], 92);
}

// A rank reads its rows and its columns of them.
TEST_F(TokenFilesTest, PiecesOfWindows) {
  const std::string path = Write("x", Bytes(CountFrom(100, 100), 32));
  int32_t piece[2] = {};
  const Region columns = {{2, 4}, {1, 2}, {1, 2}};
  auto whole = Open({{"train", path}}, 32);
  auto part = Batches::Open(TokenFiles({{"train", path}}, 32), {{"tokens", columns, piece}}, 1);
  ASSERT_TRUE(whole.ok() && part.ok());
  for (int64_t step = 0; step < 5; ++step) {
    whole.value()->LoadTraining(step);
    part.value()->LoadTraining(step);
    EXPECT_EQ(piece[0], tokens_[6]);
    EXPECT_EQ(piece[1], tokens_[7]);
  }
}

TEST_F(TokenFilesTest, HeadersOfLlmC) {
  const std::string gpt2 = Write("gpt2", Header(20240520, 1, 20) + Bytes(CountFrom(50000, 20), 16));
  const std::string llama = Write("llama", Header(20240801, 7, 20) + Bytes(CountFrom(100000, 20), 32));
  for (const auto& [path, first] : {std::pair(gpt2, 50000), {llama, 100000}}) {
    const auto batches = Open({{"train", path}, {"test", path}}, 0, 128256);
    ASSERT_TRUE(batches.ok()) << batches.error().message;
    batches.value()->LoadPart(DataPart::kTest, 0);
    EXPECT_EQ(tokens_[0], first);
  }
  EXPECT_TRUE(Open({{"train", gpt2}}, 16).ok());
  EXPECT_EQ(Mistake({{"train", gpt2}}, 32), "`gpt2` has tokens of 16 bits, as its header says, not of 32");
  const std::string short_one = Write("short", Header(20240520, 1, 20) + Bytes(CountFrom(0, 19), 16));
  EXPECT_EQ(Mistake({{"train", short_one}}, 0),
            "`short` has 20 tokens, as its header says at offset 8, and 19 behind it");
  const std::string later = Write("later", Header(20240520, 2, 20) + Bytes(CountFrom(0, 20), 16));
  EXPECT_EQ(Mistake({{"train", later}}, 0), "`later` has a header of version 2 at offset 4; known is version 1");
}

TEST_F(TokenFilesTest, FilesThatDoNotFit) {
  const std::string odd = Write("odd", Bytes(CountFrom(0, 41), 8));
  EXPECT_EQ(Mistake({{"train", odd}}, 16), "`odd` has 41 bytes, which are no whole number of tokens of 16 bits");
  EXPECT_EQ(Mistake({{"train", odd}}, 0),
            "`odd` has no header that says how many bits a token has: `dtype` must be `u8`, `u16` or `u32`");
  EXPECT_EQ(Mistake({{"train", odd}}, 8, 40),
            "token 40 at offset 40 of `odd` is out of range: the model's vocabulary has 40 symbols");
  const std::string wide = Write("wide", Header(20240801, 7, 20) + Bytes(CountFrom(int64_t{INT32_MAX} - 18, 20), 32));
  EXPECT_EQ(Mistake({{"train", wide}}, 0),
            "token 2147483648 at offset 1100 of `wide` is out of range: i32 holds up to 2147483647");
  // All mistakes at once.
  EXPECT_EQ(Mistake({{"train", odd}, {"train", folder_ + "no_*"}, {"test", folder_ + "missing"}}, 16),
            "`odd` has 41 bytes, which are no whole number of tokens of 16 bits\n"
            "error: cannot read `no_*`: no file has such a name\n"
            "error: cannot read `missing`: No such file or directory");
  EXPECT_EQ(Mistake({{"train", Write("few", Bytes(CountFrom(0, 8), 8))}}, 8),
            "tokens `few` has 1 training samples, fewer than one batch of 2");
}

}  // namespace
}  // namespace cleave::runtime
