// Initial values and other random tensors that do not depend on how they are cut: element i of the whole tensor is a
// function of (seed, tensor name, i), so each rank makes exactly its piece.
//
//   const Region piece = {.shape = {512, 784}, .begin = {0, 392}, .size = {512, 392}};
//   FillUniform({seed, "h1.weight"}, piece, -0.087f, 0.087f, h1_weight);
//
// Zeros, ones and constants are FillConstant; the bounds and deviations of he_uniform, he_normal and xavier_uniform are
// computed by the compiler, from the fans of the whole tensor.
#ifndef CLEAVE_RUNTIME_RANDOM_RANDOM_H_
#define CLEAVE_RUNTIME_RANDOM_RANDOM_H_

#include <cstdint>
#include <vector>

#include "runtime/device/portable.h"
#include "runtime/device/scalar.h"
#include "runtime/mesh/mesh.h"
#include "runtime/random/philox.h"

namespace cleave::runtime {

// One stream of random numbers. `step` tells apart draws for the same tensor, as dropout needs.
struct Stream {
  uint64_t seed = 0;
  const char* name = "";
  Scalar<uint64_t> step = 0;
};

// What tells the stream of one seed and name from others.
PhiloxKey StreamKey(const Stream& stream);

// Four words for the elements 4 * block .. 4 * block + 3 of a stream.
class StreamWords {
 public:
  // REQUIRES: the stream's step can be read here.
  explicit StreamWords(const Stream& stream) : StreamWords(StreamKey(stream), stream.step.Get()) {}
  CLEAVE_PORTABLE StreamWords(PhiloxKey key, uint64_t step) : key_(key), step_(step) {}

  CLEAVE_PORTABLE PhiloxBlock Block(uint64_t block) const { return PhiloxAt(key_, block, step_); }

 private:
  PhiloxKey key_;
  uint64_t step_;
};

// Uniform in [low, high).
void FillUniform(const Stream& stream, const Region& piece, float low, float high, float* values);

// Normal, by Box and Muller from the pair of words that an element shares with its neighbour.
void FillNormal(const Stream& stream, const Region& piece, float mean, float deviation, float* values);

// Integers in [0, limit). REQUIRES: limit >= 1.
void FillIntegers(const Stream& stream, const Region& piece, int32_t limit, int32_t* values);

void FillConstant(const Region& piece, float value, float* values);

// The numbers 0 .. count-1 in an order that depends on the stream only (Fisher and Yates).
std::vector<int64_t> Permutation(const Stream& stream, int64_t count);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_RANDOM_RANDOM_H_
