// Sums over the batches of an evaluation, which a program keeps from batch to batch.
//
//   Totals totals;
//   totals.Forget();                                     // An evaluation begins.
//   totals.Add(step, "metric.total", hits, 10, sums);    // For each batch.
#ifndef CLEAVE_RUNTIME_KERNELS_TOTALS_H_
#define CLEAVE_RUNTIME_KERNELS_TOTALS_H_

#include <cstdint>
#include <map>
#include <string>

#include "runtime/device/scalar.h"
#include "runtime/device/workspace.h"

namespace cleave::runtime {

class Totals {
 public:
  // All sums are zero again.
  void Forget();

  // y = x in training. In testing, at step 0, y is the sum of x and of all that was added in testing under this name
  // since they were forgotten. The sum is kept in double. REQUIRES: `count` is the same for the same name.
  void Add(const Scalar<uint64_t>& step, const std::string& name, const float* x, int64_t count, float* y);

 private:
  struct Sum {
    KeptScratch memory;
    double* values = nullptr;
    int64_t bytes = 0;
  };
  std::map<std::string, Sum> sums_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_TOTALS_H_
