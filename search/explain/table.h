// Text of at most 100 columns.
#ifndef CLEAVE_SEARCH_EXPLAIN_TABLE_H_
#define CLEAVE_SEARCH_EXPLAIN_TABLE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "base/units/units.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/sharding/strategy/strategy.h"
#include "ir/tensor/rule/rule.h"

namespace cleave::search {

constexpr size_t kColumns = 100;

// `text` behind `head`, in lines of at most kColumns; every line but the first is indented. Ends with a newline.
std::string Wrapped(const std::string& head, const std::string& text, size_t indent);

// At most `width` columns of the text, "..." in place of the rest.
std::string Clipped(const std::string& text, size_t width);

// "12.5%"; "-" where `whole` is 0.
std::string Share(double part, double whole);

// "512 FLOP", "29.0 GFLOP": decimal prefixes.
std::string FormatFlops(Flops flops);

// "m0 m1"
std::string AxesText(const ir::AxisList& axes, const ir::Mesh& mesh);

// "29,491" bytes, "1.25 ms": a cost in the price of a search.
std::string CostText(double cost, const std::string& price);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_EXPLAIN_TABLE_H_
