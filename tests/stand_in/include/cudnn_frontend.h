// A stand-in for cudnn-frontend, for tests on machines without a GPU: graphs of attention or of its gradients, as
// runtime/math/cudnn makes them, computed on the CPU by the plain formula.
//
// It refuses what the library refuses on some GPU: heads that are no multiple of 8 or longer than 128, rows that do not
// begin at multiples of 16 bytes, gradients of one query. Gradients take the workspace that they take on an H100, and
// write to it.
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
enum class HeurMode_t { A };
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

  int64_t uid = 0;
  std::vector<int64_t> dim;
  std::vector<int64_t> stride;
  DataType_t type = DataType_t::NOT_SET;
  bool is_output = false;
};

// Of both operations.
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

  error_t build(cudnnHandle_t handle, const std::vector<HeurMode_t>& modes);
  error_t get_workspace_size(int64_t& bytes) const;
  error_t execute(cudnnHandle_t handle, std::unordered_map<int64_t, void*>& places, void* workspace) const;

 private:
  struct Operands;

  bool IsGradient() const { return dq_ != nullptr; }
  std::vector<Tensor> Tensors() const;
  int64_t WorkspaceBytes() const;

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
