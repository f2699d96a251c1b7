// Attributes of a function, which hold for every call, and of a loop, which hold for every pass: they pin the tensors
// inside.
//
//   #[layout(x = ("dp", _), weight = ("tp", _))] fn block(x: f32[n, k]) -> f32[n, k] { … }
//   #[shard(x = (4, 1))] for i in 0..depth { … }
//   #[replicate] fn …, #[priority(0)] for …, #[recompute] fn …
#ifndef CLEAVE_FRONTEND_ATTRIBUTES_BLOCK_H_
#define CLEAVE_FRONTEND_ATTRIBUTES_BLOCK_H_

#include <optional>
#include <string>
#include <vector>

#include "frontend/attributes/attributes.h"

namespace cleave::frontend {

// The demand on the tensor called `name`.
struct NamedDemand {
  dsl::syntax::Identifier name;
  Demand demand;
  Span span;

  bool operator==(const NamedDemand&) const = default;
};

// Demands on tensors by their names, or one demand on all ops.
struct BlockDemand {
  std::vector<NamedDemand> named;
  std::optional<Demand> of_ops;
  Span span;

  bool operator==(const BlockDemand&) const = default;
};

// Whether attributes of this name can be on functions and loops.
bool IsBlockAttribute(const std::string& name);

// Nullopt after a mistake, which has been reported. REQUIRES: IsBlockAttribute of its name.
std::optional<BlockDemand> ReadBlockAttribute(const dsl::syntax::Attribute& attribute, const IntEvaluator& evaluate,
                                              Reporter& reporter);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_ATTRIBUTES_BLOCK_H_
