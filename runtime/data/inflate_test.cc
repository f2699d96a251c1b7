#include "runtime/data/inflate.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <string>
#include <vector>

namespace cleave::runtime {
namespace {

using Bytes = std::vector<uint8_t>;

// A gzip file made by zlib, the oracle.
Bytes Compress(const Bytes& content, int level = 6, int strategy = Z_DEFAULT_STRATEGY, const char* name = nullptr) {
  z_stream stream = {};
  constexpr int kGzip = 15 + 16;
  EXPECT_EQ(deflateInit2(&stream, level, Z_DEFLATED, kGzip, 9, strategy), Z_OK);
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

// Contents that lead to different kinds of blocks, lengths and distances.
std::vector<Bytes> Contents() {
  std::mt19937 random(1);
  std::vector<Bytes> contents = {{}, {0}, Bytes(1, 'x'), Bytes(100000, 'a')};
  Bytes noise(70000);
  for (uint8_t& byte : noise) byte = static_cast<uint8_t>(random());
  contents.push_back(noise);
  Bytes words;
  while (words.size() < 200000) {
    for (const char letter : std::to_string(random() % 500)) words.push_back(static_cast<uint8_t>(letter));
    words.push_back(' ');
  }
  contents.push_back(words);
  Bytes far = noise;  // Repeats at a distance near the window's 32768.
  far.resize(32000);
  far.insert(far.end(), far.begin(), far.begin() + 20000);
  contents.push_back(far);
  Bytes skewed(50000);
  for (uint8_t& byte : skewed)
    byte = static_cast<uint8_t>(__builtin_ctz(static_cast<unsigned>(random()) | 0x8000) * 16);
  contents.push_back(skewed);
  return contents;
}

TEST(Gunzip, ReadsWhatZlibWrites) {
  for (const Bytes& content : Contents()) {
    for (const int level : {0, 1, 6, 9}) {
      for (const int strategy : {Z_DEFAULT_STRATEGY, Z_FILTERED, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED}) {
        const Result<Bytes> result = Gunzip(Compress(content, level, strategy));
        ASSERT_TRUE(result.ok()) << result.error().message;
        EXPECT_EQ(result.value(), content) << "level " << level << ", strategy " << strategy;
      }
    }
  }
}

TEST(Gunzip, ReadsHeadersWithAllFieldsAndSeveralMembers) {
  const Bytes content = {'o', 'n', 'e'};
  Bytes file = Compress(content, 6, Z_DEFAULT_STRATEGY, "a name");
  EXPECT_EQ(Gunzip(file).value(), content);
  const Bytes second = Compress({'t', 'w', 'o'});
  file.insert(file.end(), second.begin(), second.end());
  EXPECT_EQ(Gunzip(file).value(), (Bytes{'o', 'n', 'e', 't', 'w', 'o'}));
}

TEST(Gunzip, EveryTruncationIsAnError) {
  const std::vector<Bytes> contents = Contents();
  for (size_t i : {size_t{2}, size_t{5}}) {
    Bytes content = contents[i];
    content.resize(std::min<size_t>(content.size(), 3000));
    for (const int level : {0, 6}) {
      const Bytes file = Compress(content, level, Z_DEFAULT_STRATEGY, "name");
      for (size_t size = 0; size < file.size(); ++size) {
        const Result<Bytes> result = Gunzip(Bytes(file.begin(), file.begin() + static_cast<int64_t>(size)));
        ASSERT_FALSE(result.ok()) << size << " of " << file.size();
        EXPECT_EQ(result.error().code, ExitCode::kInput);
      }
    }
  }
}

TEST(Gunzip, FlippedBitsAreFoundOrHarmless) {
  Bytes content = Contents()[5];
  content.resize(2000);
  for (const int level : {0, 6}) {
    const Bytes file = Compress(content, level);
    for (size_t bit = 0; bit < file.size() * 8; ++bit) {
      Bytes damaged = file;
      damaged[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      const Result<Bytes> result = Gunzip(damaged);
      // Bytes 4 to 9 are time, hints and system: nobody needs them. Flags in byte 3 may add a name that the data then
      // is.
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
  EXPECT_EQ(message({0x1F, 0x8B, 8}), "ends in the middle of its header, at byte 0");
  EXPECT_EQ(message(Bytes(file.begin(), file.end() - 1)), "ends in the middle of its checksum, at byte 22");
  Bytes more = file;
  more.insert(more.end(), 20, 'x');
  EXPECT_EQ(message(more), "has something else after the compressed data, at byte 23");
  file[file.size() - 1] ^= 1;
  EXPECT_EQ(message(file), "has data that does not match its size, at byte 19");
  file[file.size() - 5] ^= 1;
  EXPECT_EQ(message(file), "has data that does not match its checksum, at byte 15");
}

TEST(Crc32, KnownAnswer) {
  const std::string text = "123456789";
  EXPECT_EQ(Crc32(reinterpret_cast<const uint8_t*>(text.data()), text.size()), 0xCBF43926u);
}

}  // namespace
}  // namespace cleave::runtime
