// Private to runtime/comm/gloo: Gloo's functions that reduce memory, element by element.
#ifndef CLEAVE_RUNTIME_COMM_GLOO_REDUCTIONS_H_
#define CLEAVE_RUNTIME_COMM_GLOO_REDUCTIONS_H_

#include <cstddef>
#include <cstdint>

#include "runtime/comm/comm.h"
#include "runtime/comm/reduce.h"
#include "runtime/device/bfloat16.h"
#include "runtime/device/float16.h"

namespace cleave::runtime {

// result = one (reduction) other, for so many elements. `result` may be `one`.
using ReduceFunction = void (*)(void* result, const void* one, const void* other, size_t count);

template <typename T, Reduction kReduction>
void Reduce(void* result, const void* one, const void* other, size_t count) {
  ReduceElements(kReduction, static_cast<const T*>(one), static_cast<const T*>(other), static_cast<T*>(result),
                 static_cast<int64_t>(count));
}

template <typename T>
ReduceFunction FunctionOf(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum:
      return &Reduce<T, Reduction::kSum>;
    case Reduction::kMax:
      return &Reduce<T, Reduction::kMax>;
    case Reduction::kMin:
      return &Reduce<T, Reduction::kMin>;
    case Reduction::kProd:
      return &Reduce<T, Reduction::kProd>;
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
    case Comm::ElementType::kInt8:
      return FunctionOf<int8_t>(reduction);
    case Comm::ElementType::kBFloat16:
      return FunctionOf<BFloat16>(reduction);
    case Comm::ElementType::kFloat16:
      return FunctionOf<Float16>(reduction);
  }
  return nullptr;
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_GLOO_REDUCTIONS_H_
