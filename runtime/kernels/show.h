// How an Observer shows tensors. Its members that take tensors are defined here: a program that names it needs them.
#ifndef CLEAVE_RUNTIME_KERNELS_SHOW_H_
#define CLEAVE_RUNTIME_KERNELS_SHOW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/kernels/observer.h"

namespace cleave::runtime {

class Observer;  // Defined in observer.h; codegen/runtime_files finds this file by its name.

// "[[1, 2], [3, 4]]", a row per line. If there are more than 1000 elements, only the first and last three per
// dimension, and a line with the number of elements and their smallest, largest and mean value.
template <typename T>
std::string TensorText(const std::vector<int64_t>& shape, const T* values);

// Adds what other ranks have seen since the last Show, for Observer::Join.
void JoinLooks(Observer& observer);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_SHOW_H_
