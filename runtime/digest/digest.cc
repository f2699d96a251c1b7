// Reading guide: the bytes are taken in stripes of four words, each word into a lane of its own, so that four products
// are under way at once. Value() joins the lanes and then takes what is left of a stripe.
#include "runtime/digest/digest.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "runtime/error/error.h"

namespace cleave::runtime {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are read as they lie in memory");

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87;
constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4F;
constexpr uint64_t kPrime3 = 0x165667B19E3779F9;
constexpr uint64_t kPrime4 = 0x85EBCA77C2B2AE63;
constexpr uint64_t kPrime5 = 0x27D4EB2F165667C5;

template <typename Word>
uint64_t WordAt(const unsigned char* bytes) {
  Word word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

uint64_t RotatedLeft(uint64_t value, int bits) { return value << bits | value >> (64 - bits); }

uint64_t Round(uint64_t lane, uint64_t word) { return RotatedLeft(lane + word * kPrime2, 31) * kPrime1; }

// A word that is not part of a stripe; also how a lane is joined with those before it.
uint64_t Mixed(uint64_t value, uint64_t word) { return value ^ Round(0, word); }

uint64_t Avalanche(uint64_t value) {
  value = (value ^ value >> 33) * kPrime2;
  value = (value ^ value >> 29) * kPrime3;
  return value ^ value >> 32;
}

// Takes `stripes` stripes from `bytes` on.
void TakeStripes(const unsigned char* bytes, size_t stripes, std::array<uint64_t, 4>& lanes) {
  auto [a, b, c, d] = lanes;
  for (; stripes > 0; --stripes, bytes += 32) {
    a = Round(a, WordAt<uint64_t>(bytes));
    b = Round(b, WordAt<uint64_t>(bytes + 8));
    c = Round(c, WordAt<uint64_t>(bytes + 16));
    d = Round(d, WordAt<uint64_t>(bytes + 24));
  }
  lanes = {a, b, c, d};
}

}  // namespace

Digest::Digest() : lanes_{kPrime1 + kPrime2, kPrime2, 0, 0 - kPrime1} {}

void Digest::Add(const void* bytes, int64_t count) {
  if (count == 0) return;  // `bytes` may be null.
  const auto* next = static_cast<const unsigned char*>(bytes);
  size_t left = static_cast<size_t>(count);
  const size_t filled = count_ % kStripe;
  count_ += left;
  if (filled > 0) {
    const size_t taken = std::min(left, kStripe - filled);
    std::memcpy(pending_.data() + filled, next, taken);
    if (filled + taken < kStripe) return;
    TakeStripes(pending_.data(), 1, lanes_);
    next += taken;
    left -= taken;
  }
  const size_t stripes = left / kStripe;
  TakeStripes(next, stripes, lanes_);
  std::memcpy(pending_.data(), next + stripes * kStripe, left % kStripe);
}

uint64_t Digest::Value() const {
  uint64_t value = kPrime5;
  if (count_ >= kStripe) {
    const auto [a, b, c, d] = lanes_;
    value = RotatedLeft(a, 1) + RotatedLeft(b, 7) + RotatedLeft(c, 12) + RotatedLeft(d, 18);
    for (const uint64_t lane : lanes_) value = Mixed(value, lane) * kPrime1 + kPrime4;
  }
  value += count_;
  const unsigned char* next = pending_.data();
  size_t left = count_ % kStripe;
  for (; left >= 8; left -= 8, next += 8) {
    value = RotatedLeft(Mixed(value, WordAt<uint64_t>(next)), 27) * kPrime1 + kPrime4;
  }
  for (; left >= 4; left -= 4, next += 4) {
    value = RotatedLeft(value ^ WordAt<uint32_t>(next) * kPrime1, 23) * kPrime2 + kPrime3;
  }
  for (; left > 0; --left, ++next) value = RotatedLeft(value ^ *next * kPrime5, 11) * kPrime1;
  return Avalanche(value);
}

std::string DigestText(uint64_t digest) { return Format("%016" PRIx64, digest); }

std::string DigestOf(const void* bytes, int64_t count) {
  Digest digest;
  digest.Add(bytes, count);
  return DigestText(digest.Value());
}

}  // namespace cleave::runtime
