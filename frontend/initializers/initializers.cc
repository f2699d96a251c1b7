#include "frontend/initializers/initializers.h"

#include <cmath>
#include <cstdint>
#include <limits>

namespace cleave::frontend {
namespace {

struct Fans {
  double in = 1;
  double out = 1;
};

Fans FansOf(const ir::Shape& shape) {
  if (shape.empty()) return {};
  if (shape.size() == 1) return {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  double receptive = 1;
  for (size_t d = 2; d < shape.size(); ++d) receptive *= static_cast<double>(shape[d]);
  return {static_cast<double>(shape[1]) * receptive, static_cast<double>(shape[0]) * receptive};
}

}  // namespace

std::vector<std::string> InitializerNames() {
  return {"zeros",      "ones",      "constant",       "normal",       "uniform",
          "he_uniform", "he_normal", "xavier_uniform", kNpyInitializer};
}

bool IsI32(double number) {
  return number == std::trunc(number) && number >= std::numeric_limits<int32_t>::min() &&
         number <= std::numeric_limits<int32_t>::max();
}

std::optional<Signature> InitializerSignature(const std::string& name) {
  if (name == kNpyInitializer) return Signature{.callee = name, .arguments = {{"path", "path: string", true}}};
  if (name == "constant") return Signature{.callee = name, .arguments = {{"value", "value: float", true}}};
  if (name == "normal") {
    return Signature{
        .callee = name,
        .arguments = {{"mean", "mean: float = 0.0", false}, {"deviation", "deviation: float = 1.0", false}}};
  }
  if (name == "uniform") {
    return Signature{.callee = name,
                     .arguments = {{"low", "low: float = 0.0", false}, {"high", "high: float = 1.0", false}}};
  }
  for (const std::string& known : InitializerNames()) {
    if (name == known) return Signature{.callee = name};
  }
  return std::nullopt;
}

std::optional<InitializerError> CheckNumbers(const std::string& name, absl::Span<const std::optional<double>> numbers) {
  if (name == "normal" && numbers[1].value_or(1) < 0) return InitializerError{1, "a deviation is not negative"};
  if (name == "uniform" && numbers[1].value_or(1) < numbers[0].value_or(0)) {
    return InitializerError{numbers[1] ? 1 : 0, "`high` must not be below `low`"};
  }
  return std::nullopt;
}

Initialization Initialize(const std::string& name, absl::Span<const std::optional<double>> numbers,
                          const ir::Shape& shape) {
  const Fans fans = FansOf(shape);
  if (name == "zeros") return {"constant", 0, 0};
  if (name == "ones") return {"constant", 1, 0};
  if (name == "constant") return {"constant", *numbers[0], 0};
  if (name == "normal") return {"normal", numbers[0].value_or(0), numbers[1].value_or(1)};
  if (name == "uniform") return {"uniform", numbers[0].value_or(0), numbers[1].value_or(1)};
  // He and others 2015: variance 2 / fan-in. Glorot and Bengio 2010: variance 2 / (fan-in + fan-out). A uniform
  // distribution on [-b, b) has variance b^2 / 3.
  if (name == "he_normal") return {"normal", 0, std::sqrt(2 / fans.in)};
  const double bound = name == "he_uniform" ? std::sqrt(6 / fans.in) : std::sqrt(6 / (fans.in + fans.out));
  return {"uniform", -bound, bound};
}

}  // namespace cleave::frontend
