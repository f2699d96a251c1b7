// The properties of a target on which the predicted time and memory of a program depend.
#ifndef CLEAVE_SEARCH_PRICE_COST_EXECUTION_H_
#define CLEAVE_SEARCH_PRICE_COST_EXECUTION_H_

#include <memory>

#include "ir/program/fuse/fuse.h"
#include "ir/program/memory/memory.h"

namespace cleave::search {

class SharedPrograms;

struct Execution {
  ir::FuseOptions fuse = {};  // What it computes as one kernel.
  // Whether collectives are sure to run beside kernels that do not need them; on a CPU that depends on where the
  // program is started.
  bool overlaps = false;
  ir::CheckpointCopy checkpoint = ir::CheckpointCopy::kNone;
  // What programs share that are made for one search (shared_programs.h); null: nothing.
  std::shared_ptr<SharedPrograms> shared = nullptr;

  bool operator==(const Execution&) const = default;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_PRICE_COST_EXECUTION_H_
