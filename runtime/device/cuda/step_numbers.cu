#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/step_numbers.h"
#include "runtime/device/workspace.h"
#include "runtime/error/error.h"

namespace cleave::runtime {
namespace {

// As an argument of a kernel the values are copied when it is launched: the host may go on to the next step.
struct Values {
  uint64_t step = 0;
  float numbers[StepNumbers::kMost] = {};
};

constexpr int64_t kBytes = sizeof(Values);

__global__ void SetNumbers(Values values, Values* places) {
  if (threadIdx.x == 0) *places = values;
}

}  // namespace

StepNumbers::StepNumbers(int numbers) : numbers_(numbers), step_(static_cast<uint64_t*>(TakeWorkspace(kBytes))) {
  if (numbers > kMost) Die(ExitCode::kInternal, Format("%d numbers of a step; %d are possible", numbers, kMost));
}

StepNumbers::~StepNumbers() { GiveWorkspace(step_, kBytes); }

void StepNumbers::Set(uint64_t step, std::initializer_list<float> values) {
  if (static_cast<int>(values.size()) != numbers_) {
    Die(ExitCode::kInternal, Format("%zu numbers of a step were set, of %d", values.size(), numbers_));
  }
  Values all;
  all.step = step;
  int i = 0;
  for (const float value : values) all.numbers[i++] = value;
  Launch(SetNumbers, {1, 32}, all, reinterpret_cast<Values*>(step_));
}

}  // namespace cleave::runtime
