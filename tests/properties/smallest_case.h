// The smallest case that still fails.
#ifndef CLEAVE_TESTS_PROPERTIES_SMALLEST_CASE_H_
#define CLEAVE_TESTS_PROPERTIES_SMALLEST_CASE_H_

#include <functional>

#include "tests/properties/case.h"

namespace cleave::tests::properties {

// Makes a failing case smaller, one step after another, as long as `fails` says that it still does: results nobody
// needs, ops turned into inputs, mesh axes, cuts, passes and layouts left out, sizes. Deterministic. REQUIRES:
// fails(sample).
PlannedGraph SmallestCase(PlannedGraph sample, const std::function<bool(const PlannedGraph&)>& fails);

}  // namespace cleave::tests::properties

#endif  // CLEAVE_TESTS_PROPERTIES_SMALLEST_CASE_H_
