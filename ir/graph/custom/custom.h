// One call, in a graph, of an op that the model defines, `op soft_cap(x: f32[n, k], cap: float) -> f32[n, k] { … }`:
// the attributes of the ops `custom` and `custom_gradient`.
//
//   {arguments = "x, cap = 30.0", body = "custom/soft_cap.h", linear = "", op = "soft_cap", rule = "n k -> n k",
//    whole = ""}
#ifndef CLEAVE_IR_GRAPH_CUSTOM_CUSTOM_H_
#define CLEAVE_IR_GRAPH_CUSTOM_CUSTOM_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/graph/graph.h"
#include "ir/tensor/types/types.h"

namespace cleave::ir {

struct CustomArgument {
  std::string name;
  std::optional<std::variant<bool, int64_t, double>> value = {};  // Of a number; a tensor has none.

  bool operator==(const CustomArgument&) const = default;
};

struct CustomForm {
  std::string name;                       // "soft_cap"
  std::vector<CustomArgument> arguments;  // In the order of the signature.
  std::string rule = {};                // A formula (ir/tensor/formula) without `..`; empty: every dimension is whole.
  std::vector<std::string> whole = {};  // Indexes of the rule that must not be cut.
  std::vector<std::vector<std::string>> linear = {};  // Groups of tensors in which the op is linear.
  std::string body;                                   // The header with the C++ body, in the output folder.

  // Names of the tensors, which are the op's inputs in this order.
  std::vector<std::string> Tensors() const;
  // `linear` as indexes of inputs.
  std::vector<std::vector<int>> LinearInputs() const;

  void Write(Attributes& attributes) const;
  // An InvalidArgument error if the texts do not have the form above.
  static absl::StatusOr<CustomForm> Read(const Attributes& attributes);

  bool operator==(const CustomForm&) const = default;
};

// The function that computes the gradient of input `input`: "soft_cap_backward", or "soft_cap_backward_x" if several
// inputs are f32. `dtypes` are those of the inputs.
std::string BackwardName(const CustomForm& form, absl::Span<const DType> dtypes, size_t input);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_CUSTOM_CUSTOM_H_
