// Philox 4x32-10: a counter-based generator. A block of four random words is a function of a key and a counter, nothing
// else.
//
// Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3 (SC 2011).
#ifndef CLEAVE_RUNTIME_RANDOM_PHILOX_H_
#define CLEAVE_RUNTIME_RANDOM_PHILOX_H_

#include <cstddef>
#include <cstdint>

#include "runtime/device/portable.h"

namespace cleave::runtime {

template <size_t kCount>
struct PhiloxWords {
  uint32_t words[kCount];

  CLEAVE_PORTABLE uint32_t operator[](size_t i) const { return words[i]; }
};

template <size_t kCount>
bool operator==(const PhiloxWords<kCount>& a, const PhiloxWords<kCount>& b) {
  for (size_t i = 0; i < kCount; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

using PhiloxKey = PhiloxWords<2>;
using PhiloxBlock = PhiloxWords<4>;

constexpr int kPhiloxRounds = 10;

CLEAVE_PORTABLE inline PhiloxBlock PhiloxRound(PhiloxBlock counter, PhiloxKey key) {
  const uint64_t product0 = uint64_t{0xD2511F53} * counter[0];
  const uint64_t product1 = uint64_t{0xCD9E8D57} * counter[2];
  return {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(product1),
          static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(product0)};
}
CLEAVE_PORTABLE inline PhiloxKey KeyOfNextRound(PhiloxKey key) { return {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85}; }

CLEAVE_PORTABLE inline PhiloxBlock Philox(PhiloxBlock counter, PhiloxKey key) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    counter = PhiloxRound(counter, key);
    key = KeyOfNextRound(key);
  }
  return counter;
}

CLEAVE_PORTABLE inline PhiloxBlock PhiloxCounter(uint64_t place, uint64_t step) {
  return {static_cast<uint32_t>(place), static_cast<uint32_t>(place >> 32), static_cast<uint32_t>(step),
          static_cast<uint32_t>(step >> 32)};
}

// The block of a key at a place and a step.
CLEAVE_PORTABLE inline PhiloxBlock PhiloxAt(PhiloxKey key, uint64_t place, uint64_t step) {
  return Philox(PhiloxCounter(place, step), key);
}

// A number in [0, 1), of 24 bits: every value is exact in a float.
CLEAVE_PORTABLE inline float UnitFloat(uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }

// A number in (0, 1], of 32 bits.
CLEAVE_PORTABLE inline double UnitDouble(uint32_t word) { return (static_cast<double>(word) + 1.0) * 0x1p-32; }

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_RANDOM_PHILOX_H_
