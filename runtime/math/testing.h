// For tests of all implementations.
#ifndef CLEAVE_RUNTIME_MATH_TESTING_H_
#define CLEAVE_RUNTIME_MATH_TESTING_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace cleave::runtime {

// Normally distributed, of mean 0 and variance 1.
template <typename T>
std::vector<T> NormalValues(int64_t count, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<T> values(static_cast<size_t>(count));
  for (T& value : values) value = static_cast<T>(normal(random));
  return values;
}
template <typename T>
std::vector<T> NormalValues(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  return NormalValues<T>(count, random);
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_MATH_TESTING_H_
