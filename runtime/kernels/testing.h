// For tests of the kernels, which are the same for every device: tensors where kernels find them, and comparisons with
// what is computed here in double.
//
//   const Placed<float> x(RandomValues(12, 1));
//   const Placed<float> y(12);
//   Softmax(x, 3, 4, y);
//   ExpectNear(y.Values(), expected, 1e-5);
#ifndef CLEAVE_RUNTIME_KERNELS_TESTING_H_
#define CLEAVE_RUNTIME_KERNELS_TESTING_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

#include "runtime/device/device_vector.h"
#include "runtime/device/reals.h"

namespace cleave::runtime {

inline std::vector<float> RandomValues(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = uniform(random);
  return values;
}

// A tensor that begins `offset` elements after an aligned place. Nothing may be written behind its end.
template <typename T>
class Placed {
 public:
  explicit Placed(const std::vector<T>& values, int64_t offset = 0)
      : offset_(offset), count_(static_cast<int64_t>(values.size())), memory_(Surrounded(values, offset)) {}
  explicit Placed(std::initializer_list<T> values) : Placed(std::vector<T>(values)) {}
  explicit Placed(int64_t count, int64_t offset = 0)
      : Placed(std::vector<T>(static_cast<size_t>(count), T(77)), offset) {}

  T* get() const { return memory_.get() + offset_; }
  operator T*() const { return get(); }          // NOLINT: implicit on purpose, it stands for the tensor in calls.
  operator const T*() const { return get(); }    // NOLINT
  operator ConstReals() const { return get(); }  // NOLINT
  operator Reals() const { return get(); }       // NOLINT

  std::vector<T> Values() const {
    const std::vector<T> all = memory_.Values();
    const auto begin = all.begin() + offset_;
    for (auto at = all.begin(); at != all.end(); ++at) {
      const bool is_outside = at < begin || at >= begin + count_;
      EXPECT_TRUE(!is_outside || static_cast<float>(*at) == 55.0f) << "written beside the tensor";
    }
    return std::vector<T>(begin, begin + count_);
  }

 private:
  static std::vector<T> Surrounded(const std::vector<T>& values, int64_t offset) {
    std::vector<T> all(static_cast<size_t>(offset), T(55));
    all.insert(all.end(), values.begin(), values.end());
    all.resize(all.size() + 9, T(55));
    return all;
  }

  const int64_t offset_;
  const int64_t count_;
  const DeviceVector<T> memory_;
};

// Expects each element to differ from the expected one by at most `relative` times its magnitude, or times the largest
// magnitude (1 at most) if that is more.
inline void ExpectNear(const std::vector<float>& values, const std::vector<double>& expected, double relative) {
  ASSERT_EQ(values.size(), expected.size());
  double largest = 0;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < values.size(); ++i) {
    const double bound = relative * std::max(std::abs(expected[i]), std::min(largest, 1.0));
    ASSERT_NEAR(values[i], expected[i], bound) << "element " << i << " of " << values.size();
  }
}

// Checks dx, given dy, against central differences of sum(dy * f(x)).
template <typename Function>
void CheckGradient(Function f, std::vector<float> x, const std::vector<float>& dy, const std::vector<float>& dx) {
  for (size_t i = 0; i < x.size(); ++i) {
    const float kept = x[i];
    constexpr float kStep = 1e-2f;
    double difference = 0;
    for (const float sign : {1.0f, -1.0f}) {
      x[i] = kept + sign * kStep;
      const std::vector<float> y = f(x);
      for (size_t j = 0; j < y.size(); ++j) difference += static_cast<double>(sign) * dy[j] * y[j];
    }
    x[i] = kept;
    EXPECT_NEAR(dx[i], difference / (2.0 * kStep), 2e-3) << "element " << i;
  }
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_TESTING_H_
