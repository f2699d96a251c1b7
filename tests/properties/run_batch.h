// Random cases as real programs: generated, compiled, run under mpirun, and compared with the interpreter.
#ifndef CLEAVE_TESTS_PROPERTIES_RUN_BATCH_H_
#define CLEAVE_TESTS_PROPERTIES_RUN_BATCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph/training/training.h"
#include "ir/sharding/mesh/mesh.h"
#include "tests/properties/case.h"

namespace cleave::tests::properties {

struct BatchReport {
  int64_t compared = 0;               // Numbers, on all ranks.
  int64_t left_out = 0;               // Numbers that depend on rounding in f32.
  std::vector<std::string> failures;  // What went wrong, with the seed of the case.

  void Add(const BatchReport& other);

  // Whether the comparison says something. A batch has few cases, and one large graph whose values all depend on
  // rounding may outweigh the others: one number in eight is enough.
  bool ComparesEnough() const { return 8 * compared > left_out; }
  std::string Summary() const;  // The counts, for a test's log.
};

struct BatchCase {
  uint64_t seed = 0;
  PlannedGraph sample;
};

// Runs the cases, all on `mesh`, as one binary in `folder`: two training steps from the same sources on all ranks and
// in the interpreter; then loss, metrics and every parameter are compared on every rank. Files of an earlier batch in
// the folder are used again, so the runtime is compiled once.
BatchReport RunBatch(const std::string& folder, const ir::Mesh& mesh, std::vector<BatchCase> cases,
                     ir::Precision precision);

// The same for the random cases of these seeds.
BatchReport RunBatch(const std::string& folder, const ir::Mesh& mesh, const std::vector<uint64_t>& seeds,
                     const CaseOptions& options);

}  // namespace cleave::tests::properties

#endif  // CLEAVE_TESTS_PROPERTIES_RUN_BATCH_H_
