// Random models of layers, with random settings: what a loop repeats, and whatever may differ between its passes.
#ifndef CLEAVE_TESTS_PROPERTIES_LAYERED_MODEL_H_
#define CLEAVE_TESTS_PROPERTIES_LAYERED_MODEL_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cleave::tests::properties {

struct LayeredModel {
  std::string text;  // The model is called `Layered`.
  int64_t devices = 1;
  bool is_cuda = false;  // Its program is for GPUs.
  // What the settings of its plan are: `micro_batches`, `stages`, `zero`, … They change no number.
  std::vector<std::pair<std::string, std::string>> settings;
  bool is_bf16 = false;
  // Whether the first updates of its optimizer are as long for a gradient that is only rounding as for any other: then
  // parameters are compared exactly with those of the same program that repeats its layers, and roughly with the
  // reference.
  bool amplifies = false;

  // The command that compiles it, for a person: "--devices 4 --set stages=2".
  std::string Command() const;
};

// The same seed gives the same model.
LayeredModel MakeLayeredModel(uint64_t seed);

}  // namespace cleave::tests::properties

#endif  // CLEAVE_TESTS_PROPERTIES_LAYERED_MODEL_H_
