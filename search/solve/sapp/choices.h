// The factors of an op that one mesh axis may cut.
#ifndef CLEAVE_SEARCH_SOLVE_SAPP_CHOICES_H_
#define CLEAVE_SEARCH_SOLVE_SAPP_CHOICES_H_

#include <optional>
#include <vector>

#include "ir/sharding/strategy/strategy.h"

namespace cleave::search {

// The factor that `axis` cuts; -1 for none.
int FactorCutBy(const ir::Strategy& strategy, ir::AxisId axis);

// The factors that `axis` may cut in addition to the other axes of `strategy`, into at most MostPieces, in the order of
// the rule.
std::vector<int> FactorsFor(const ir::Strategy& strategy, const ir::Rule& rule, const ir::Mesh& mesh, ir::AxisId axis);

// Whether `strategy` leaves none of `axes` idle for which a factor has elements.
bool UsesAxes(const ir::Strategy& strategy, const ir::Rule& rule, const ir::Mesh& mesh, const ir::AxisList& axes);

// `strategy` with `axis` moved to `factor`, innermost there; nullopt where that is not valid.
std::optional<ir::Strategy> Moved(const ir::Strategy& strategy, const ir::Rule& rule, const ir::Mesh& mesh, int factor,
                                  ir::AxisId axis);

// "i: m0 m1, k: m2", or "whole".
std::string CutsText(const ir::Strategy& strategy, const ir::Rule& rule, const ir::Mesh& mesh);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_SAPP_CHOICES_H_
