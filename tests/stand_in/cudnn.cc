// Convolutions in plain loops, on copies as floats.
#include "cudnn.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "low_precision.h"
#include "memory.h"

struct StandInCudnn {
  cudaStream_t stream = nullptr;
};

// Images [samples, channels, rows, columns] or filters [filters, channels, rows, columns].
struct StandInTensor {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int sizes[4] = {0, 0, 0, 0};

  int64_t elements() const { return int64_t{sizes[0]} * sizes[1] * sizes[2] * sizes[3]; }
  size_t bytes() const { return static_cast<size_t>(elements()) * (type == CUDNN_DATA_FLOAT ? 4 : 2); }
};
struct StandInFilter : StandInTensor {};

struct StandInConvolution {
  int padding[2] = {0, 0};
  int stride[2] = {1, 1};
  int dilation[2] = {1, 1};
  int groups = 1;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};

namespace {

// The three tensors of a convolution, whichever is the result.
struct Tensors {
  StandInTensor x;
  StandInTensor filter;
  StandInTensor y;
  StandInConvolution convolution;
};

cudnnStatus_t CheckTensors(const Tensors& t) {
  for (const StandInTensor* tensor : {&t.x, &t.filter, &t.y}) {
    if (*std::min_element(tensor->sizes, tensor->sizes + 4) < 1) return CUDNN_STATUS_BAD_PARAM;
    if (tensor->type != t.x.type) return CUDNN_STATUS_NOT_SUPPORTED;
  }
  if (t.x.sizes[0] != t.y.sizes[0] || t.filter.sizes[0] != t.y.sizes[1]) return CUDNN_STATUS_BAD_PARAM;
  const int groups = t.convolution.groups;
  if (t.x.sizes[1] != t.filter.sizes[1] * groups || t.y.sizes[1] % groups != 0) return CUDNN_STATUS_BAD_PARAM;
  for (const int d : {0, 1}) {
    const int span = t.convolution.dilation[d] * (t.filter.sizes[2 + d] - 1) + 1;
    const int room = t.x.sizes[2 + d] + 2 * t.convolution.padding[d] - span;
    if (t.convolution.padding[d] < 0 || room < 0) return CUDNN_STATUS_BAD_PARAM;
    if (room / t.convolution.stride[d] + 1 != t.y.sizes[2 + d]) return CUDNN_STATUS_BAD_PARAM;
  }
  return CUDNN_STATUS_SUCCESS;
}

// Calls f(x, filter, y), indexes of elements, for all products.
template <typename Function>
void ForEachProduct(const Tensors& t, Function f) {
  const StandInConvolution& c = t.convolution;
  const int group_filters = t.y.sizes[1] / c.groups;
  int64_t y = 0;
  for (int sample = 0; sample < t.y.sizes[0]; ++sample) {
    for (int filter = 0; filter < t.y.sizes[1]; ++filter) {
      for (int i = 0; i < t.y.sizes[2]; ++i) {
        for (int j = 0; j < t.y.sizes[3]; ++j, ++y) {
          int64_t weight = int64_t{filter} * t.filter.sizes[1] * t.filter.sizes[2] * t.filter.sizes[3];
          for (int channel = 0; channel < t.filter.sizes[1]; ++channel) {
            const int64_t plane = int64_t{sample} * t.x.sizes[1] + filter / group_filters * t.filter.sizes[1] + channel;
            for (int row_tap = 0; row_tap < t.filter.sizes[2]; ++row_tap) {
              const int row = i * c.stride[0] - c.padding[0] + row_tap * c.dilation[0];
              for (int tap = 0; tap < t.filter.sizes[3]; ++tap, ++weight) {
                const int column = j * c.stride[1] - c.padding[1] + tap * c.dilation[1];
                if (row < 0 || row >= t.x.sizes[2] || column < 0 || column >= t.x.sizes[3]) continue;
                f((plane * t.x.sizes[2] + row) * t.x.sizes[3] + column, weight, y);
              }
            }
          }
        }
      }
    }
  }
}

float Load(const void* values, cudnnDataType_t type, size_t i) {
  if (type == CUDNN_DATA_FLOAT) return static_cast<const float*>(values)[i];
  const uint16_t bits = static_cast<const uint16_t*>(values)[i];
  return type == CUDNN_DATA_HALF ? stand_in::FromFloat16(bits) : stand_in::FromBFloat16(bits);
}

std::vector<float> AsFloats(const void* values, const StandInTensor& tensor, bool tf32) {
  std::vector<float> floats(static_cast<size_t>(tensor.elements()));
  for (size_t i = 0; i < floats.size(); ++i) {
    const float value = Load(values, tensor.type, i);
    floats[i] = tf32 ? stand_in::RoundToTf32(value) : value;
  }
  return floats;
}

// result = alpha sum + beta result.
void StoreSums(const std::vector<float>& sums, const StandInTensor& tensor, float alpha, float beta, void* result) {
  const std::vector<float> old = beta == 0 ? std::vector<float>(sums.size()) : AsFloats(result, tensor, false);
  for (size_t i = 0; i < sums.size(); ++i) {
    const float value = beta == 0 ? alpha * sums[i] : alpha * sums[i] + beta * old[i];
    if (tensor.type == CUDNN_DATA_FLOAT) {
      static_cast<float*>(result)[i] = value;
    } else {
      static_cast<uint16_t*>(result)[i] =
          tensor.type == CUDNN_DATA_HALF ? stand_in::ToFloat16(value) : stand_in::ToBFloat16(value);
    }
  }
}

// Whether products of floats are rounded. By default they may be.
bool UsesTf32(const Tensors& t) { return t.x.type == CUDNN_DATA_FLOAT && t.convolution.math != CUDNN_FMA_MATH; }

void MakeY(const Tensors& t, const void* x, const void* filter, void* y, float alpha, float beta) {
  const std::vector<float> a = AsFloats(x, t.x, UsesTf32(t));
  const std::vector<float> b = AsFloats(filter, t.filter, UsesTf32(t));
  std::vector<float> sums(static_cast<size_t>(t.y.elements()));
  ForEachProduct(t, [&, to = sums.data()](int64_t i, int64_t j, int64_t k) { to[k] += a.data()[i] * b.data()[j]; });
  StoreSums(sums, t.y, alpha, beta, y);
}

void MakeX(const Tensors& t, void* x, const void* filter, const void* y, float alpha, float beta) {
  const std::vector<float> a = AsFloats(filter, t.filter, UsesTf32(t));
  const std::vector<float> b = AsFloats(y, t.y, UsesTf32(t));
  std::vector<float> sums(static_cast<size_t>(t.x.elements()));
  ForEachProduct(t, [&, to = sums.data()](int64_t i, int64_t j, int64_t k) { to[i] += a.data()[j] * b.data()[k]; });
  StoreSums(sums, t.x, alpha, beta, x);
}

void MakeFilter(const Tensors& t, const void* x, void* filter, const void* y, float alpha, float beta) {
  const std::vector<float> a = AsFloats(x, t.x, UsesTf32(t));
  const std::vector<float> b = AsFloats(y, t.y, UsesTf32(t));
  std::vector<float> sums(static_cast<size_t>(t.filter.elements()));
  ForEachProduct(t, [&, to = sums.data()](int64_t i, int64_t j, int64_t k) { to[j] += a.data()[i] * b.data()[k]; });
  StoreSums(sums, t.filter, alpha, beta, filter);
}

// The workspace of an algorithm that prepares a list of offsets, or sums of parts.
size_t WorkspaceOf(const Tensors& t, bool asks) {
  return asks ? static_cast<size_t>(t.filter.elements()) * sizeof(float) : 0;
}

// What a library may refuse for reasons of its own. `salt` tells calls apart.
uint64_t SignatureOf(const Tensors& t, uint64_t salt) {
  uint64_t hash = salt;
  for (const StandInTensor* tensor : {&t.x, static_cast<const StandInTensor*>(&t.filter), &t.y}) {
    for (const int size : tensor->sizes) hash = hash * 1000003 + static_cast<uint64_t>(size);
    hash = hash * 1000003 + static_cast<uint64_t>(tensor->type);
  }
  return hash;
}

// `algorithm`: one of those of the forward direction, or of these.
constexpr uint64_t kOfData = 100;
constexpr uint64_t kOfFilter = 101;
cudnnStatus_t SizeOfWorkspace(const Tensors& tensors, uint64_t algorithm, bool asks, size_t* bytes) {
  const cudnnStatus_t status = CheckTensors(tensors);
  if (status == CUDNN_STATUS_SUCCESS && stand_in::RefusesAtRandom(SignatureOf(tensors, algorithm)))
    return CUDNN_STATUS_NOT_SUPPORTED;
  if (status == CUDNN_STATUS_SUCCESS) *bytes = WorkspaceOf(tensors, asks);
  return status;
}

// A call's memory for intermediate results.
struct Workspace {
  void* memory;
  size_t bytes;
  bool is_needed;
};

struct Places {
  const void* x;
  const void* filter;
  const void* y;
};

template <typename Make>
cudnnStatus_t Enqueue(cudnnHandle_t handle, const Tensors& tensors, const Places& places, const Workspace& workspace,
                      const void* alpha, const void* beta, Make make) {
  const cudnnStatus_t status = CheckTensors(tensors);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  const size_t used = WorkspaceOf(tensors, workspace.is_needed);
  if (used > 0 && (workspace.memory == nullptr || workspace.bytes < used)) return CUDNN_STATUS_BAD_PARAM;
  // Some algorithms refuse only now what they have accepted.
  constexpr uint64_t kLate = 200;
  if (stand_in::RefusesAtRandom(SignatureOf(tensors, kLate))) return CUDNN_STATUS_NOT_SUPPORTED;
  stand_in::CheckOfDevice(places.x, tensors.x.bytes(), "the images of a convolution");
  stand_in::CheckOfDevice(places.filter, tensors.filter.bytes(), "the filter of a convolution");
  stand_in::CheckOfDevice(places.y, tensors.y.bytes(), "the result of a convolution");
  stand_in::CheckOfDevice(workspace.memory, used, "the workspace of a convolution");
  float scale, old;
  std::memcpy(&scale, alpha, sizeof scale);
  std::memcpy(&old, beta, sizeof old);
  const cudaError_t error = StandInEnqueue(handle->stream, [=] {
    if (used > 0) std::memset(workspace.memory, 0xFF, used);
    make(scale, old);
  });
  return error == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

template <typename T>
cudnnStatus_t Create(T** object) {
  *object = new T;
  return CUDNN_STATUS_SUCCESS;
}
template <typename T>
cudnnStatus_t Destroy(T* object) {
  delete object;
  return CUDNN_STATUS_SUCCESS;
}

void SetSizes(StandInTensor& tensor, cudnnDataType_t type, int a, int b, int c, int d) {
  tensor.type = type;
  const int sizes[] = {a, b, c, d};
  std::copy(sizes, sizes + 4, tensor.sizes);
}

}  // namespace

const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_SUCCESS:
      return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_BAD_PARAM:
      return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_NOT_SUPPORTED:
      return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_EXECUTION_FAILED:
      return "CUDNN_STATUS_EXECUTION_FAILED";
  }
  return "unknown";
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) { return Create(handle); }
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) { return Destroy(handle); }
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  *stream = handle->stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* tensor) { return Create(tensor); }
cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t, cudnnDataType_t type,
                                         int samples, int channels, int rows, int columns) {
  SetSizes(*tensor, type, samples, channels, rows, columns);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor) { return Destroy(tensor); }

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* filter) { return Create(filter); }
cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type, cudnnTensorFormat_t,
                                         int filters, int channels, int rows, int columns) {
  SetSizes(*filter, type, filters, channels, rows, columns);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter) { return Destroy(filter); }

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* convolution) {
  return Create(convolution);
}
cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t convolution, int row_padding,
                                              int column_padding, int row_stride, int column_stride, int row_dilation,
                                              int column_dilation, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t compute) {
  if (mode != CUDNN_CROSS_CORRELATION || compute != CUDNN_DATA_FLOAT) return CUDNN_STATUS_NOT_SUPPORTED;
  if (row_stride < 1 || column_stride < 1 || row_dilation < 1 || column_dilation < 1) return CUDNN_STATUS_BAD_PARAM;
  convolution->padding[0] = row_padding;
  convolution->padding[1] = column_padding;
  convolution->stride[0] = row_stride;
  convolution->stride[1] = column_stride;
  convolution->dilation[0] = row_dilation;
  convolution->dilation[1] = column_dilation;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t convolution, int groups) {
  convolution->groups = groups;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t convolution, cudnnMathType_t math) {
  convolution->math = math;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t convolution) {
  return Destroy(convolution);
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t, cudnnTensorDescriptor_t x,
                                                      cudnnFilterDescriptor_t filter,
                                                      cudnnConvolutionDescriptor_t convolution,
                                                      cudnnTensorDescriptor_t y, cudnnConvolutionFwdAlgo_t algorithm,
                                                      size_t* bytes) {
  const bool asks = algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
  return SizeOfWorkspace({*x, *filter, *y, *convolution}, static_cast<uint64_t>(algorithm), asks, bytes);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(cudnnHandle_t, cudnnFilterDescriptor_t filter,
                                                           cudnnTensorDescriptor_t dy,
                                                           cudnnConvolutionDescriptor_t convolution,
                                                           cudnnTensorDescriptor_t dx, cudnnConvolutionBwdDataAlgo_t,
                                                           size_t* bytes) {
  return SizeOfWorkspace({*dx, *filter, *dy, *convolution}, kOfData, true, bytes);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(cudnnHandle_t, cudnnTensorDescriptor_t x,
                                                             cudnnTensorDescriptor_t dy,
                                                             cudnnConvolutionDescriptor_t convolution,
                                                             cudnnFilterDescriptor_t dfilter,
                                                             cudnnConvolutionBwdFilterAlgo_t, size_t* bytes) {
  return SizeOfWorkspace({*x, *dfilter, *dy, *convolution}, kOfFilter, true, bytes);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t x_description,
                                      const void* x, cudnnFilterDescriptor_t filter_description, const void* filter,
                                      cudnnConvolutionDescriptor_t convolution, cudnnConvolutionFwdAlgo_t algorithm,
                                      void* workspace, size_t workspace_bytes, const void* beta,
                                      cudnnTensorDescriptor_t y_description, void* y) {
  const Tensors t = {*x_description, *filter_description, *y_description, *convolution};
  const bool asks = algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
  return Enqueue(handle, t, {x, filter, y}, {workspace, workspace_bytes, asks}, alpha, beta,
                 [=](float scale, float old) { MakeY(t, x, filter, y, scale, old); });
}
cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha,
                                           cudnnFilterDescriptor_t filter_description, const void* filter,
                                           cudnnTensorDescriptor_t dy_description, const void* dy,
                                           cudnnConvolutionDescriptor_t convolution, cudnnConvolutionBwdDataAlgo_t,
                                           void* workspace, size_t workspace_bytes, const void* beta,
                                           cudnnTensorDescriptor_t dx_description, void* dx) {
  const Tensors t = {*dx_description, *filter_description, *dy_description, *convolution};
  return Enqueue(handle, t, {dx, filter, dy}, {workspace, workspace_bytes, true}, alpha, beta,
                 [=](float scale, float old) { MakeX(t, dx, filter, dy, scale, old); });
}
cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void* alpha,
                                             cudnnTensorDescriptor_t x_description, const void* x,
                                             cudnnTensorDescriptor_t dy_description, const void* dy,
                                             cudnnConvolutionDescriptor_t convolution, cudnnConvolutionBwdFilterAlgo_t,
                                             void* workspace, size_t workspace_bytes, const void* beta,
                                             cudnnFilterDescriptor_t dfilter_description, void* dfilter) {
  const Tensors t = {*x_description, *dfilter_description, *dy_description, *convolution};
  return Enqueue(handle, t, {x, dfilter, dy}, {workspace, workspace_bytes, true}, alpha, beta,
                 [=](float scale, float old) { MakeFilter(t, x, dfilter, dy, scale, old); });
}
