// The integers that an input of a model may hold.
#ifndef CLEAVE_IR_GRAPH_OPS_LIMIT_H_
#define CLEAVE_IR_GRAPH_OPS_LIMIT_H_

#include <cstdint>
#include <optional>

#include "ir/graph/graph.h"

namespace cleave::ir {

// Integers in [0, limit), or any if it is 0; and `besides`, which is no such integer.
struct IntegerLimit {
  int64_t limit = 0;
  std::optional<int64_t> besides = {};

  bool operator==(const IntegerLimit&) const = default;
};

// Labels are less than the number of classes, tokens less than the number of rows of their table: the smallest bound
// that the uses of `input` set. An integer that all of them leave out, by where(not_equal(input, -100), input, …), may
// be any; metrics may read it.
IntegerLimit LimitOf(const Graph& graph, OpId input);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_LIMIT_H_
