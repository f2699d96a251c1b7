// How a parameter gets its first values: `he_uniform()` and the like, computed for a shape.
//
// Fans are PyTorch's: for a weight [outputs, inputs, …] fan-in is inputs and fan-out is outputs, each times the product
// of the dimensions that follow; for a vector both are its length.
#ifndef CLEAVE_FRONTEND_INITIALIZERS_INITIALIZERS_H_
#define CLEAVE_FRONTEND_INITIALIZERS_INITIALIZERS_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "frontend/arguments/arguments.h"
#include "ir/tensor/types/types.h"

namespace cleave::frontend {

// Whether i32 has this number.
bool IsI32(double number);

// The attributes `init`, `first`, `second` and `file` of a `parameter` op.
struct Initialization {
  std::string form;  // "constant" (first), "uniform" (first to second), "normal" (mean first, deviation second), "npy".
  double first = 0;
  double second = 0;
  std::string file = {};

  bool operator==(const Initialization&) const = default;
};

// The signature of the initialiser; nullopt for an unknown name.
std::optional<Signature> InitializerSignature(const std::string& name);
std::vector<std::string> InitializerNames();

// An initialiser whose only argument is the path of a file.
inline constexpr char kNpyInitializer[] = "npy";

// What is wrong with the numbers of an initialiser. `numbers`: per argument of the signature, nullopt for the default.
struct InitializerError {
  int argument = 0;
  std::string message;
};
std::optional<InitializerError> CheckNumbers(const std::string& name, absl::Span<const std::optional<double>> numbers);

// REQUIRES: not kNpyInitializer, and CheckNumbers finds nothing.
Initialization Initialize(const std::string& name, absl::Span<const std::optional<double>> numbers,
                          const ir::Shape& shape);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_INITIALIZERS_INITIALIZERS_H_
