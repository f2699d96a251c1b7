#include "ir/graph/ops/random_stream.h"

#include <cmath>

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

Words RandomStream::WordsOf(uint64_t element) const {
  const uint64_t block = element / 4;
  return Philox({Low(block), High(block), step_[0], step_[1]}, key_);
}

double RandomStream::Uniform(uint64_t element) const {
  return static_cast<double>(WordsOf(element)[element % 4] >> 8) * 0x1p-24;
}

double RandomStream::Normal(uint64_t element) const {
  constexpr double kTwoPi = 6.283185307179586;
  const auto unit = [](uint32_t word) { return (static_cast<double>(word) + 1) * 0x1p-32; };  // In (0, 1].
  const Words words = WordsOf(element);
  const size_t pair = element % 4 / 2 * 2;
  const double radius = std::sqrt(-2 * std::log(unit(words[pair])));
  const double angle = kTwoPi * unit(words[pair + 1]);
  return radius * (element % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

uint64_t PlaceInWhole(absl::Span<const FactorRange> dimensions, int64_t local) {
  int64_t place = 0;
  int64_t stride = 1;
  for (size_t d = dimensions.size(); d-- > 0;) {
    const FactorRange& range = dimensions[d];
    place += (range.begin + local % range.size) * stride;
    stride *= range.global;
    local /= range.size;
  }
  return static_cast<uint64_t>(place);
}

// Compared as generated programs do, in f32.
Keeping::Keeping(const Evaluation& evaluation, absl::Span<const FactorRange> dimensions)
    : dimensions_(dimensions),
      rate_(static_cast<double>(static_cast<float>(evaluation.attributes.Get(attribute::kRate)))),
      draws_(evaluation.seed, evaluation.attributes.Get(attribute::kKey), evaluation.step) {}

bool Keeping::Keeps(int64_t local) const { return draws_.Uniform(PlaceInWhole(dimensions_, local)) >= rate_; }

}  // namespace cleave::ir
