// Finds the ops on whose strategies the price of a value depends. Only for search/oracle.
#ifndef CLEAVE_SEARCH_ORACLE_DEPENDENCIES_H_
#define CLEAVE_SEARCH_ORACLE_DEPENDENCIES_H_

#include <set>
#include <vector>

#include "search/model/facts/facts.h"

namespace cleave::search {

// By value, the ops of `open` that decide its layout and those in which its readers want it. The result may have more
// ops than search/solve/assignment uses, but not fewer.
IdVector<ir::OpId, std::set<ir::OpId>> DecisionsBehindPrices(const GraphFacts& facts,
                                                             const std::vector<ir::OpId>& open);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_ORACLE_DEPENDENCIES_H_
