// The tensors of adapters (ir/transforms/adapt) in a checkpoint or a file of this project. Inside of tools/weights
// only.
#ifndef CLEAVE_TOOLS_WEIGHTS_ADAPTER_TENSORS_H_
#define CLEAVE_TOOLS_WEIGHTS_ADAPTER_TENSORS_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/graph/training/adapters.h"
#include "runtime/error/error.h"
#include "tools/weights/rearrange.h"
#include "tools/weights/source.h"

namespace cleave::tools {

// A tensor of two dimensions.
struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<float> values;

  Matrix Transpose() const { return {columns, rows, Transposed(values, rows, columns)}; }
};

// The adapter of a weight of this project. `is_out_first`: the weight is [out, in], A [rank, in] and B [out, rank];
// else each is the other way round.
struct WeightAdapter {
  std::string weight;
  bool is_out_first = true;
  Matrix a, b;                   // As in PEFT: [rank, in] and [out, rank].
  std::vector<float> magnitude;  // Of PEFT: the norms that are wanted, or of this project what they are more.
};

// The Errors of this and its neighbours: exit code 3.
runtime::Error AdapterError(std::string message);
std::string InTicks(const std::string& name);

// The form of the adapters with which a checkpoint was written.
runtime::Result<ir::AdapterForm> FormOf(const WeightSource& source);

// The weights that have an adapter, by the names of its tensors; and whether a tensor is of an adapter of one of these.
std::vector<std::string> AdaptedWeights(const WeightSource& source);
bool IsOfAdapter(const WeightTensor& tensor, const std::set<std::string>& weights);

runtime::Result<std::vector<float>> ReadTensor(const WeightSource& source, const std::string& name);
runtime::Result<Matrix> ReadMatrix(const WeightSource& source, const std::string& name);

// What `source` has of the adapter of a weight, and the weight itself, as [out, in].
runtime::Result<WeightAdapter> ReadAdapter(const WeightSource& source, const std::string& weight,
                                           const ir::AdapterForm& form);
runtime::Result<Matrix> ReadWeight(const WeightSource& source, const WeightAdapter& adapter);

double NormOfRow(const Matrix& matrix, int64_t row);

// Makes magnitudes of this project those of PEFT: the difference from the norm of each output of the weight becomes the
// norm; or with sign -1 the other way round.
std::optional<runtime::Error> ShiftMagnitude(const WeightSource& source, double sign, WeightAdapter& adapter);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_WEIGHTS_ADAPTER_TENSORS_H_
