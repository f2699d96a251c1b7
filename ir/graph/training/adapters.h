// The form of the adapters of a training: what each adapted weight gets besides (ir/transforms/adapt).
//
//   AdapterText({.rank = 16, .alpha = 32})    "lora(rank = 16, alpha = 32.0)"
//
// Checkpoints keep the text, so that what reads one knows the factor of the changes that are in it.
#ifndef CLEAVE_IR_GRAPH_TRAINING_ADAPTERS_H_
#define CLEAVE_IR_GRAPH_TRAINING_ADAPTERS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace cleave::ir {

// What the names of an adapter's parameters have behind that of the weight. There is no dot before it: in checkpoints
// that would be a state that the optimizer keeps of the weight.
inline constexpr char kAdapterA[] = "_lora_a";
inline constexpr char kAdapterB[] = "_lora_b";
inline constexpr char kAdapterMagnitude[] = "_lora_magnitude";

struct AdapterForm {
  bool has_magnitude = false;   // DoRA, else LoRA.
  int64_t rank = 1;             // Of the change.
  double alpha = 1;             // The change has the factor alpha / rank,
  bool is_rank_stable = false;  // or alpha / sqrt(rank).
  double dropout = 0;           // The share of the inputs that the change does not see in a step of training.
  std::string also = {};        // Patterns of the other parameters that are trained, as the model says them.

  double factor() const;

  bool operator==(const AdapterForm&) const = default;
};

// What has its default is left out, but for alpha.
std::string AdapterText(const AdapterForm& form);

// Nullopt where AdapterText makes no such text.
std::optional<AdapterForm> ParseAdapter(absl::string_view text);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_TRAINING_ADAPTERS_H_
