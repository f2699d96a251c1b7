// The decisions on which the price of a value depends. Only for search/oracle.
#ifndef CLEAVE_SEARCH_ORACLE_DEPENDENCIES_H_
#define CLEAVE_SEARCH_ORACLE_DEPENDENCIES_H_

#include <set>
#include <vector>

#include "search/model/facts/facts.h"

namespace cleave::search {

// Per value the ops of `open` on whose strategies its price depends: those that decide how it lies and how each of its
// readers wants it. The result may have more ops than search/solve/assignment uses, but not fewer.
IdVector<ir::OpId, std::set<ir::OpId>> DecisionsBehindPrices(const GraphFacts& facts,
                                                             const std::vector<ir::OpId>& open);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_ORACLE_DEPENDENCIES_H_
