// Tensors converted to floats, for processors on which oneDNN can compute in f32 only.
#ifndef CLEAVE_RUNTIME_MATH_ONEDNN_IN_FLOAT_H_
#define CLEAVE_RUNTIME_MATH_ONEDNN_IN_FLOAT_H_

#include <cstddef>
#include <cstdint>

#include "runtime/device/workspace.h"

namespace cleave::runtime {

// A copy of a tensor of 16 bits; of a tensor of floats, that tensor itself.
class ReadAsFloat {
 public:
  ReadAsFloat(const float* values, int64_t) : values_(values) {}
  template <typename Narrow>
  ReadAsFloat(const Narrow* values, int64_t count) : copy_(static_cast<size_t>(count)) {
    for (int64_t i = 0; i < count; ++i) copy_[static_cast<size_t>(i)] = values[i];
    if (values != nullptr) values_ = copy_.data();
  }

  const float* values() const { return values_; }

 private:
  WorkspaceVector<float> copy_;
  const float* values_ = nullptr;
};

// Room for a result, which is rounded into the tensor when this ends; for a tensor of floats, that tensor itself.
template <typename Narrow>
class WrittenAsFloat {
 public:
  WrittenAsFloat(Narrow* target, int64_t count) : target_(target), values_(static_cast<size_t>(count)) {}
  WrittenAsFloat(const WrittenAsFloat&) = delete;
  WrittenAsFloat& operator=(const WrittenAsFloat&) = delete;
  ~WrittenAsFloat() {
    for (size_t i = 0; i < values_.size(); ++i) target_[i] = Narrow(values_[i]);
  }

  float* values() { return values_.data(); }

 private:
  Narrow* target_;
  WorkspaceVector<float> values_;
};

template <>
class WrittenAsFloat<float> {
 public:
  WrittenAsFloat(float* target, int64_t) : target_(target) {}
  float* values() const { return target_; }

 private:
  float* target_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_MATH_ONEDNN_IN_FLOAT_H_
