// Showing and checking values while a model trains: `print` and `assert_finite`.
#ifndef CLEAVE_RUNTIME_KERNELS_SHOW_H_
#define CLEAVE_RUNTIME_KERNELS_SHOW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/comm/comm.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {

// What is shown, and where the model asks for it: "h1", "mnist_mlp.model:7".
struct Shown {
  const char* name = "";
  const char* place = "";
};

// All of these are called by all ranks, and rank 0 prints. They change no value; what they print is in
// docs/formats/run.md. T is float, int32_t or BFloat16.

// Prints the whole tensor, put together from the pieces that the ranks have in any layout.
template <typename T>
void Print(Comm& comm, const Shown& shown, const Region& region, const T* values);

// Prints every rank's piece and where it lies.
template <typename T>
void PrintPieces(Comm& comm, const Shown& shown, const Region& region, const T* values);

// For a model in which each rank has a tensor of its own: prints the tensor once where all ranks have the same one, and
// otherwise the tensor of every rank.
template <typename T>
void PrintRanks(Comm& comm, const Shown& shown, const std::vector<int64_t>& shape, const T* values);

// Ends the program with exit code 6 and a message that names tensor, place, rank and element when a value is not
// finite.
template <typename T>
void AssertFinite(const Comm& comm, const Shown& shown, int64_t count, const T* values);
inline void AssertFinite(const Comm&, const Shown&, int64_t, const int32_t*) {}

// "[[1, 2], [3, 4]]", a row per line. If there are more than 1000 elements, only the first and last three per
// dimension, and a line with the number of elements and their smallest, largest and mean value.
template <typename T>
std::string TensorText(const std::vector<int64_t>& shape, const T* values);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_SHOW_H_
