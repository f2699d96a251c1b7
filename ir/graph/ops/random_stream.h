// Random numbers of the reference evaluation: those that runtime/random draws, so that a generated program can be
// compared with it number by number. Philox 4x32-10: Salmon, Moraes, Dror, Shaw, Parallel Random Numbers: As Easy as 1,
// 2, 3 (SC 2011). Inside of ir/graph/ops only.
#ifndef CLEAVE_IR_GRAPH_OPS_RANDOM_STREAM_H_
#define CLEAVE_IR_GRAPH_OPS_RANDOM_STREAM_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ir/graph/ops/ops.h"

namespace cleave::ir {

// The finaliser of SplitMix64 (Steele, Lea, Flood, 2014): every bit of the result depends on every bit of the value.
uint64_t MixBits(uint64_t value);

// Element i of a stream is a function of (seed, key, step, i).
class RandomStream {
 public:
  RandomStream(uint64_t seed, absl::string_view key, int64_t step);

  // A number in [0, 1), of 24 bits.
  double Uniform(uint64_t element) const;
  // Of mean 0 and deviation 1: Box and Muller, from the pair of words that an element shares with its neighbour.
  double Normal(uint64_t element) const;

 private:
  std::array<uint32_t, 4> WordsOf(uint64_t element) const;

  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 2> step_;
};

// The place in the whole tensor of the element that has the number `local` within a piece. `dimensions`: the ranges of
// the tensor's dimensions, of which one may be several, major first.
uint64_t PlaceInWhole(absl::Span<const FactorRange> dimensions, int64_t local);

// Which elements of a rank's piece of a tensor `dropout` keeps, in a step of training. Keeps references to the
// evaluation and its ranges.
class Keeping {
 public:
  // `dimensions`: as those of PlaceInWhole().
  Keeping(const Evaluation& evaluation, absl::Span<const FactorRange> dimensions);

  // Of the element with this number within the piece.
  bool Keeps(int64_t local) const;

 private:
  const absl::Span<const FactorRange> dimensions_;
  const double rate_;
  const RandomStream draws_;
};

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_RANDOM_STREAM_H_
