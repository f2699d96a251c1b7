// A NaN goes through every op: where an element of an input decides an element of the value, a NaN in the one is a NaN
// in the other.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/samples.h"

namespace cleave::ir {
namespace {

// Values that an element may have besides its own: between them, whatever it decides changes.
std::vector<double> OthersFor(Fill fill, double value) {
  if (fill == Fill::kPositive) return {value / 2 + 0.01, value * 1e3};
  return {-value, value - 1e3, value + 1e3};
}

// Inputs that are only compared, or choose between other values. As in IEEE, a comparison with a NaN is false.
bool IsOnlyCompared(const Sample& sample, size_t input) {
  switch (sample.op->kind) {
    case OpKind::kAccuracy:
    case OpKind::kEqual:
    case OpKind::kNotEqual:
    case OpKind::kLess:
    case OpKind::kLessEqual:
    case OpKind::kGreater:
    case OpKind::kGreaterEqual:
      return true;
    case OpKind::kReluGradient:
    case OpKind::kLeakyReluGradient:
      return input == 1;
    default:
      return sample.fills[input] == Fill::kMask;
  }
}

// An element of these decides where the others come to stand. A NaN comes first.
bool Sorts(OpKind kind) { return kind == OpKind::kTopK || kind == OpKind::kTopKCandidates; }

// Puts a NaN in the place of each element of the input. Returns how many of them decide something.
int ExpectNansGoThrough(const Sample& sample, size_t input) {
  const Tensor before = EvaluateWhole(sample, sample.inputs);
  std::vector<Tensor> inputs = sample.inputs;
  int deciding = 0;
  for (double& element : inputs[input].values) {
    const double value = element;
    std::set<size_t> decided;
    for (const double other : OthersFor(sample.fills[input], value)) {
      element = other;
      const Tensor after = EvaluateWhole(sample, inputs);
      for (size_t i = 0; i < after.values.size(); ++i) {
        if (after.values[i] != before.values[i]) decided.insert(i);
      }
    }
    element = std::numeric_limits<double>::quiet_NaN();
    const std::vector<double> after = EvaluateWhole(sample, inputs).values;
    element = value;
    if (decided.empty()) continue;
    ++deciding;
    const auto is_nan = [&](size_t i) { return std::isnan(after[i]); };
    EXPECT_TRUE(Sorts(sample.op->kind) ? std::any_of(decided.begin(), decided.end(), is_nan)
                                       : std::all_of(decided.begin(), decided.end(), is_nan))
        << sample.Text() << ": input " << input << ", element " << &element - inputs[input].values.data();
  }
  return deciding;
}

TEST(NanTest, GoesThroughEveryOp) {
  Random random(7);
  int ops = 0;
  for (const OpDefinition* op : AllOps()) {
    if (op->evaluate == nullptr) continue;
    int deciding = 0;
    for (const Sample& sample : SamplesOf(op->kind, random)) {
      if (sample.output.dtype == DType::kI32) continue;
      for (size_t input = 0; input < sample.inputs.size(); ++input) {
        if (IsInteger(sample.types[input].dtype) || IsOnlyCompared(sample, input)) continue;
        deciding += ExpectNansGoThrough(sample, input);
      }
    }
    if (deciding > 0) ++ops;
  }
  EXPECT_GT(ops, 80);
}

}  // namespace
}  // namespace cleave::ir
