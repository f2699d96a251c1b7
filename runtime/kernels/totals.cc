#include "runtime/kernels/totals.h"

#include "runtime/device/memory.h"
#include "runtime/kernels/movement.h"

namespace cleave::runtime {

void Totals::Forget() {
  for (auto& entry : sums_) ZeroBytes(entry.second.values, entry.second.bytes);
}

void Totals::Add(const Scalar<uint64_t>& step, const std::string& name, const float* x, int64_t count, float* y) {
  Sum& sum = sums_[name];
  if (sum.values == nullptr) {
    sum.bytes = count * static_cast<int64_t>(sizeof(double));
    sum.values = reinterpret_cast<double*>(sum.memory.AtLeast(sum.bytes));
    ZeroBytes(sum.values, sum.bytes);
  }
  AddToTotal(step, x, count, sum.values, y);
}

}  // namespace cleave::runtime
