// Reductions of memory, element by element, for transports whose library has none.
#ifndef CLEAVE_RUNTIME_COMM_REDUCE_H_
#define CLEAVE_RUNTIME_COMM_REDUCE_H_

#include <cstdint>

#include "runtime/comm/comm.h"
#include "runtime/device/portable.h"

namespace cleave::runtime {

// Reduces two elements. A NaN stays a NaN.
template <typename T>
CLEAVE_PORTABLE T Reduced(Reduction reduction, T a, T b) {
  switch (reduction) {
    case Reduction::kSum:
      return a + b;
    case Reduction::kMax:
      return a < b || b != b ? b : a;
    case Reduction::kMin:
      return b < a || b != b ? b : a;
    case Reduction::kProd:
      return a * b;
  }
  return a;
}

// The type in which elements are reduced: float for those of 16 bits.
template <typename T>
struct ReducedIn {
  using Type = T;
};
template <>
struct ReducedIn<BFloat16> {
  using Type = float;
};
template <>
struct ReducedIn<Float16> {
  using Type = float;
};

// result = a (reduction) b, for so many elements. `result` may be `a` or `b`. The reduction is chosen outside of the
// loop where it is a constant.
template <typename T>
inline void ReduceElements(Reduction reduction, const T* a, const T* b, T* result, int64_t count) {
  using Type = typename ReducedIn<T>::Type;
  for (int64_t i = 0; i < count; ++i) {
    result[i] = static_cast<T>(Reduced<Type>(reduction, static_cast<Type>(a[i]), static_cast<Type>(b[i])));
  }
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_REDUCE_H_
