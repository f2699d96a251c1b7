// Copies between floats of the host and real numbers where tensors lie, which may be of 16 bits, or whole ones of 8.
// Whole numbers of 32 bits are copied as they are: what the host has in place of floats are their bytes.
#ifndef CLEAVE_RUNTIME_DEVICE_ROUNDED_H_
#define CLEAVE_RUNTIME_DEVICE_ROUNDED_H_

#include <cstdint>
#include <cstring>
#include <vector>

#include "runtime/device/memory.h"
#include "runtime/device/reals.h"

namespace cleave::runtime {

// Whether the host has such numbers as they lie.
inline bool IsCopiedAsIs(RealType type) { return type == RealType::kF32 || type == RealType::kI32; }

// Whether the host can write `values` where they are.
inline bool AreWrittenInPlace(const Reals& values) { return TensorsAreOnHost() && IsCopiedAsIs(values.type()); }

// Rounds each number to the type of `target`. The floats may be reused when this returns.
inline void CopyRounded(const float* host, int64_t count, const Reals& target) {
  if (IsCopiedAsIs(target.type())) return CopyToDevice(host, target.place(), count * SizeOf(target.type()));
  std::vector<uint16_t> rounded(static_cast<size_t>(count));
  const Reals narrow = target.type() == RealType::kBf16  ? Reals(reinterpret_cast<BFloat16*>(rounded.data()))
                       : target.type() == RealType::kF16 ? Reals(reinterpret_cast<Float16*>(rounded.data()))
                                                         : Reals(reinterpret_cast<int8_t*>(rounded.data()));
  for (int64_t i = 0; i < count; ++i) narrow.Set(i, host[i]);
  CopyToDevice(rounded.data(), target.place(), count * SizeOf(target.type()));
}

// When all work of the current stream is done.
inline void CopyWidened(const Reals& source, int64_t count, float* host) {
  const void* const there = OnHost(static_cast<const void*>(source.place()), count * SizeOf(source.type()));
  switch (source.type()) {
    case RealType::kF32:
    case RealType::kI32:
      std::memcpy(host, there, static_cast<size_t>(count) * sizeof(float));
      return;
    case RealType::kBf16:
      for (int64_t i = 0; i < count; ++i) host[i] = static_cast<const BFloat16*>(there)[i];
      return;
    case RealType::kF16:
      for (int64_t i = 0; i < count; ++i) host[i] = static_cast<const Float16*>(there)[i];
      return;
    case RealType::kI8:
      for (int64_t i = 0; i < count; ++i) host[i] = static_cast<const int8_t*>(there)[i];
      return;
  }
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DEVICE_ROUNDED_H_
