// The passes of the model's loops to which an op belongs.
#ifndef CLEAVE_CODEGEN_ROLL_PASSES_H_
#define CLEAVE_CODEGEN_ROLL_PASSES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>

#include "ir/graph/repetition.h"

namespace cleave::codegen {

using Passes = ir::LoopPasses;

// A loop within certain passes of the loops around it.
struct LoopKey {
  Passes outer;
  ir::TextPlace loop = 0;

  bool operator==(const LoopKey& other) const { return outer == other.outer && loop == other.loop; }
  bool operator<(const LoopKey& other) const { return std::tie(outer, loop) < std::tie(other.outer, other.loop); }
};

// The loop of the pass at `depth`.
inline LoopKey LoopAt(const Passes& passes, size_t depth) {
  return {Passes(passes.begin(), passes.begin() + static_cast<std::ptrdiff_t>(depth)), passes[depth].loop};
}

// Which pass of the loop it is; nullopt for what stands outside of it.
inline std::optional<int64_t> NumberIn(const LoopKey& loop, const Passes& passes) {
  const size_t depth = loop.outer.size();
  if (passes.size() <= depth || LoopAt(passes, depth) != loop) return std::nullopt;
  return passes[depth].number;
}

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_ROLL_PASSES_H_
