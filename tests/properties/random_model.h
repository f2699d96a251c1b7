// Random models as text: what a user of the language could write.
//
// Each value is computed from earlier ones by an op, a function of the model or of the prelude, a mapped function, an
// op that the model defines, or a loop; shapes are tracked, so that every statement is valid. Settings, meshes, pins,
// layouts and regions are drawn too. A pin may still be one that no plan can follow: then the compiler refuses it.
#ifndef CLEAVE_TESTS_PROPERTIES_RANDOM_MODEL_H_
#define CLEAVE_TESTS_PROPERTIES_RANDOM_MODEL_H_

#include <cstdint>
#include <optional>
#include <string>

namespace cleave::tests::properties {

struct ModelOptions {
  int most_statements = 14;
  // The interpreter knows nothing of the C++ bodies of ops that a model defines, so its numbers are not the program's.
  bool with_custom_ops = true;
};

struct RandomModel {
  std::string text;
  std::string header;   // random_op.h, with the bodies of its own ops; empty where it has none.
  int64_t devices = 1;  // 1 to 9.
  bool is_manual = false;
  // Compiled a second time with a limit of memory: 0 is the least that recomputation reaches, 1 what the model needs
  // without a limit. nullopt: it has none.
  std::optional<double> memory_share = {};
};

// The same seed gives the same model. It is called `Random`.
RandomModel MakeRandomModel(uint64_t seed, const ModelOptions& options = {});

}  // namespace cleave::tests::properties

#endif  // CLEAVE_TESTS_PROPERTIES_RANDOM_MODEL_H_
