// A scalar argument of a runtime function: a number that is known, or the place in memory where the number will be when
// the function runs. On a GPU only the function itself can read that place.
//
//   CrossEntropyGradient(logits, label, 1.0f, …);     // Known.
//   CrossEntropyGradient(logits, label, dloss, …);    // dloss: const float*, of one element.
#ifndef CLEAVE_RUNTIME_DEVICE_SCALAR_H_
#define CLEAVE_RUNTIME_DEVICE_SCALAR_H_

#include <cstdint>
#include <type_traits>

#include "runtime/device/portable.h"

namespace cleave::runtime {

template <typename T>
class Scalar {
 public:
  template <typename Value, typename = std::enable_if_t<std::is_arithmetic_v<Value>>>
  CLEAVE_PORTABLE Scalar(Value value) : value_(static_cast<T>(value)) {}  // NOLINT: implicit on purpose.
  CLEAVE_PORTABLE Scalar(const T* place) : place_(place) {}               // NOLINT

  // REQUIRES: called where the tensors are.
  CLEAVE_PORTABLE T Get() const { return place_ != nullptr ? *place_ : value_; }

 private:
  T value_ = 0;
  const T* place_ = nullptr;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DEVICE_SCALAR_H_
