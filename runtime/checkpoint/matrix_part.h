// Matrices that are stored in 8 bits: of each row [.., columns] numbers from -127 to 127, and one scale.
//
//   scale = the largest |w| of the row / 127,    number = w / scale, rounded to the nearest, halves to even
//
// Files have the matrix. Each rank makes what it holds of numbers and scales when it reads first values, from whole
// rows, so both are the same however the matrix is cut.
#ifndef CLEAVE_RUNTIME_CHECKPOINT_MATRIX_PART_H_
#define CLEAVE_RUNTIME_CHECKPOINT_MATRIX_PART_H_

#include <cstdint>
#include <string>

#include "runtime/device/reals.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {

// What a matrix begins with that no file has.
enum class FirstValues : uint8_t { kConstant, kUniform, kNormal, kOfFile };

// What a tensor is of a matrix: its numbers, or the scales of its rows [.., 1].
struct MatrixPart {
  std::string matrix;
  int64_t columns = 1;
  bool is_numbers = true;
  FirstValues first = FirstValues::kConstant;
  // The constant; the bounds; mean and deviation. As for parameters of their own (runtime/kernels/initialize.h).
  float one = 0, other = 0;
};

// The rows of the matrix that are needed for a part that lies so. REQUIRES: it is not local.
TensorLayout RowsOf(const MatrixPart& part, TensorLayout layout);

// Sets a piece of the part from these rows of the matrix, which the host has. A row with a number that is not finite
// has no scale, and gives NaNs.
void SetPart(const MatrixPart& part, const Region& piece, const float* rows, const Reals& values);

// The first values of rows of a matrix. REQUIRES: they are not of a file.
void FillRows(const MatrixPart& part, uint64_t seed, const Region& rows, float* values);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_CHECKPOINT_MATRIX_PART_H_
