// Numbers that change from step to step, where kernels that were recorded once can read them.
//
//   StepNumbers numbers(2);
//   numbers.Set(step, {learning_rate, bias_correction});
//   Launch(Adam, …, numbers.number(0), numbers.number(1));
#ifndef CLEAVE_RUNTIME_DEVICE_CUDA_STEP_NUMBERS_H_
#define CLEAVE_RUNTIME_DEVICE_CUDA_STEP_NUMBERS_H_

#include <cstdint>
#include <initializer_list>

namespace cleave::runtime {

class StepNumbers {
 public:
  // An optimizer has up to some twenty, and so has each group of parameters. They are an argument of a kernel, of which
  // any device takes 4096 bytes.
  static constexpr int kMost = 512;

  // REQUIRES: numbers <= kMost.
  explicit StepNumbers(int numbers);
  ~StepNumbers();
  StepNumbers(const StepNumbers&) = delete;
  StepNumbers& operator=(const StepNumbers&) = delete;

  // From here on kernels read these. REQUIRES: as many values as there are numbers; not while work is recorded.
  void Set(uint64_t step, std::initializer_list<float> values);

  // Places on the device.
  const uint64_t* step() const { return step_; }
  const float* number(int i) const { return reinterpret_cast<const float*>(step_ + 1) + i; }

 private:
  const int numbers_;
  uint64_t* const step_;  // The step, then the numbers.
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DEVICE_CUDA_STEP_NUMBERS_H_
