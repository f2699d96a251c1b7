#include "runtime/data/gzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <string>
#include <vector>

namespace cleave::runtime {
namespace {

using Bytes = std::vector<uint8_t>;

// A gzip file.
Bytes Compress(const Bytes& content, int level = 6, const char* name = nullptr) {
  z_stream stream = {};
  constexpr int kGzip = 15 + 16;
  EXPECT_EQ(deflateInit2(&stream, level, Z_DEFLATED, kGzip, 9, Z_DEFAULT_STRATEGY), Z_OK);
  gz_header header = {};
  if (name != nullptr) {
    header.name = reinterpret_cast<Bytef*>(const_cast<char*>(name));
    header.comment = header.name;
    header.extra = header.name;
    header.extra_len = 3;
    header.hcrc = 1;
    deflateSetHeader(&stream, &header);
  }
  Bytes result(deflateBound(&stream, content.size()) + 100);
  stream.next_in = const_cast<Bytef*>(content.data());
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = result.data();
  stream.avail_out = static_cast<uInt>(result.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

Bytes Noise(size_t size) {
  std::mt19937 random(1);
  Bytes noise(size);
  for (uint8_t& byte : noise) byte = static_cast<uint8_t>(random());
  return noise;
}

Bytes Words(size_t size) {
  std::mt19937 random(2);
  Bytes words;
  while (words.size() < size) {
    for (const char letter : std::to_string(random() % 500)) words.push_back(static_cast<uint8_t>(letter));
    words.push_back(' ');
  }
  words.resize(size);
  return words;
}

TEST(Gunzip, ReadsWhatIsShorterAndLongerThanItsFirstGuess) {
  for (const Bytes& content :
       {Bytes{}, Bytes{0}, Bytes(1 << 16, 'a'), Bytes(3000000, 'a'), Noise(70000), Words(200000)}) {
    for (const int level : {0, 6}) {
      const Result<Bytes> result = Gunzip(Compress(content, level));
      ASSERT_TRUE(result.ok()) << result.error().message;
      EXPECT_TRUE(result.value() == content) << content.size() << " bytes, level " << level;
    }
  }
}

TEST(Gunzip, ReadsHeadersWithAllFieldsAndSeveralMembers) {
  const Bytes content = {'o', 'n', 'e'};
  Bytes file = Compress(content, 6, "a name");
  EXPECT_EQ(Gunzip(file).value(), content);
  const Bytes second = Compress({'t', 'w', 'o'});
  file.insert(file.end(), second.begin(), second.end());
  EXPECT_EQ(Gunzip(file).value(), (Bytes{'o', 'n', 'e', 't', 'w', 'o'}));
}

TEST(Gunzip, StopsWhereNoMoreIsWanted) {
  const Bytes file = Compress(Bytes(size_t{100} << 20, 'a'));
  EXPECT_EQ(Gunzip(file, 0).value(), Bytes());
  EXPECT_EQ(Gunzip(file, 70000).value(), Bytes(70000, 'a'));
  EXPECT_EQ(Gunzip(Compress({'a'}), 70000).value(), Bytes{'a'});
  EXPECT_FALSE(Gunzip({0x1F, 0x8B, 7, 0}, 70000).ok());
}

TEST(Gunzip, EveryTruncationIsAnError) {
  for (const Bytes& content : {Bytes{'x'}, Words(3000)}) {
    for (const int level : {0, 6}) {
      const Bytes file = Compress(content, level, "name");
      for (size_t size = 0; size < file.size(); ++size) {
        const Result<Bytes> result = Gunzip(Bytes(file.begin(), file.begin() + static_cast<int64_t>(size)));
        ASSERT_FALSE(result.ok()) << size << " of " << file.size();
        EXPECT_EQ(result.error().code, ExitCode::kInput);
      }
    }
  }
}

TEST(Gunzip, FlippedBitsAreFoundOrHarmless) {
  const Bytes content = Words(2000);
  for (const int level : {0, 6}) {
    const Bytes file = Compress(content, level);
    for (size_t bit = 0; bit < file.size() * 8; ++bit) {
      Bytes damaged = file;
      damaged[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      const Result<Bytes> result = Gunzip(damaged);
      // Bytes 4 to 9 are time, hints and system: they are not used. Flags in byte 3 may announce a name, for which the
      // data is then taken.
      const bool harmless = bit / 8 >= 4 && bit / 8 <= 9;
      if (harmless || result.ok()) {
        ASSERT_TRUE(result.ok()) << "bit " << bit;
        EXPECT_EQ(result.value(), content) << "bit " << bit;
      }
    }
  }
}

TEST(Gunzip, NoiseIsAnErrorAndNeverMore) {
  const unsigned seed = 9;
  std::mt19937 random(seed);
  for (int round = 0; round < 20000; ++round) {
    Bytes file = {0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0};
    for (size_t size = random() % 200; size > 0; --size) file.push_back(static_cast<uint8_t>(random()));
    EXPECT_FALSE(Gunzip(file).ok()) << "seed " << seed << ", round " << round;
  }
}

TEST(Gunzip, SaysWhatIsWrong) {
  const auto message = [](Bytes file) { return Gunzip(file).error().message; };
  Bytes file = Compress({'a', 'b', 'c'});
  EXPECT_EQ(message({0x1F, 0x8B, 8}), "ends in the middle of its data, at byte 3");
  EXPECT_EQ(message(Bytes(file.begin(), file.end() - 1)), "ends in the middle of its data, at byte 22");
  EXPECT_EQ(message({0x1F, 0x8B, 7, 0}), "is damaged (unknown compression method), at byte 4");
  Bytes more = file;
  more.insert(more.end(), 20, 'x');
  EXPECT_EQ(message(more), "has something else after the compressed data, at byte 23");
  file[file.size() - 1] ^= 1;
  EXPECT_EQ(message(file), "has data that does not match its size, at byte 23");
  file[file.size() - 5] ^= 1;
  EXPECT_EQ(message(file), "has data that does not match its checksum, at byte 19");
}

}  // namespace
}  // namespace cleave::runtime
