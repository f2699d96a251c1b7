#include "runtime/digest/digest.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cleave::runtime {
namespace {

std::string Counted(int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(i * 7 + i / 251 * 13);
  return bytes;
}

std::string Of(const std::string& text) { return DigestOf(text.data(), static_cast<int64_t>(text.size())); }

// What the reference implementation says (python3 -c 'import xxhash; print(xxhash.xxh64(…).hexdigest())').
TEST(Digest, IsXxh64) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "ef46db3751d8e999"},
      {"a", "d24ec4f1a98c6e5b"},
      {"abc", "44bc2cf5ad770999"},
      {"Nobody inspects the spammish repetition", "fbcea83c8a378bf1"},
      {Counted(32), "91b0cb0931a8c629"},
      {Counted(100), "8e2272c08247d5db"},
      {Counted(4096), "0215f8fca191a893"},
      {Counted(1 << 20), "8d8f556bab31e05a"},
  };
  for (const auto& [text, digest] : cases) EXPECT_EQ(Of(text), digest) << text.size();
}

// The digest of the digests of each length, from the reference implementation.
TEST(Digest, OfLengthsFrom0To100) {
  std::string digests;
  for (int length = 0; length <= 100; ++length) digests += Of(Counted(length));
  EXPECT_EQ(Of(digests), "336760f7eaaac484");
}

TEST(Digest, DoesNotDependOnHowTheBytesAreCut) {
  const std::string bytes = Counted(100);
  for (size_t first = 0; first <= bytes.size(); ++first) {
    for (size_t second = first; second <= bytes.size(); ++second) {
      Digest digest;
      digest.Add(bytes.data(), static_cast<int64_t>(first));
      digest.Add(bytes.data() + first, static_cast<int64_t>(second - first));
      digest.Add(bytes.data() + second, static_cast<int64_t>(bytes.size() - second));
      ASSERT_EQ(DigestText(digest.Value()), "8e2272c08247d5db") << first << " " << second;
    }
  }
}

TEST(Digest, AskingForTheValueChangesNothing) {
  const std::string bytes = Counted(100);
  Digest digest;
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(DigestText(digest.Value()), Of(bytes.substr(0, i)));
    digest.Add(&bytes[i], 1);
  }
  EXPECT_EQ(DigestText(digest.Value()), "8e2272c08247d5db");
}

TEST(Digest, OfNoBytesAtNoAddress) {
  Digest digest;
  digest.Add(nullptr, 0);
  EXPECT_EQ(digest.Value(), 0xEF46DB3751D8E999);
}

TEST(DigestText, HasLeadingZeros) { EXPECT_EQ(DigestText(0xAB), "00000000000000ab"); }

}  // namespace
}  // namespace cleave::runtime
