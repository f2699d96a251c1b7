// The collectives of a training step as a table.
#ifndef CLEAVE_SEARCH_EXPLAIN_COLLECTIVES_H_
#define CLEAVE_SEARCH_EXPLAIN_COLLECTIVES_H_

#include <functional>
#include <string>

#include "ir/program/program.h"

namespace cleave::search {

// The collectives that `wanted` accepts: kind, phase, axes, bytes sent per rank, share of all bytes, line, cause. Equal
// collectives of repeated layers are one line, with their number and sum. Empty when there are none.
std::string CollectiveTable(const ir::Program& program, const std::function<bool(const ir::Collective&)>& wanted);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_EXPLAIN_COLLECTIVES_H_
