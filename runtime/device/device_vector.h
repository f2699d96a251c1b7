// For tests: numbers where tensors lie, on a CPU or a GPU.
//
//   const DeviceVector<float> x({1, 2, 3});
//   Negate(x.get(), 3);
//   EXPECT_EQ(x.Values(), std::vector<float>({-1, -2, -3}));
#ifndef CLEAVE_RUNTIME_DEVICE_DEVICE_VECTOR_H_
#define CLEAVE_RUNTIME_DEVICE_DEVICE_VECTOR_H_

#include <cstdint>
#include <vector>

#include "runtime/device/memory.h"
#include "runtime/device/workspace.h"

namespace cleave::runtime {

template <typename T>
class DeviceVector {
 public:
  explicit DeviceVector(const std::vector<T>& values) : DeviceVector(static_cast<int64_t>(values.size())) {
    CopyToDevice(values.data(), data_, Bytes());
  }
  explicit DeviceVector(std::initializer_list<T> values) : DeviceVector(std::vector<T>(values)) {}

  // Its values are not determined.
  explicit DeviceVector(int64_t count) : count_(count), data_(static_cast<T*>(TakeWorkspace(Bytes()))) {}
  ~DeviceVector() { GiveWorkspace(data_, Bytes()); }
  DeviceVector(const DeviceVector&) = delete;
  DeviceVector& operator=(const DeviceVector&) = delete;

  T* get() const { return data_; }
  int64_t size() const { return count_; }

  // The values when all work that was asked for is done.
  std::vector<T> Values() const {
    const T* const host = OnHost(static_cast<const T*>(data_), count_);
    return std::vector<T>(host, host + count_);
  }

 private:
  int64_t Bytes() const { return count_ * static_cast<int64_t>(sizeof(T)); }

  const int64_t count_;
  T* const data_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DEVICE_DEVICE_VECTOR_H_
