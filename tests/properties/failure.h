// Whether a case fails, and the report of the failure for people.
#ifndef CLEAVE_TESTS_PROPERTIES_FAILURE_H_
#define CLEAVE_TESTS_PROPERTIES_FAILURE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "tests/properties/case.h"
#include "tests/properties/coverage.h"

namespace cleave::tests::properties {

struct CheckOptions {
  bool with_proof = false;  // Also run the simulated half of the compiler's own proof.
};

// The stages in order: graph and plan are valid, partition accepts them, the static check finds no error, every value
// of forward, backward and update on every rank equals that of one device, and the proof accepts the program. Returns
// the first error, after the name of the stage and a colon. Counts the contents of the program in `coverage`, if that
// is given.
std::optional<std::string> FindFailure(const PlannedGraph& sample, const CheckOptions& options,
                                       Coverage* coverage = nullptr);

// The failure and the smallest case that fails in the same stage: its graph, plan and program.
std::string FailureReport(uint64_t seed, const PlannedGraph& sample, const std::string& failure,
                          const CheckOptions& options);

}  // namespace cleave::tests::properties

#endif  // CLEAVE_TESTS_PROPERTIES_FAILURE_H_
