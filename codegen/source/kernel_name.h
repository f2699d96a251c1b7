// The names of kernels.
#ifndef CLEAVE_CODEGEN_SOURCE_KERNEL_NAME_H_
#define CLEAVE_CODEGEN_SOURCE_KERNEL_NAME_H_

#include <string>

#include "absl/strings/string_view.h"
#include "codegen/source/emission.h"

namespace cleave::codegen {

// `wish`, a word for what the kernel computes ("BiasAddRelu"), as a profiler shows it. Where an op or something in the
// runtime has that name, "Kernel" follows, and where another kernel has it, a number: "Relu" becomes "ReluKernel",
// then "ReluKernel_2".
std::string KernelName(Emission& emission, absl::string_view wish);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_KERNEL_NAME_H_
