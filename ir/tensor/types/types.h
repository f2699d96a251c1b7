// Element types, shapes and tensor types: static, known at compile time.
//
//   TensorType image{DType::kF32, {256, 1, 28, 28}};
//   image.ToString() == "f32[256, 1, 28, 28]"
#ifndef CLEAVE_IR_TENSOR_TYPES_TYPES_H_
#define CLEAVE_IR_TENSOR_TYPES_TYPES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/units/units.h"

namespace cleave::ir {

// kBf16 has the 8 bits of f32's exponent and 7 of its fraction, kF16 (IEEE 754's binary16) 5 and 10. kF8E4M3 and
// kF8E5M2 have 4 and 3, and 5 and 2 (OCP 8-bit Floating Point Specification, 2023). kI8 are numbers from -127 to 127,
// of which matrices that nothing trains are stored (ir/transforms/quantize).
enum class DType { kF32, kBf16, kF16, kF8E4M3, kF8E5M2, kI32, kI8 };

absl::string_view DTypeName(DType dtype);  // "f32"
std::optional<DType> ParseDType(absl::string_view name);
Bytes ElementSize(DType dtype);
bool Is16Bit(DType dtype);   // Real numbers that are stored in 16 bits and computed with in f32.
bool Is8Bit(DType dtype);    // Real numbers of 8 bits: factors of products, which only `quantize` makes.
bool IsNarrow(DType dtype);  // Real numbers that are computed with in f32: of 16 or 8 bits.
bool IsInteger(DType dtype);

// The largest number of a type of 8 bits. REQUIRES: Is8Bit(dtype).
double LargestOf(DType dtype);

// Sizes of the dimensions, outermost first; empty for a scalar. A local shape may hold zeros (a rank without elements).
using Shape = std::vector<int64_t>;

// A whole tensor has at most this many elements: their numbers are exact in int64_t and in double, and its bytes fit
// int64_t.
inline constexpr int64_t kMaxElements = (int64_t{1} << 53) - 1;

// One rank holds at most this many elements of a tensor, and sends at most as many in one call, because MPI counts them
// in 32 bits.
inline constexpr int64_t kMaxRankElements = (int64_t{1} << 31) - 1;

int64_t ElementCount(const Shape& shape);   // 1 for a scalar.
std::string ShapeText(const Shape& shape);  // "256x784"; "scalar" for a scalar.

struct TensorType {
  DType dtype = DType::kF32;
  Shape shape;

  int rank() const { return static_cast<int>(shape.size()); }
  int64_t elements() const { return ElementCount(shape); }
  Bytes bytes() const { return ElementSize(dtype) * elements(); }
  std::string ToString() const;  // "f32[256, 784]", "f32[]"

  bool operator==(const TensorType&) const = default;
};

// How the parts of a partial tensor, or the elements of a reduced dimension, are combined.
enum class Reduction { kSum, kMax, kMin, kProd };

absl::string_view ReductionName(Reduction reduction);  // "sum"
std::optional<Reduction> ParseReduction(absl::string_view name);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TENSOR_TYPES_TYPES_H_
