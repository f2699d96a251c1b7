// Quantities with a unit: sizes in bytes, times in seconds, arithmetic work in floating-point operations.
//
//   Bytes moved = Bytes(4) * 1024;
//   FormatBytes(moved) == "4.0 KiB"
#ifndef CLEAVE_BASE_UNITS_UNITS_H_
#define CLEAVE_BASE_UNITS_UNITS_H_

#include <compare>
#include <cstdint>
#include <string>

namespace cleave {

// A number with a unit. Adds and compares with its own kind, scales with plain numbers.
template <typename Tag, typename Number>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(Number value) : value_(value) {}
  constexpr Number value() const { return value_; }

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity operator+(Quantity other) const { return Quantity(value_ + other.value_); }
  constexpr Quantity operator-(Quantity other) const { return Quantity(value_ - other.value_); }
  constexpr Quantity operator*(Number factor) const { return Quantity(value_ * factor); }
  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }

 private:
  Number value_ = 0;
};

using Bytes = Quantity<struct BytesTag, int64_t>;
using Seconds = Quantity<struct SecondsTag, double>;
using Flops = Quantity<struct FlopsTag, double>;  // Operations, not operations per second.

// "512 B", "4.0 KiB", "1.5 GiB": three digits at most before the point, binary prefixes.
std::string FormatBytes(Bytes bytes);

// "850 ns", "3.21 ms", "1.50 s".
std::string FormatSeconds(Seconds seconds);

}  // namespace cleave

#endif  // CLEAVE_BASE_UNITS_UNITS_H_
