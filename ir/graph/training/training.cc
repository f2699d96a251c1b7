#include "ir/graph/training/training.h"

#include "base/check/check.h"

namespace cleave::ir {

absl::string_view ModeName(Mode mode) {
  switch (mode) {
    case Mode::kTrain:
      return "train";
    case Mode::kEvaluate:
      return "evaluate";
    case Mode::kPredict:
      return "predict";
    case Mode::kGenerate:
      return "generate";
  }
  return "";
}

std::optional<Mode> ParseMode(absl::string_view name) {
  for (const Mode mode : {Mode::kTrain, Mode::kEvaluate, Mode::kPredict, Mode::kGenerate}) {
    if (ModeName(mode) == name) return mode;
  }
  return std::nullopt;
}

absl::string_view PrecisionName(Precision precision) {
  switch (precision) {
    case Precision::kF32:
      return "f32";
    case Precision::kTf32:
      return "tf32";
    case Precision::kBf16:
      return "bf16";
    case Precision::kF16:
      return "f16";
    case Precision::kFp8:
      return "fp8";
  }
  CLEAVE_UNREACHABLE();
}

std::optional<Precision> ParsePrecision(absl::string_view name) {
  for (Precision precision : {Precision::kF32, Precision::kTf32, Precision::kBf16, Precision::kF16, Precision::kFp8}) {
    if (name == PrecisionName(precision)) return precision;
  }
  return std::nullopt;
}

}  // namespace cleave::ir
