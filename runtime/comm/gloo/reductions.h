// Private to runtime/comm/gloo: Gloo's functions that reduce memory, element by element.
#ifndef CLEAVE_RUNTIME_COMM_GLOO_REDUCTIONS_H_
#define CLEAVE_RUNTIME_COMM_GLOO_REDUCTIONS_H_

#include <gloo/math.h>

#include <algorithm>  // gloo/math.h needs it.
#include <cstddef>
#include <cstdint>

#include "runtime/comm/comm.h"

namespace cleave::runtime {

// result = one (reduction) other, for so many elements. `result` may be `one`.
using ReduceFunction = void (*)(void* result, const void* one, const void* other, size_t count);

template <typename T>
ReduceFunction FunctionOf(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum:
      return &gloo::sum<T>;
    case Reduction::kMax:
      return &gloo::max<T>;
    case Reduction::kMin:
      return &gloo::min<T>;
    case Reduction::kProd:
      return &gloo::product<T>;
  }
  return nullptr;
}

inline ReduceFunction FunctionOf(Comm::ElementType type, Reduction reduction) {
  switch (type) {
    case Comm::ElementType::kFloat:
      return FunctionOf<float>(reduction);
    case Comm::ElementType::kDouble:
      return FunctionOf<double>(reduction);
    case Comm::ElementType::kInt32:
      return FunctionOf<int32_t>(reduction);
  }
  return nullptr;
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_GLOO_REDUCTIONS_H_
