// Gives random models to the whole compiler: text, search, split, proof, sources.
#ifndef CLEAVE_TESTS_PROPERTIES_MODEL_CHECK_H_
#define CLEAVE_TESTS_PROPERTIES_MODEL_CHECK_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "ir/sharding/mesh/mesh.h"
#include "tests/properties/case.h"
#include "tests/properties/random_model.h"
#include "tests/properties/run_batch.h"

namespace cleave::tests::properties {

// What became of a model.
struct ModelOutcome {
  std::optional<PlannedGraph> planned;  // It was compiled and proven.
  bool recomputes = false;              // Its plan computes values again.
  std::string refused;                  // The code of the error with which it was refused, "E0307".
  std::string failure;                  // What is wrong, and is the compiler's mistake.
};

// Compiles a model on its devices. Besides the compiler's own proof, which works on a small copy, every value on every
// rank is compared with one device at full size, except for manual models and such with ops of their own.
// `folder`: exists; the model's header is written there.
ModelOutcome CheckModel(const RandomModel& model, const std::string& folder);

struct ModelReport {
  int64_t proven = 0;
  int64_t recompute = 0;                   // Of those that are proven: that compute values again.
  std::map<std::string, int64_t> refused;  // By code.
  int64_t failures = 0;

  std::string Text() const;
};

// Checks the models of so many seeds and prints each failure with its seed and its text.
ModelReport CheckModels(uint64_t first_seed, int64_t count, const std::string& folder);

// Runs models as real programs in batches, each on a random mesh of 2 to 9 ranks, and compares them with the
// interpreter: as many programs as `count` says. `folder` as for RunBatch.
struct ModelRuns {
  int64_t programs = 0;
  BatchReport report;
};
ModelRuns RunModels(uint64_t first_seed, int64_t count, const std::string& folder);

}  // namespace cleave::tests::properties

#endif  // CLEAVE_TESTS_PROPERTIES_MODEL_CHECK_H_
