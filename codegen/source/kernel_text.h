// Functions that the loops of a program have in common: kernels on a GPU, updates of parameters on a CPU.
#ifndef CLEAVE_CODEGEN_SOURCE_KERNEL_TEXT_H_
#define CLEAVE_CODEGEN_SOURCE_KERNEL_TEXT_H_

#include <string>

#include "codegen/source/emission.h"

namespace cleave::codegen {

// A function above the program's struct that loops have in common.
struct KernelText {
  std::string wish;  // A word for what it computes, as a profiler shows it: "BiasAddRelu".
  cpp::Function head;
  cpp::Code body;
};

// Writes the function unless the program has one with the same text, and returns its name: the wish; where an op or
// something in the runtime is called so, "Kernel" follows, and where another kernel is, a number: "Relu" becomes
// "ReluKernel", then "ReluKernel_2".
const std::string& WriteKernel(Emission& emission, KernelText kernel);

// The same for a struct with these fields that kernels of this wish take.
const std::string& WriteKernelStruct(Emission& emission, absl::string_view wish, cpp::Code fields);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_KERNEL_TEXT_H_
