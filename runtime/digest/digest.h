// A digest of bytes that come in parts: XXH64 with seed 0.
//
//   Digest digest;
//   digest.Add(header.data(), header_bytes);
//   digest.Add(values, value_bytes);
//   std::string text = DigestText(digest.Value());
//
// Source: the specification "xxHash fast digest algorithm", version 0.2.0, section "XXH64 algorithm description".
#ifndef CLEAVE_RUNTIME_DIGEST_DIGEST_H_
#define CLEAVE_RUNTIME_DIGEST_DIGEST_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace cleave::runtime {

class Digest {
 public:
  Digest();

  // Takes `count` further bytes.
  void Add(const void* bytes, int64_t count);

  // Of all bytes so far. More may follow.
  uint64_t Value() const;

 private:
  static constexpr size_t kLanes = 4;
  static constexpr size_t kStripe = kLanes * sizeof(uint64_t);

  std::array<uint64_t, kLanes> lanes_;
  std::array<unsigned char, kStripe> pending_ = {};  // The bytes since the last whole stripe.
  uint64_t count_ = 0;                               // Of all bytes.
};

// 16 hexadecimal digits, lower case: "ef46db3751d8e999".
std::string DigestText(uint64_t digest);

// DigestText of these bytes alone.
std::string DigestOf(const void* bytes, int64_t count);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DIGEST_DIGEST_H_
