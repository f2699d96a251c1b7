// Compares a program's values on simulated ranks with the graph's values on one device.
#ifndef CLEAVE_IR_PROOF_CHECK_COMPARE_H_
#define CLEAVE_IR_PROOF_CHECK_COMPARE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/graph/graph.h"
#include "ir/program/program.h"
#include "ir/proof/interpret/interpret.h"
#include "ir/tensor/types/tensor.h"

namespace cleave::ir {

// Sums in another order differ in the last bits of a double; a wrong slice or a missing term changes the first bits.
inline constexpr double kTolerance = 1e-9;

struct Difference {
  double relative = 0;  // To the largest element of the whole tensor, or absolute below 1.
  size_t element = 0;
};

// Of a tensor or a part of it. Rounding errors are as large as the whole tensor's elements make them, also where a part
// of it is nearly zero. NaN equals NaN: some ops have no value at some points, on one device as well as on many.
// REQUIRES: `expected` and `actual` have the same shape.
Difference LargestDifference(const Tensor& whole, const Tensor& expected, const Tensor& actual);

// An Internal error unless the program's loss, metrics, updates and looks are those of the graph: none is lost, each
// state takes the value that the graph gives it, and each look is at the value that the graph looks at.
absl::Status CheckResults(const Graph& graph, const Program& program);

// The element of a value that is farthest from what one device computes.
struct WrongValue {
  ValueId value;
  int rank = 0;
  size_t element = 0;  // Of the rank's part, row-major.
  double actual = 0;
  double expected = 0;
  std::string step;  // The step that made the value.
  int line = 0;

  std::string Text(const Program& program) const;
};

struct Comparison {
  int64_t values = 0;             // Tensors compared, each on all ranks.
  double largest_difference = 0;  // Relative to the largest element of the tensor, or absolute below 1.
  std::vector<WrongValue> wrong;  // One for each wrong value, in the order of the steps.
};

// An Internal error unless every Compute is an op of the graph on the values of that op's own inputs.
absl::Status CheckComputes(const Graph& graph, const Program& program);

// Runs both and compares every value on every rank (the parts of partial ones combined), and loss, metrics and updates
// with those of the graph. At step 0, which is testing, only the forward pass and metrics are there. An Internal error
// where the program cannot be run or has other results than the graph.
absl::StatusOr<Comparison> CompareWithGraph(const Graph& graph, const Program& program, const SourceValues& sources,
                                            int64_t step);

// The same on up to three draws of random sources. A program is wrong if it is wrong on each of them, also where no
// value depends on rounding (conditioning.h). Returns the first draw that shows it to be right, or else one that shows
// it to be wrong.
absl::StatusOr<Comparison> CompareOnRandomSources(const Graph& graph, const Program& program, uint64_t seed);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROOF_CHECK_COMPARE_H_
