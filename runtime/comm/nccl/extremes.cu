#include <cstring>
#include <limits>
#include <type_traits>

#include "runtime/comm/nccl/extremes.h"
#include "runtime/device/bfloat16.h"
#include "runtime/device/cuda/cuda.h"
#include "runtime/device/float16.h"
#include "runtime/device/workspace.h"

namespace cleave::runtime {
namespace {

using ElementType = Transport::ElementType;

// The key of a number of 16 bits is that of the float that it equals.
template <typename T>
struct KeyOf {
  using Number = float;
  using Key = int32_t;
};
template <>
struct KeyOf<double> {
  using Number = double;
  using Key = int64_t;
};

template <typename Key>
constexpr Key kAllButTheSign = std::numeric_limits<Key>::max();

// The bits of a positive number, read as an integer, grow with it; those of a negative one fall, unless all but the
// sign are turned around. Doing that twice gives the bits again.
template <typename Key>
__device__ Key Turned(Key bits) {
  return bits < 0 ? bits ^ kAllButTheSign<Key> : bits;
}

// `nan` is the key of every NaN.
template <typename T>
__global__ void ToKeys(int64_t count, const T* numbers, typename KeyOf<T>::Key nan, typename KeyOf<T>::Key* keys) {
  for (int64_t i = FirstElement(); i < count; i += ElementStride()) {
    const typename KeyOf<T>::Number number = numbers[i];
    typename KeyOf<T>::Key bits;
    std::memcpy(&bits, &number, sizeof bits);
    keys[i] = number != number ? nan : Turned(bits);
  }
}

// The largest and the smallest key are the bits of NaNs.
template <typename T>
__global__ void FromKeys(int64_t count, const typename KeyOf<T>::Key* keys, T* numbers) {
  for (int64_t i = FirstElement(); i < count; i += ElementStride()) {
    const typename KeyOf<T>::Key bits = Turned(keys[i]);
    typename KeyOf<T>::Number number;
    std::memcpy(&number, &bits, sizeof number);
    numbers[i] = static_cast<T>(number);
  }
}

// Calls act(T*) with `numbers` as what they are.
template <typename Act>
void WithNumbers(ElementType type, void* numbers, const Act& act) {
  switch (type) {
    case ElementType::kFloat:
      return act(static_cast<float*>(numbers));
    case ElementType::kDouble:
      return act(static_cast<double*>(numbers));
    case ElementType::kBFloat16:
      return act(static_cast<BFloat16*>(numbers));
    case ElementType::kFloat16:
      return act(static_cast<Float16*>(numbers));
    case ElementType::kInt32:
    case ElementType::kInt8:
      return;  // Its own key.
  }
}

}  // namespace

bool IsByKeys(ElementType type, Reduction reduction) {
  return type != ElementType::kInt32 && type != ElementType::kInt8 &&
         (reduction == Reduction::kMax || reduction == Reduction::kMin);
}

Keys::Keys(ElementType type, const void* numbers, int64_t count, Reduction reduction)
    : type_(type), bytes_(count * size()), keys_(static_cast<std::byte*>(TakeWorkspace(bytes_))) {
  WithNumbers(type, const_cast<void*>(numbers), [&](auto* typed) {
    using T = std::remove_pointer_t<decltype(typed)>;
    using Key = typename KeyOf<T>::Key;
    using Limits = std::numeric_limits<Key>;
    Launch(ToKeys<T>, ForElements(count), count, static_cast<const T*>(typed),
           reduction == Reduction::kMax ? Limits::max() : Limits::min(), reinterpret_cast<Key*>(keys_));
  });
}

Keys::~Keys() { GiveWorkspace(keys_, bytes_); }

void Keys::ToNumbers(int64_t first, int64_t count, void* numbers) const {
  WithNumbers(type_, numbers, [&](auto* typed) {
    using T = std::remove_pointer_t<decltype(typed)>;
    const auto* keys = reinterpret_cast<const typename KeyOf<T>::Key*>(keys_) + first;
    Launch(FromKeys<T>, ForElements(count), count, keys, typed);
  });
}

}  // namespace cleave::runtime
