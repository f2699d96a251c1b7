// The smallest case that still fails.
#ifndef CLEAVE_TESTS_PROPERTIES_SMALLEST_CASE_H_
#define CLEAVE_TESTS_PROPERTIES_SMALLEST_CASE_H_

#include <functional>

#include "tests/properties/case.h"

namespace cleave::properties {

// Makes a failing case smaller, one step after another, as long as `fails` is still true: removes results, turns ops
// into inputs, removes mesh axes, cuts, passes and layouts, and reduces sizes. Deterministic. REQUIRES: fails(sample).
Case SmallestCase(Case sample, const std::function<bool(const Case&)>& fails);

}  // namespace cleave::properties

#endif  // CLEAVE_TESTS_PROPERTIES_SMALLEST_CASE_H_
