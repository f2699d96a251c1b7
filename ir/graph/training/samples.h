// The samples of data that is made, not read.
#ifndef CLEAVE_IR_GRAPH_TRAINING_SAMPLES_H_
#define CLEAVE_IR_GRAPH_TRAINING_SAMPLES_H_

#include <cstdint>
#include <optional>

#include "ir/graph/training/training.h"

namespace cleave::ir {

struct MadeSamples {
  int64_t train = 0;
  int64_t test = 0;

  bool operator==(const MadeSamples&) const = default;
};

// As many as a source is told to make, or as it makes where it is not told (`custom` is always told); nullopt for a
// source that reads files.
std::optional<MadeSamples> MadeSamplesOf(const DataSource& data);

// The data, or the part of it, whose samples functions of the model make; null where there is none.
const DataSource* CustomDataOf(const DataSource& data);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_TRAINING_SAMPLES_H_
