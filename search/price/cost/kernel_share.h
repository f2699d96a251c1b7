// The memory traffic that each op adds to its kernel: ops that are fused (ir/program/fuse) read inputs from outside
// once, and do not store what only they read.
//
//   const IdVector<ir::OpId, KernelShare> shares = KernelSharesOf(facts, fuse);
//
// The kernels are those of the program for one rank, without ops that are aside. In the program of a plan a
// redistribution may divide one of them.
#ifndef CLEAVE_SEARCH_PRICE_COST_KERNEL_SHARE_H_
#define CLEAVE_SEARCH_PRICE_COST_KERNEL_SHARE_H_

#include <cstdint>
#include <vector>

#include "base/strong_id/strong_id.h"
#include "ir/graph/graph.h"
#include "ir/program/fuse/fuse.h"
#include "search/model/facts/facts.h"

namespace cleave::search {

struct KernelShare {
  std::vector<uint8_t> reads;  // By input, whether the op is the first of its kernel to read it.
  bool writes = true;          // Whether its value is written to memory.
  int ops = 1;                 // Of the kernel; 0: none, because its value is an alias of its inputs.

  auto operator<=>(const KernelShare&) const = default;
};

IdVector<ir::OpId, KernelShare> KernelSharesOf(const GraphFacts& facts, const ir::FuseOptions& fuse);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_PRICE_COST_KERNEL_SHARE_H_
