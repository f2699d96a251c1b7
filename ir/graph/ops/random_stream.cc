#include "ir/graph/ops/random_stream.h"

namespace cleave::ir {
namespace {

using Words = std::array<uint32_t, 4>;

uint32_t High(uint64_t value) { return static_cast<uint32_t>(value >> 32); }
uint32_t Low(uint64_t value) { return static_cast<uint32_t>(value); }

// FNV-1a, 64 bits.
uint64_t HashText(absl::string_view text) {
  uint64_t hash = 0xCBF29CE484222325;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

Words Philox(Words counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {High(b) ^ counter[1] ^ key[0], Low(b), High(a) ^ counter[3] ^ key[1], Low(a)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

}  // namespace

uint64_t MixBits(uint64_t value) {
  value += 0x9E3779B97F4A7C15;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

RandomStream::RandomStream(uint64_t seed, absl::string_view key, int64_t step) {
  const uint64_t mixed = MixBits(MixBits(seed) ^ HashText(key));
  key_ = {Low(mixed), High(mixed)};
  step_ = {Low(static_cast<uint64_t>(step)), High(static_cast<uint64_t>(step))};
}

double RandomStream::Uniform(uint64_t element) const {
  const uint64_t block = element / 4;
  const Words words = Philox({Low(block), High(block), step_[0], step_[1]}, key_);
  return static_cast<double>(words[element % 4] >> 8) * 0x1p-24;
}

// Compared as generated programs do, in f32.
Keeping::Keeping(const Evaluation& evaluation, absl::Span<const FactorRange> dimensions)
    : dimensions_(dimensions),
      rate_(static_cast<double>(static_cast<float>(evaluation.attributes.Get(attribute::kRate)))),
      draws_(evaluation.seed, evaluation.attributes.Get(attribute::kKey), evaluation.step) {}

bool Keeping::Keeps(int64_t local) const {
  int64_t place = 0;  // In the whole tensor.
  int64_t stride = 1;
  for (size_t d = dimensions_.size(); d-- > 0;) {
    const FactorRange& range = dimensions_[d];
    place += (range.begin + local % range.size) * stride;
    stride *= range.global;
    local /= range.size;
  }
  return draws_.Uniform(static_cast<uint64_t>(place)) >= rate_;
}

}  // namespace cleave::ir
