// What a program includes for ops that its model defines.
#ifndef CLEAVE_CODEGEN_SOURCE_CUSTOM_KERNELS_H_
#define CLEAVE_CODEGEN_SOURCE_CUSTOM_KERNELS_H_

#include <set>
#include <string>

#include "ir/program/program.h"

namespace cleave {

// Their headers, in the output folder: "custom/soft_cap.h".
std::set<std::string> CustomHeaders(const Program& program);

}  // namespace cleave

#endif  // CLEAVE_CODEGEN_SOURCE_CUSTOM_KERNELS_H_
