// The smallest case that still fails.
#ifndef CLEAVE_TESTS_PROPERTIES_SMALLEST_CASE_H_
#define CLEAVE_TESTS_PROPERTIES_SMALLEST_CASE_H_

#include <functional>

#include "tests/properties/case.h"

namespace cleave::tests::properties {

// Makes a failing case smaller, one step after another, as long as `fails` says that it still fails: leaves out
// results, mesh axes, cuts, passes and layouts, turns ops into inputs, and reduces sizes. Deterministic. REQUIRES:
// fails(sample).
PlannedGraph SmallestCase(PlannedGraph sample, const std::function<bool(const PlannedGraph&)>& fails);

}  // namespace cleave::tests::properties

#endif  // CLEAVE_TESTS_PROPERTIES_SMALLEST_CASE_H_
