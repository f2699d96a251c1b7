// Real numbers in memory, of a type that is known when the program runs: f32, bf16 or f16. Kernels that memory bounds
// read and write them as f32, and are compiled once instead of for each combination of types. Numbers of 8 bits and
// whole numbers of 32 are only stored and loaded so: no kernel takes them.
//
//   void LayerNorm(ConstReals x, …, Reals y);
//   LayerNorm(x, …, y);                        // x: const float*, y: BFloat16*
#ifndef CLEAVE_RUNTIME_DEVICE_REALS_H_
#define CLEAVE_RUNTIME_DEVICE_REALS_H_

#include <cstddef>
#include <cstdint>

#include "runtime/device/bfloat16.h"
#include "runtime/device/float16.h"
#include "runtime/device/portable.h"

namespace cleave::runtime {

enum class RealType : uint8_t { kF32, kBf16, kF16, kI8, kI32 };

CLEAVE_PORTABLE inline int64_t SizeOf(RealType type) {
  return type == RealType::kF32 || type == RealType::kI32 ? 4 : type == RealType::kI8 ? 1 : 2;
}

class ConstReals {
 public:
  CLEAVE_PORTABLE ConstReals(const float* place) : place_(place), type_(RealType::kF32) {}      // NOLINT: implicit on
  CLEAVE_PORTABLE ConstReals(const BFloat16* place) : place_(place), type_(RealType::kBf16) {}  // NOLINT  purpose.
  CLEAVE_PORTABLE ConstReals(const Float16* place) : place_(place), type_(RealType::kF16) {}    // NOLINT
  // In place of a tensor that is not there.
  CLEAVE_PORTABLE ConstReals(std::nullptr_t) : place_(nullptr), type_(RealType::kF32) {}  // NOLINT

  CLEAVE_PORTABLE RealType type() const { return type_; }
  CLEAVE_PORTABLE const void* place() const { return place_; }

  // REQUIRES: T is the type.
  template <typename T>
  CLEAVE_PORTABLE const T* As() const {
    return static_cast<const T*>(place_);
  }

  CLEAVE_PORTABLE float operator[](int64_t i) const {
    switch (type_) {
      case RealType::kBf16:
        return As<BFloat16>()[i];
      case RealType::kF16:
        return As<Float16>()[i];
      case RealType::kI8:
      case RealType::kI32:
      case RealType::kF32:
        break;
    }
    return As<float>()[i];
  }

  // From element `i` on.
  CLEAVE_PORTABLE ConstReals operator+(int64_t i) const {
    ConstReals rest = *this;
    rest.place_ = static_cast<const char*>(place_) + i * SizeOf(type_);
    return rest;
  }

 private:
  const void* place_;
  RealType type_;
};

class Reals {
 public:
  CLEAVE_PORTABLE Reals(float* place) : place_(place), type_(RealType::kF32) {}      // NOLINT: implicit on purpose.
  CLEAVE_PORTABLE Reals(BFloat16* place) : place_(place), type_(RealType::kBf16) {}  // NOLINT
  CLEAVE_PORTABLE Reals(Float16* place) : place_(place), type_(RealType::kF16) {}    // NOLINT
  CLEAVE_PORTABLE Reals(int8_t* place) : place_(place), type_(RealType::kI8) {}      // NOLINT
  CLEAVE_PORTABLE Reals(int32_t* place) : place_(place), type_(RealType::kI32) {}    // NOLINT
  // In place of a result that is not wanted.
  CLEAVE_PORTABLE Reals(std::nullptr_t) : place_(nullptr), type_(RealType::kF32) {}  // NOLINT

  CLEAVE_PORTABLE RealType type() const { return type_; }
  CLEAVE_PORTABLE void* place() const { return place_; }

  // REQUIRES: T is the type.
  template <typename T>
  CLEAVE_PORTABLE T* As() const {
    return static_cast<T*>(place_);
  }

  CLEAVE_PORTABLE void Set(int64_t i, float value) const {
    switch (type_) {
      case RealType::kBf16:
        As<BFloat16>()[i] = BFloat16(value);
        return;
      case RealType::kF16:
        As<Float16>()[i] = Float16(value);
        return;
      case RealType::kI8:
        As<int8_t>()[i] = static_cast<int8_t>(value);
        return;
      case RealType::kI32:
        As<int32_t>()[i] = static_cast<int32_t>(value);
        return;
      case RealType::kF32:
        break;
    }
    As<float>()[i] = value;
  }

  // From element `i` on.
  CLEAVE_PORTABLE Reals operator+(int64_t i) const {
    Reals rest = *this;
    rest.place_ = static_cast<char*>(place_) + i * SizeOf(type_);
    return rest;
  }

 private:
  void* place_;
  RealType type_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DEVICE_REALS_H_
