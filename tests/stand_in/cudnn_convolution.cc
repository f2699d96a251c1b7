// Graphs of cudnn-frontend that convolve, in plain loops.
#include <algorithm>
#include <cstring>

#include "cudnn_frontend.h"
#include "low_precision.h"
#include "memory.h"

namespace cudnn_frontend::graph {
namespace {

using Sizes = std::vector<int64_t>;

int64_t ElementBytes(const Tensor_attributes& tensor) { return tensor.type == DataType_t::FLOAT ? 4 : 2; }

// One behind the last element that the tensor has in memory.
int64_t EndOf(const Tensor_attributes& tensor) {
  int64_t last = 0;
  for (size_t i = 0; i < tensor.dim.size(); ++i) last += (tensor.dim[i] - 1) * tensor.stride[i];
  return last + 1;
}

int64_t ElementsOf(const Tensor_attributes& tensor) {
  return tensor.dim[0] * tensor.dim[1] * tensor.dim[2] * tensor.dim[3];
}

// Where element i of a tensor, counted with its columns innermost, lies.
int64_t PlaceOf(const Tensor_attributes& tensor, int64_t i) {
  int64_t place = 0;
  for (size_t d = 4; d-- > 0;) {
    place += i % tensor.dim[d] * tensor.stride[d];
    i /= tensor.dim[d];
  }
  return place;
}

std::vector<float> Loaded(const Tensor_attributes& tensor, const void* place, bool tf32) {
  std::vector<float> values(static_cast<size_t>(ElementsOf(tensor)));
  for (int64_t i = 0; i < ElementsOf(tensor); ++i) {
    const int64_t at = PlaceOf(tensor, i);
    float& value = values[static_cast<size_t>(i)];
    if (tensor.type == DataType_t::FLOAT) {
      value = static_cast<const float*>(place)[at];
      if (tf32) value = stand_in::RoundToTf32(value);
    } else {
      const uint16_t bits = static_cast<const uint16_t*>(place)[at];
      value = tensor.type == DataType_t::HALF ? stand_in::FromFloat16(bits) : stand_in::FromBFloat16(bits);
    }
  }
  return values;
}

void Store(const Tensor_attributes& tensor, const std::vector<float>& values, void* place) {
  for (int64_t i = 0; i < ElementsOf(tensor); ++i) {
    const int64_t at = PlaceOf(tensor, i);
    const float value = values[static_cast<size_t>(i)];
    if (tensor.type == DataType_t::FLOAT) {
      static_cast<float*>(place)[at] = value;
    } else {
      static_cast<uint16_t*>(place)[at] =
          tensor.type == DataType_t::HALF ? stand_in::ToFloat16(value) : stand_in::ToBFloat16(value);
    }
  }
}

// Calls f(x, filter, y), indexes of elements, for all products.
template <typename Function>
void ForEachProduct(const StandInConvolution& c, Function f) {
  const Sizes &x = c.x->dim, &filter = c.filter->dim, &y = c.y->dim;
  const int64_t group_filters = y[1] / (x[1] / filter[1]);
  for (int64_t place = 0; place < ElementsOf(*c.y); ++place) {
    const int64_t j = place % y[3], i = place / y[3] % y[2];
    const int64_t of = place / y[3] / y[2] % y[1], sample = place / y[3] / y[2] / y[1];
    int64_t weight = of * filter[1] * filter[2] * filter[3];
    for (int64_t channel = 0; channel < filter[1]; ++channel) {
      const int64_t plane = sample * x[1] + of / group_filters * filter[1] + channel;
      for (int64_t row_tap = 0; row_tap < filter[2]; ++row_tap) {
        const int64_t row = i * c.sliding.stride[0] - c.sliding.before[0] + row_tap * c.sliding.dilation[0];
        for (int64_t tap = 0; tap < filter[3]; ++tap, ++weight) {
          const int64_t column = j * c.sliding.stride[1] - c.sliding.before[1] + tap * c.sliding.dilation[1];
          if (row < 0 || row >= x[2] || column < 0 || column >= x[3]) continue;
          f(static_cast<size_t>((plane * x[2] + row) * x[3] + column), static_cast<size_t>(weight),
            static_cast<size_t>(place));
        }
      }
    }
  }
}

void Run(const StandInConvolution& c, void* x, void* filter, void* y) {
  const auto load = [&](const Tensor_attributes& tensor, void* place) { return Loaded(tensor, place, c.uses_tf32); };
  std::vector<float> sums(static_cast<size_t>(ElementsOf(*c.result)));
  float* const to = sums.data();
  if (c.result == c.y) {
    const std::vector<float> a = load(*c.x, x), b = load(*c.filter, filter);
    ForEachProduct(c, [&](size_t i, size_t j, size_t k) { to[k] += a.data()[i] * b.data()[j]; });
    Store(*c.y, sums, y);
  } else if (c.result == c.x) {
    const std::vector<float> a = load(*c.filter, filter), b = load(*c.y, y);
    ForEachProduct(c, [&](size_t i, size_t j, size_t k) { to[i] += a.data()[j] * b.data()[k]; });
    Store(*c.x, sums, x);
  } else {
    const std::vector<float> a = load(*c.x, x), b = load(*c.y, y);
    ForEachProduct(c, [&](size_t i, size_t j, size_t k) { to[j] += a.data()[i] * b.data()[k]; });
    Store(*c.filter, sums, filter);
  }
}

Graph::Tensor Result() { return std::make_shared<Tensor_attributes>(); }

}  // namespace

Graph::Tensor Graph::conv_fprop(Tensor x, Tensor filter, const Conv_fprop_attributes& attributes) {
  const Tensor y = Result();
  convolution_ = {x, filter, y, y, attributes};
  return y;
}

Graph::Tensor Graph::conv_dgrad(Tensor dy, Tensor filter, const Conv_dgrad_attributes& attributes) {
  const Tensor x = Result();
  convolution_ = {x, filter, dy, x, attributes};
  return x;
}

Graph::Tensor Graph::conv_wgrad(Tensor dy, Tensor x, const Conv_wgrad_attributes& attributes) {
  const Tensor filter = Result();
  convolution_ = {x, filter, dy, filter, attributes};
  return filter;
}

Graph::Tensor Graph::pointwise(Tensor result, const Pointwise_attributes&) {
  StandInConvolution& c = convolution_;
  if (result->type != DataType_t::FLOAT || result != c.filter) return Result();
  c.result = c.filter = Result();
  c.is_graph = true;
  return c.result;
}

error_t Graph::validate() {
  const StandInConvolution& c = convolution_;
  for (const Tensor& tensor : {c.x, c.filter, c.y}) {
    if (tensor == nullptr || tensor->uid == 0) return error_t("a tensor is unknown");
    if (tensor->type == DataType_t::NOT_SET) tensor->type = type_;
    if (tensor->dim.size() != 4 || tensor->stride.size() != 4) return error_t("a tensor has not four dimensions");
    if (*std::min_element(tensor->dim.begin(), tensor->dim.end()) < 1) return error_t("a tensor is empty");
    if (tensor != c.result && tensor->type != type_) return error_t("factors have different types");
  }
  if (!c.result->is_output) return error_t("the result is no output");
  if (c.result->type != type_ && c.result->type != DataType_t::FLOAT) return error_t("the result has another type");
  const Sizes &x = c.x->dim, &filter = c.filter->dim, &y = c.y->dim;
  if (x[0] != y[0] || filter[0] != y[1]) return error_t("sizes do not fit together");
  if (x[1] % filter[1] != 0 || y[1] % (x[1] / filter[1]) != 0) return error_t("groups do not divide the channels");
  for (const size_t d : {0, 1}) {
    const StandInSliding& s = c.sliding;
    if (s.before[d] < 0 || s.behind[d] < 0 || s.stride[d] < 1 || s.dilation[d] < 1) return error_t("a bad number");
    const int64_t room = x[2 + d] + s.before[d] + s.behind[d] - s.dilation[d] * (filter[2 + d] - 1) - 1;
    if (room < 0 || room / s.stride[d] + 1 != y[2 + d]) return error_t("there are not so many places");
  }
  return {};
}

error_t Graph::build_operation_graph(cudnnHandle_t handle) {
  return handle == nullptr ? error_t("there is no handle") : error_t();
}

error_t Graph::create_execution_plans(const std::vector<HeurMode_t>& modes) {
  return modes.empty() ? error_t("there are no heuristics") : error_t();
}

Graph& Graph::deselect_numeric_notes(const std::vector<NumericalNote_t>& notes) {
  for (const NumericalNote_t note : notes) {
    if (note == NumericalNote_t::TENSOR_CORE) convolution_.uses_tf32 = false;
  }
  return *this;
}

error_t Graph::check_support() const {
  const StandInConvolution& c = convolution_;
  if (c.result == c.filter && c.result->type != type_) {
    for (const Tensor& images : {c.x, c.y}) {
      if (!c.is_graph || images->stride[1] != 1 || images->dim[1] % 8 != 0) return error_t("No valid engine configs");
    }
  }
  uint64_t signature = c.result == c.y ? 1 : c.result == c.x ? 2 : 3;
  for (const Tensor& tensor : {c.x, c.filter, c.y}) {
    for (const int64_t size : tensor->dim) signature = signature * 1000003 + static_cast<uint64_t>(size);
    signature = signature * 1000003 + static_cast<uint64_t>(tensor->type);
  }
  return stand_in::RefusesAtRandom(signature) ? error_t("no engine supports the graph") : error_t();
}

error_t Graph::build_plans() { return {}; }

error_t Graph::Convolve(cudnnHandle_t handle, const std::unordered_map<int64_t, void*>& places, void* workspace) const {
  const StandInConvolution& c = convolution_;
  for (const Tensor& tensor : {c.x, c.filter, c.y}) {
    const auto found = places.find(tensor->uid);
    if (found == places.end() || found->second == nullptr) return error_t("a tensor has no place");
    if (reinterpret_cast<uintptr_t>(found->second) % static_cast<uintptr_t>(tensor->alignment) != 0)
      return error_t("a place is less aligned than it was said to be");
    stand_in::CheckOfDevice(found->second, static_cast<size_t>(EndOf(*tensor) * ElementBytes(*tensor)),
                            "a tensor of a convolution");
  }
  const auto bytes = static_cast<size_t>(WorkspaceBytes());
  if (workspace == nullptr) return error_t("there is no workspace");
  stand_in::CheckOfDevice(workspace, bytes, "the workspace of a convolution");
  cudaStream_t stream = nullptr;
  if (cudnnGetStream(handle, &stream) != CUDNN_STATUS_SUCCESS) return error_t("there is no stream");
  const cudaError_t error = StandInEnqueue(stream, [c, places, workspace, bytes] {
    std::memset(workspace, 0xFF, bytes);
    Run(c, places.at(c.x->uid), places.at(c.filter->uid), places.at(c.y->uid));
  });
  return error == cudaSuccess ? error_t() : error_t("the work cannot be begun");
}

}  // namespace cudnn_frontend::graph
