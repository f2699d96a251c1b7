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

// Rank 0 prints the whole tensor, put together from all ranks' pieces. Called by all ranks.
template <typename T>
void Print(Comm& comm, const Shown& shown, const Region& region, const T* values);

// Rank 0 prints every rank's piece and where it lies. Called by all ranks.
template <typename T>
void PrintPieces(Comm& comm, const Shown& shown, const Region& region, const T* values);

// Ends the program with exit code 6 and a message that names tensor, place, rank and element when a value is not
// finite.
void AssertFinite(const Comm& comm, const Shown& shown, int64_t count, const float* values);
inline void AssertFinite(const Comm&, const Shown&, int64_t, const int32_t*) {}

// "[[1, 2], [3, 4]]", a row per line; of more than 1000 elements only the first and last three per dimension.
template <typename T>
std::string TensorText(const std::vector<int64_t>& shape, const T* values);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_SHOW_H_
