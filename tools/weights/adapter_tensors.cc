#include "tools/weights/adapter_tensors.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace cleave::tools {
namespace {

using runtime::Error;
using runtime::Result;

constexpr char kAdaptersSetting[] = "adapters";  // In the index of a checkpoint.

}  // namespace

Error AdapterError(std::string message) { return {runtime::ExitCode::kInput, std::move(message)}; }

std::string InTicks(const std::string& name) { return absl::StrCat("`", ShownName(name), "`"); }

std::vector<std::string> AdaptedWeights(const WeightSource& source) {
  std::vector<std::string> weights;
  for (const WeightTensor& tensor : source.tensors()) {
    absl::string_view name = tensor.name;
    if (tensor.parameter.empty() && absl::ConsumeSuffix(&name, ir::kAdapterA)) weights.emplace_back(name);
  }
  return weights;
}

bool IsOfAdapter(const WeightTensor& tensor, const std::set<std::string>& weights) {
  for (const char* const suffix : {ir::kAdapterA, ir::kAdapterB, ir::kAdapterMagnitude}) {
    absl::string_view name = tensor.name;
    if (absl::ConsumeSuffix(&name, suffix) && weights.count(std::string(name)) > 0) return true;
  }
  return false;
}

Result<ir::AdapterForm> FormOf(const WeightSource& source) {
  const runtime::Checkpoint* const checkpoint = source.checkpoint();
  if (checkpoint == nullptr) {
    return AdapterError(absl::StrCat(
        InTicks(source.path()), " is no checkpoint, and only a checkpoint says which factor ", "its adapters have"));
  }
  for (const auto& [name, value] : checkpoint->facts().settings) {
    if (name != kAdaptersSetting) continue;
    const std::optional<ir::AdapterForm> form = ir::ParseAdapter(value);
    if (form.has_value()) return *form;
    return AdapterError(
        absl::StrCat("checkpoint ", InTicks(source.path()), " has adapters of an unknown form, ", InTicks(value)));
  }
  return AdapterError(absl::StrCat("checkpoint ", InTicks(source.path()), " has no adapters"));
}

Result<std::vector<float>> ReadTensor(const WeightSource& source, const std::string& name) {
  const WeightTensor* const tensor = source.Find(name);
  if (tensor == nullptr) return AdapterError(absl::StrCat(InTicks(source.path()), " has no ", InTicks(name)));
  if (!IsReadAsFloat(*tensor)) {
    return AdapterError(
        absl::StrCat(InTicks(name), " has values of type ", tensor->type, ", not floating-point numbers"));
  }
  std::vector<float> values;
  if (auto error = source.Read(*tensor, values)) return *error;
  return values;
}

Result<Matrix> ReadMatrix(const WeightSource& source, const std::string& name) {
  Result<std::vector<float>> values = ReadTensor(source, name);
  if (!values.ok()) return values.error();
  const std::vector<int64_t>& shape = source.Find(name)->shape;
  if (shape.size() != 2) {
    return AdapterError(absl::StrCat(InTicks(name), " is ", ShapeText(shape), ", and no matrix"));
  }
  return Matrix{shape[0], shape[1], std::move(values.value())};
}

Result<WeightAdapter> ReadAdapter(const WeightSource& source, const std::string& weight, const ir::AdapterForm& form) {
  Result<Matrix> a = ReadMatrix(source, absl::StrCat(weight, ir::kAdapterA));
  if (!a.ok()) return a.error();
  Result<Matrix> b = ReadMatrix(source, absl::StrCat(weight, ir::kAdapterB));
  if (!b.ok()) return b.error();
  // A rank is below both sizes of its weight.
  WeightAdapter adapter{.weight = weight, .is_out_first = a.value().rows == form.rank};
  adapter.a = adapter.is_out_first ? std::move(a.value()) : a.value().Transpose();
  adapter.b = adapter.is_out_first ? std::move(b.value()) : b.value().Transpose();
  if (adapter.a.rows != form.rank || adapter.b.columns != form.rank) {
    return AdapterError(absl::StrCat("the adapter of ", InTicks(weight), " has another rank than ", form.rank));
  }
  if (!form.has_magnitude) return adapter;
  Result<std::vector<float>> magnitude = ReadTensor(source, absl::StrCat(weight, ir::kAdapterMagnitude));
  if (!magnitude.ok()) return magnitude.error();
  adapter.magnitude = std::move(magnitude.value());
  if (static_cast<int64_t>(adapter.magnitude.size()) == adapter.b.rows) return adapter;
  return AdapterError(absl::StrCat("the magnitude of ", InTicks(weight), " is of another number of outputs"));
}

Result<Matrix> ReadWeight(const WeightSource& source, const WeightAdapter& adapter) {
  Result<Matrix> weight = ReadMatrix(source, adapter.weight);
  if (!weight.ok()) return weight.error();
  Matrix matrix = adapter.is_out_first ? std::move(weight.value()) : weight.value().Transpose();
  if (matrix.rows == adapter.b.rows && matrix.columns == adapter.a.columns) return matrix;
  return AdapterError(absl::StrCat(InTicks(adapter.weight), " is ", ShapeText(source.Find(adapter.weight)->shape),
                                   ", and its adapter is of ", adapter.b.rows, " outputs and ", adapter.a.columns,
                                   " inputs"));
}

double NormOfRow(const Matrix& matrix, int64_t row) {
  double sum = 0;
  for (int64_t j = 0; j < matrix.columns; ++j) {
    const double value = matrix.values[static_cast<size_t>(row * matrix.columns + j)];
    sum += value * value;
  }
  return std::sqrt(sum);
}

std::optional<Error> ShiftMagnitude(const WeightSource& source, double sign, WeightAdapter& adapter) {
  if (adapter.magnitude.empty()) return std::nullopt;
  const Result<Matrix> weight = ReadWeight(source, adapter);
  if (!weight.ok()) return weight.error();
  for (int64_t i = 0; i < weight.value().rows; ++i) {
    float& value = adapter.magnitude[static_cast<size_t>(i)];
    value = static_cast<float>(value + sign * NormOfRow(weight.value(), i));
  }
  return std::nullopt;
}

}  // namespace cleave::tools
