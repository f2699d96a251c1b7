// Private to runtime/comm/gloo: Gloo's functions that reduce memory, element by element.
#ifndef CLEAVE_RUNTIME_COMM_GLOO_REDUCTIONS_H_
#define CLEAVE_RUNTIME_COMM_GLOO_REDUCTIONS_H_

#include <gloo/math.h>

#include <algorithm>  // gloo/math.h needs it.
#include <cstddef>
#include <cstdint>

#include "runtime/comm/comm.h"
#include "runtime/comm/reduce.h"
#include "runtime/device/bfloat16.h"

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

template <Reduction kReduction>
void ReduceBFloat16(void* result, const void* one, const void* other, size_t count) {
  ReduceElements(kReduction, static_cast<const BFloat16*>(one), static_cast<const BFloat16*>(other),
                 static_cast<BFloat16*>(result), static_cast<int64_t>(count));
}

inline ReduceFunction BFloat16FunctionOf(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum:
      return &ReduceBFloat16<Reduction::kSum>;
    case Reduction::kMax:
      return &ReduceBFloat16<Reduction::kMax>;
    case Reduction::kMin:
      return &ReduceBFloat16<Reduction::kMin>;
    case Reduction::kProd:
      return &ReduceBFloat16<Reduction::kProd>;
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
    case Comm::ElementType::kBFloat16:
      return BFloat16FunctionOf(reduction);
  }
  return nullptr;
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_GLOO_REDUCTIONS_H_
