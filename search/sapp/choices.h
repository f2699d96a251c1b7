// Which cuts a product has on one mesh axis.
#ifndef CLEAVE_SEARCH_SAPP_CHOICES_H_
#define CLEAVE_SEARCH_SAPP_CHOICES_H_

#include <optional>
#include <vector>

#include "ir/sharding/strategy/strategy.h"

namespace cleave {

// The factor that `axis` cuts; -1 for none.
int FactorCutBy(const Strategy& strategy, AxisId axis);

// Factors of `rule` that may be cut by `axis` beside the other axes of `strategy`: valid, and with an element for each
// piece. In the order of the rule.
std::vector<int> FactorsFor(const Strategy& strategy, const Rule& rule, const Mesh& mesh, AxisId axis);

// Whether no axis is left idle for which a factor has elements.
bool UsesAllAxes(const Strategy& strategy, const Rule& rule, const Mesh& mesh);

// `strategy` with `axis` moved to `factor`, innermost there; nullopt where that is not valid.
std::optional<Strategy> Moved(const Strategy& strategy, const Rule& rule, const Mesh& mesh, int factor, AxisId axis);

// "i: m0 m1, k: m2", or "whole".
std::string CutsText(const Strategy& strategy, const Rule& rule, const Mesh& mesh);

}  // namespace cleave

#endif  // CLEAVE_SEARCH_SAPP_CHOICES_H_
