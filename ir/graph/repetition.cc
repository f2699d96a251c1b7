#include "ir/graph/repetition.h"

namespace cleave::ir {
namespace {

// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): a bijection in which each bit of the input changes each bit of
// the result with a probability of about one half.
uint64_t Mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

TextPlace Within(TextPlace place, uint64_t number) { return Mixed(Mixed(place) ^ number); }

TextPlace Within(TextPlace place, absl::string_view what) {
  for (const char c : what) place = Within(place, static_cast<uint64_t>(static_cast<unsigned char>(c)));
  return Within(place, what.size() + 256);
}

Repetition InPass(const Repetition& around, TextPlace loop, int64_t number) {
  Repetition pass{.place = Within(loop, "pass"), .passes = around.passes};
  pass.passes.push_back({.loop = loop, .number = number});
  return pass;
}

Repetition Derived(const Repetition& of, absl::string_view role) {
  if (!of.is_repeated()) return {};
  return {.place = Within(of.place, role), .passes = of.passes};
}

}  // namespace cleave::ir
