// Random numbers of one element, from the words of its block: the same wherever the tensor lies.
#ifndef CLEAVE_RUNTIME_RANDOM_DRAWS_H_
#define CLEAVE_RUNTIME_RANDOM_DRAWS_H_

#include <cmath>
#include <cstddef>

#include "runtime/device/portable.h"
#include "runtime/random/philox.h"

namespace cleave::runtime {

// Uniform in [low, high).
class UniformDraw {
 public:
  UniformDraw(float low, float high)
      // Rounding may reach `high` itself; the number below it keeps the interval half-open.
      : low_(low), width_(high - low), last_(low < high ? std::nextafter(high, low) : low) {}

  // The product and the sum are each rounded to float. They are computed in double, which gives the same numbers, so
  // that no compiler contracts them to a fused multiply-add, which would round only once.
  CLEAVE_PORTABLE float operator()(const PhiloxBlock& block, size_t lane) const {
    const float product = static_cast<float>(static_cast<double>(width_) * UnitFloat(block[lane]));
    const float value = static_cast<float>(static_cast<double>(low_) + product);
    return value < last_ ? value : last_;
  }

 private:
  float low_;
  float width_;
  float last_;
};

// Normal, by Box and Muller from the pair of words that an element shares with its neighbour.
class NormalDraw {
 public:
  NormalDraw(float mean, float deviation) : mean_(mean), deviation_(deviation) {}

  CLEAVE_PORTABLE float operator()(const PhiloxBlock& block, size_t lane) const {
    constexpr double kTwoPi = 6.283185307179586;
    const size_t pair = lane / 2 * 2;
    const double radius = std::sqrt(-2 * std::log(UnitDouble(block[pair])));
    const double angle = kTwoPi * UnitDouble(block[pair + 1]);
    const double normal = radius * (lane % 2 == 0 ? std::cos(angle) : std::sin(angle));
    return static_cast<float>(mean_ + deviation_ * normal);
  }

 private:
  double mean_;
  double deviation_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_RANDOM_DRAWS_H_
