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

  // Those of the lane and of its neighbour, in order.
  struct Pair {
    float first;
    float second;
  };

  CLEAVE_PORTABLE Pair PairOf(const PhiloxBlock& block, size_t lane) const {
    const Polar polar(block, lane);
    return {Scaled(polar.radius * std::cos(polar.angle)), Scaled(polar.radius * std::sin(polar.angle))};
  }

  CLEAVE_PORTABLE float operator()(const PhiloxBlock& block, size_t lane) const {
    const Polar polar(block, lane);
    return Scaled(polar.radius * (lane % 2 == 0 ? std::cos(polar.angle) : std::sin(polar.angle)));
  }

 private:
  struct Polar {
    double radius;
    double angle;

    CLEAVE_PORTABLE Polar(const PhiloxBlock& block, size_t lane) {
      constexpr double kTwoPi = 6.283185307179586;
      const size_t pair = lane / 2 * 2;
      radius = std::sqrt(-2 * std::log(UnitDouble(block[pair])));
      angle = kTwoPi * UnitDouble(block[pair + 1]);
    }
  };

  CLEAVE_PORTABLE float Scaled(double normal) const { return static_cast<float>(mean_ + deviation_ * normal); }

  double mean_;
  double deviation_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_RANDOM_DRAWS_H_
