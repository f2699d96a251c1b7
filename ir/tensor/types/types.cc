#include "ir/tensor/types/types.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check/check.h"

namespace cleave::ir {

absl::string_view DTypeName(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "f32";
    case DType::kBf16:
      return "bf16";
    case DType::kF16:
      return "f16";
    case DType::kF8E4M3:
      return "f8e4m3";
    case DType::kF8E5M2:
      return "f8e5m2";
    case DType::kI32:
      return "i32";
    case DType::kI8:
      return "i8";
  }
  CLEAVE_UNREACHABLE();
}

std::optional<DType> ParseDType(absl::string_view name) {
  for (DType dtype :
       {DType::kF32, DType::kBf16, DType::kF16, DType::kF8E4M3, DType::kF8E5M2, DType::kI32, DType::kI8}) {
    if (name == DTypeName(dtype)) return dtype;
  }
  return std::nullopt;
}

Bytes ElementSize(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kI32:
      return Bytes(4);
    case DType::kBf16:
    case DType::kF16:
      return Bytes(2);
    case DType::kF8E4M3:
    case DType::kF8E5M2:
    case DType::kI8:
      return Bytes(1);
  }
  CLEAVE_UNREACHABLE();
}

bool Is16Bit(DType dtype) { return dtype == DType::kBf16 || dtype == DType::kF16; }

bool Is8Bit(DType dtype) { return dtype == DType::kF8E4M3 || dtype == DType::kF8E5M2; }

bool IsNarrow(DType dtype) { return Is16Bit(dtype) || Is8Bit(dtype); }

double LargestOf(DType dtype) {
  CLEAVE_CHECK(Is8Bit(dtype)) << DTypeName(dtype);
  return dtype == DType::kF8E4M3 ? 448 : 57344;
}

bool IsInteger(DType dtype) { return dtype == DType::kI32 || dtype == DType::kI8; }

int64_t ElementCount(const Shape& shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}

std::string ShapeText(const Shape& shape) { return shape.empty() ? "scalar" : absl::StrJoin(shape, "x"); }

std::string TensorType::ToString() const {
  return absl::StrCat(DTypeName(dtype), "[", absl::StrJoin(shape, ", "), "]");
}

absl::string_view ReductionName(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum:
      return "sum";
    case Reduction::kMax:
      return "max";
    case Reduction::kMin:
      return "min";
    case Reduction::kProd:
      return "prod";
  }
  CLEAVE_UNREACHABLE();
}

std::optional<Reduction> ParseReduction(absl::string_view name) {
  for (Reduction reduction : {Reduction::kSum, Reduction::kMax, Reduction::kMin, Reduction::kProd}) {
    if (name == ReductionName(reduction)) return reduction;
  }
  return std::nullopt;
}

}  // namespace cleave::ir
