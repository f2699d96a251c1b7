// A stand-in for cudnn-frontend, for tests on machines without a GPU: graphs of attention or of a convolution, or of
// their gradients, as runtime/math/cudnn makes them, computed on the CPU by the plain formula.
//
// Of attention it refuses what the library refuses on some GPU: heads that are no multiple of 8 or longer than 128,
// rows that do not begin at multiples of 16 bytes, gradients of one query. Gradients take the workspace that they take
// on an H100, and write to it. Of convolutions it checks sizes, types, groups and alignment, and refuses gradients by
// filters in floats of other factors where they are not sums of images whose channels lie last, a multiple of 8.
#ifndef CUDNN_FRONTEND_H_STAND_IN_
#define CUDNN_FRONTEND_H_STAND_IN_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cudnn.h"

namespace cudnn_frontend {

enum class DataType_t { NOT_SET, FLOAT, HALF, BFLOAT16 };
enum class HeurMode_t { A, FALLBACK };
enum class NumericalNote_t {
  TENSOR_CORE,
  DOWN_CONVERT_INPUTS,
  REDUCED_PRECISION_REDUCTION,
  FFT,
  NONDETERMINISTIC,
  WINOGRAD
};
enum class PointwiseMode_t { IDENTITY };
enum class DiagonalAlignment_t { TOP_LEFT, BOTTOM_RIGHT };

class [[nodiscard]] error_t {
 public:
  error_t() = default;
  explicit error_t(std::string message) : message_(std::move(message)) {}

  bool is_good() const { return message_.empty(); }
  bool is_bad() const { return !is_good(); }
  std::string get_message() { return message_; }

 private:
  std::string message_;
};

namespace graph {

struct Tensor_attributes {
  Tensor_attributes& set_uid(int64_t value) { return uid = value, *this; }
  Tensor_attributes& set_dim(std::vector<int64_t> value) { return dim = std::move(value), *this; }
  Tensor_attributes& set_stride(std::vector<int64_t> value) { return stride = std::move(value), *this; }
  Tensor_attributes& set_data_type(DataType_t value) { return type = value, *this; }
  Tensor_attributes& set_output(bool value) { return is_output = value, *this; }
  Tensor_attributes& set_alignment(int64_t value) { return alignment = value, *this; }

  int64_t uid = 0;
  std::vector<int64_t> dim;
  std::vector<int64_t> stride;
  DataType_t type = DataType_t::NOT_SET;
  bool is_output = false;
  int64_t alignment = 16;
};

// How a kernel slides over rows and columns.
struct StandInSliding {
  std::vector<int64_t> before, behind, stride, dilation;
};
template <typename Attributes>
struct StandInConvolutionAttributes : StandInSliding {
  Attributes& set_name(const std::string&) { return own(); }
  Attributes& set_pre_padding(std::vector<int64_t> value) { return before = std::move(value), own(); }
  Attributes& set_post_padding(std::vector<int64_t> value) { return behind = std::move(value), own(); }
  Attributes& set_stride(std::vector<int64_t> value) { return stride = std::move(value), own(); }
  Attributes& set_dilation(std::vector<int64_t> value) { return dilation = std::move(value), own(); }

  Attributes& own() { return static_cast<Attributes&>(*this); }
};
struct Conv_fprop_attributes : StandInConvolutionAttributes<Conv_fprop_attributes> {};
struct Conv_dgrad_attributes : StandInConvolutionAttributes<Conv_dgrad_attributes> {};
struct Conv_wgrad_attributes : StandInConvolutionAttributes<Conv_wgrad_attributes> {};

// A convolution's tensors [samples, channels, rows, columns], whichever is the result.
struct StandInConvolution {
  using Tensor = std::shared_ptr<Tensor_attributes>;
  Tensor x, filter, y;
  Tensor result;
  StandInSliding sliding;
  bool uses_tf32 = true;  // The library may round factors of floats.
  bool is_graph = false;  // Its result is handed through another operation.
};

struct Pointwise_attributes {
  Pointwise_attributes& set_name(const std::string&) { return *this; }
  Pointwise_attributes& set_mode(PointwiseMode_t) { return *this; }
};

// Of both operations of attention.
template <typename Attributes>
struct StandInSdpaAttributes {
  Attributes& set_name(const std::string&) { return own(); }
  Attributes& set_attn_scale(float value) { return scale = value, own(); }
  Attributes& set_diagonal_alignment(DiagonalAlignment_t value) { return alignment = value, own(); }
  Attributes& set_diagonal_band_right_bound(int value) { return right_bound = value, is_causal = true, own(); }

  Attributes& set_diagonal_band_left_bound(int value) { return left_bound = value, own(); }

  Attributes& own() { return static_cast<Attributes&>(*this); }

  float scale = 1.0f;
  DiagonalAlignment_t alignment = DiagonalAlignment_t::TOP_LEFT;
  int right_bound = 0;
  int left_bound = 0;  // 0: none.
  bool is_causal = false;
};

struct SDPA_attributes : StandInSdpaAttributes<SDPA_attributes> {
  SDPA_attributes& set_generate_stats(bool value) { return generates_stats = value, *this; }
  bool generates_stats = false;
};

struct SDPA_backward_attributes : StandInSdpaAttributes<SDPA_backward_attributes> {
  SDPA_backward_attributes& set_deterministic_algorithm(bool value) { return is_deterministic = value, *this; }
  bool is_deterministic = false;
};

// One operation.
class Graph {
 public:
  using Tensor = std::shared_ptr<Tensor_attributes>;

  Graph& set_io_data_type(DataType_t value) { return type_ = value, *this; }
  Graph& set_intermediate_data_type(DataType_t) { return *this; }
  Graph& set_compute_data_type(DataType_t) { return *this; }

  Tensor tensor(const Tensor_attributes& attributes) { return std::make_shared<Tensor_attributes>(attributes); }
  std::array<Tensor, 2> sdpa(Tensor q, Tensor k, Tensor v, const SDPA_attributes& attributes);
  std::array<Tensor, 3> sdpa_backward(Tensor q, Tensor k, Tensor v, Tensor out, Tensor dout, Tensor stats,
                                      const SDPA_backward_attributes& attributes);

  Tensor conv_fprop(Tensor x, Tensor filter, const Conv_fprop_attributes& attributes);
  Tensor conv_dgrad(Tensor dy, Tensor filter, const Conv_dgrad_attributes& attributes);
  Tensor conv_wgrad(Tensor dy, Tensor x, const Conv_wgrad_attributes& attributes);
  Tensor pointwise(Tensor result, const Pointwise_attributes& attributes);

  // Of attention, in one call.
  error_t build(cudnnHandle_t handle, const std::vector<HeurMode_t>& modes);
  // Of a convolution, one after another.
  error_t validate();
  error_t build_operation_graph(cudnnHandle_t handle);
  error_t create_execution_plans(const std::vector<HeurMode_t>& modes);
  Graph& deselect_numeric_notes(const std::vector<NumericalNote_t>& notes);
  Graph& deselect_workspace_greater_than(int64_t) { return *this; }
  error_t check_support() const;
  error_t build_plans();

  error_t get_workspace_size(int64_t& bytes) const;
  error_t execute(cudnnHandle_t handle, std::unordered_map<int64_t, void*>& places, void* workspace) const;

 private:
  struct Operands;

  bool IsGradient() const { return dq_ != nullptr; }
  std::vector<Tensor> Tensors() const;
  int64_t WorkspaceBytes() const;
  error_t Convolve(cudnnHandle_t handle, const std::unordered_map<int64_t, void*>& places, void* workspace) const;

  StandInConvolution convolution_;  // Its tensors are null in a graph of attention.
  DataType_t type_ = DataType_t::NOT_SET;
  Tensor q_, k_, v_, out_, stats_;  // The statistics are null where none are made.
  Tensor dout_, dq_, dk_, dv_;      // Null but for gradients.
  float scale_ = 1.0f;
  DiagonalAlignment_t alignment_ = DiagonalAlignment_t::TOP_LEFT;
  int right_bound_ = 0;
  int left_bound_ = 0;  // 0: none.
  bool is_causal_ = false;
  bool is_deterministic_ = false;
};

}  // namespace graph
}  // namespace cudnn_frontend

#endif  // CUDNN_FRONTEND_H_STAND_IN_
