// Random, valid uses of every op, for tests that must hold for the whole table.
#ifndef CLEAVE_IR_GRAPH_OPS_SAMPLES_H_
#define CLEAVE_IR_GRAPH_OPS_SAMPLES_H_

#include <random>
#include <string>
#include <vector>

#include "ir/graph/ops/ops.h"

namespace cleave::ir {

using Random = std::mt19937_64;

// The kind of values in an input.
enum class Fill {
  kSigned,    // Magnitudes in [0.3, 2], either sign.
  kPositive,  // [0.3, 2]
  kDistinct,  // No two within 0.01 of each other.
  kLabels,    // i32 in [0, 3).
  kNumbers,   // i8 in [-3, 3].
  kFactors,   // f8e4m3, whole numbers in [-3, 3].
  kMask,      // 0 or 1.
};

// One op with its inputs. Values are not near places at which the op has no derivative.
struct Sample {
  const OpDefinition* op = nullptr;
  Attributes attributes;
  std::vector<TensorType> types;
  std::vector<Tensor> inputs;
  std::vector<Fill> fills;  // Of each input.
  TensorType output;
  Rule rule;
  // Sets the inputs that follow from the others; null: none do.
  void (*complete)(const Attributes& attributes, std::vector<Tensor>& inputs) = nullptr;

  std::string Text() const;
};

// Several samples of `op` that show its forms; empty for an op that this file does not know.
std::vector<Sample> SamplesOf(OpKind op, Random& random);

// A whole number in [low, high].
int64_t RandomInt(Random& random, int64_t low, int64_t high);
Tensor RandomTensor(const Shape& shape, double low, double high, Random& random);

// The op's value on `inputs`, whole or local, under the given ranges.
Tensor Evaluate(const Sample& sample, const std::vector<Tensor>& inputs, const Shape& output_shape,
                const std::vector<FactorRange>& ranges);
Tensor EvaluateWhole(const Sample& sample, const std::vector<Tensor>& inputs);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_SAMPLES_H_
