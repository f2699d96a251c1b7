// What each op adds to the kernel of which it is a part: ops that are emitted as one piece (ir/program/fuse) read what
// comes from outside once, and do not store what only they read.
//
//   const IdVector<ir::OpId, KernelShare> shares = KernelSharesOf(facts, fuse);
//
// The pieces are those of a training step of the program for one rank, without what is aside. In the program of a plan
// a redistribution may divide one of them.
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
  std::vector<uint8_t> reads;  // For each input whether the op is the first of its kernel to read it from memory.
  bool writes = true;          // Whether its value is stored.
  int ops = 1;                 // Of the kernel; 0: it is in none, because its value lies where its inputs do.

  auto operator<=>(const KernelShare&) const = default;
};

IdVector<ir::OpId, KernelShare> KernelSharesOf(const GraphFacts& facts, const ir::FuseOptions& fuse);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_PRICE_COST_KERNEL_SHARE_H_
