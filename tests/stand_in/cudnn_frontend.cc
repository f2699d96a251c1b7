// Attention by the plain formula: scores of one query at a time, in floats.
#include "cudnn_frontend.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "low_precision.h"
#include "memory.h"

namespace cudnn_frontend::graph {
namespace {

// A tensor [batch, heads, rows, elements] of 16 bits, or of floats.
struct Rows {
  const Tensor_attributes* about;
  DataType_t type;
  void* place;

  int64_t At(int64_t batch, int64_t head, int64_t row, int64_t element) const {
    const std::vector<int64_t>& stride = about->stride;
    return batch * stride[0] + head * stride[1] + row * stride[2] + element * stride[3];
  }
  float Load(int64_t at) const {
    if (type == DataType_t::FLOAT) return static_cast<const float*>(place)[at];
    const uint16_t bits = static_cast<const uint16_t*>(place)[at];
    return type == DataType_t::HALF ? stand_in::FromFloat16(bits) : stand_in::FromBFloat16(bits);
  }
  void Store(int64_t at, float value) const {
    if (type == DataType_t::FLOAT) {
      static_cast<float*>(place)[at] = value;
    } else {
      static_cast<uint16_t*>(place)[at] =
          type == DataType_t::HALF ? stand_in::ToFloat16(value) : stand_in::ToBFloat16(value);
    }
  }
  std::vector<float> Row(int64_t batch, int64_t head, int64_t row) const {
    std::vector<float> values(static_cast<size_t>(about->dim[3]));
    for (size_t d = 0; d < values.size(); ++d) values[d] = Load(At(batch, head, row, static_cast<int64_t>(d)));
    return values;
  }
  void StoreRow(int64_t batch, int64_t head, int64_t row, const float* values) const {
    for (int64_t d = 0; d < about->dim[3]; ++d) Store(At(batch, head, row, d), values[d]);
  }
};

float Dot(const float* a, const float* b, size_t count) {
  float sum = 0;
  for (size_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

void AddScaled(float factor, const float* x, size_t count, float* sum) {
  for (size_t i = 0; i < count; ++i) sum[i] += factor * x[i];
}

int64_t RoundedUp(int64_t size, int64_t unit) { return (size + unit - 1) / unit * unit; }

}  // namespace

// What a call computes with.
struct Graph::Operands {
  const Graph& graph;
  const std::unordered_map<int64_t, void*>& places;

  Rows Of(const Tensor& tensor) const {
    return {tensor.get(), tensor->type == DataType_t::NOT_SET ? graph.type_ : tensor->type, places.at(tensor->uid)};
  }

  // A row sees the keys from the first up to the end.
  struct Keys {
    size_t first;
    size_t end;
  };
  Keys KeysSeenBy(int64_t row) const {
    const int64_t rows = graph.q_->dim[2], columns = graph.k_->dim[2];
    if (!graph.is_causal_) return {0, static_cast<size_t>(columns)};
    const int64_t shift = graph.alignment_ == DiagonalAlignment_t::BOTTOM_RIGHT ? columns - rows : 0;
    const int64_t end = std::clamp<int64_t>(row + shift + graph.right_bound_ + 1, 0, columns);
    // A key stays where key + left bound > row.
    const int64_t first = graph.left_bound_ == 0 ? 0 : std::clamp<int64_t>(row + shift + 1 - graph.left_bound_, 0, end);
    return {static_cast<size_t>(first), static_cast<size_t>(end)};
  }

  // All rows of a head, one behind another.
  std::vector<float> Head(const Tensor& tensor, int64_t batch, int64_t head) const {
    std::vector<float> all;
    for (int64_t row = 0; row < tensor->dim[2]; ++row) {
      const std::vector<float> values = Of(tensor).Row(batch, head, row);
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

  void StoreHead(const Tensor& tensor, int64_t batch, int64_t head, const std::vector<float>& all) const {
    for (int64_t row = 0; row < tensor->dim[2]; ++row) {
      Of(tensor).StoreRow(batch, head, row, all.data() + row * tensor->dim[3]);
    }
  }

  void Forward() const {
    const auto size = static_cast<size_t>(graph.q_->dim[3]), value_size = static_cast<size_t>(graph.v_->dim[3]);
    const int64_t group = graph.q_->dim[1] / graph.k_->dim[1];
    for (int64_t batch = 0; batch < graph.q_->dim[0]; ++batch) {
      for (int64_t head = 0; head < graph.q_->dim[1]; ++head) {
        const std::vector<float> k = Head(graph.k_, batch, head / group), v = Head(graph.v_, batch, head / group);
        for (int64_t row = 0; row < graph.q_->dim[2]; ++row) {
          const std::vector<float> q = Of(graph.q_).Row(batch, head, row);
          const Keys keys = KeysSeenBy(row);
          std::vector<float> scores(keys.end);
          float largest = -INFINITY;
          for (size_t j = keys.first; j < keys.end; ++j) {
            scores[j] = graph.scale_ * Dot(q.data(), k.data() + j * size, size);
            largest = std::max(largest, scores[j]);
          }
          float sum = 0;
          std::vector<float> result(value_size);
          for (size_t j = keys.first; j < keys.end; ++j) {
            const float weight = std::exp(scores[j] - largest);
            sum += weight;
            AddScaled(weight, v.data() + j * value_size, value_size, result.data());
          }
          for (float& value : result) value /= sum;
          Of(graph.out_).StoreRow(batch, head, row, result.data());
          if (graph.stats_ == nullptr) continue;
          const float logsumexp = largest + std::log(sum);
          Of(graph.stats_).StoreRow(batch, head, row, &logsumexp);
        }
      }
    }
  }

  void Backward() const {
    const auto size = static_cast<size_t>(graph.q_->dim[3]), value_size = static_cast<size_t>(graph.v_->dim[3]);
    const int64_t group = graph.q_->dim[1] / graph.k_->dim[1];
    const int64_t columns = graph.k_->dim[2];
    for (int64_t batch = 0; batch < graph.q_->dim[0]; ++batch) {
      for (int64_t key_head = 0; key_head < graph.k_->dim[1]; ++key_head) {
        const std::vector<float> k = Head(graph.k_, batch, key_head), v = Head(graph.v_, batch, key_head);
        std::vector<float> dk(static_cast<size_t>(columns) * size), dv(static_cast<size_t>(columns) * value_size);
        for (int64_t head = key_head * group; head < (key_head + 1) * group; ++head) {
          for (int64_t row = 0; row < graph.q_->dim[2]; ++row) {
            const std::vector<float> q = Of(graph.q_).Row(batch, head, row);
            const std::vector<float> out = Of(graph.out_).Row(batch, head, row);
            const std::vector<float> dout = Of(graph.dout_).Row(batch, head, row);
            const float logsumexp = Of(graph.stats_).Row(batch, head, row)[0];
            const float delta = Dot(out.data(), dout.data(), value_size);
            std::vector<float> dq(size);
            const Keys keys = KeysSeenBy(row);
            for (size_t j = keys.first; j < keys.end; ++j) {
              const float* const key = k.data() + j * size;
              const float weight = std::exp(graph.scale_ * Dot(q.data(), key, size) - logsumexp);
              const float weighed = Dot(dout.data(), v.data() + j * value_size, value_size);
              const float gradient = weight * (weighed - delta) * graph.scale_;
              AddScaled(gradient, key, size, dq.data());
              AddScaled(gradient, q.data(), size, dk.data() + j * size);
              AddScaled(weight, dout.data(), value_size, dv.data() + j * value_size);
            }
            Of(graph.dq_).StoreRow(batch, head, row, dq.data());
          }
        }
        StoreHead(graph.dk_, batch, key_head, dk);
        StoreHead(graph.dv_, batch, key_head, dv);
      }
    }
  }
};

std::array<Graph::Tensor, 2> Graph::sdpa(Tensor q, Tensor k, Tensor v, const SDPA_attributes& attributes) {
  q_ = q;
  k_ = k;
  v_ = v;
  out_ = std::make_shared<Tensor_attributes>();
  if (attributes.generates_stats) stats_ = std::make_shared<Tensor_attributes>();
  scale_ = attributes.scale;
  alignment_ = attributes.alignment;
  right_bound_ = attributes.right_bound;
  left_bound_ = attributes.left_bound;
  is_causal_ = attributes.is_causal;
  is_deterministic_ = true;
  return {out_, stats_};
}

std::array<Graph::Tensor, 3> Graph::sdpa_backward(Tensor q, Tensor k, Tensor v, Tensor out, Tensor dout, Tensor stats,
                                                  const SDPA_backward_attributes& attributes) {
  q_ = q;
  k_ = k;
  v_ = v;
  out_ = out;
  dout_ = dout;
  stats_ = stats;
  dq_ = std::make_shared<Tensor_attributes>();
  dk_ = std::make_shared<Tensor_attributes>();
  dv_ = std::make_shared<Tensor_attributes>();
  scale_ = attributes.scale;
  alignment_ = attributes.alignment;
  right_bound_ = attributes.right_bound;
  left_bound_ = attributes.left_bound;
  is_causal_ = attributes.is_causal;
  is_deterministic_ = attributes.is_deterministic;
  return {dq_, dk_, dv_};
}

std::vector<Graph::Tensor> Graph::Tensors() const {
  std::vector<Tensor> tensors;
  for (const Tensor& tensor : {q_, k_, v_, out_, stats_, dout_, dq_, dk_, dv_}) {
    if (tensor != nullptr) tensors.push_back(tensor);
  }
  return tensors;
}

int64_t Graph::WorkspaceBytes() const {
  if (convolution_.result != nullptr) return 64;
  if (!IsGradient()) return 0;
  const int64_t heads = q_->dim[0] * q_->dim[1], rows = q_->dim[2], columns = k_->dim[2];
  const bool has_groups = q_->dim[1] != k_->dim[1];
  return 2 * heads * RoundedUp(rows, 64) * RoundedUp(columns, 128) + 4 * heads * rows + 256 +
         (has_groups ? 2 * heads * columns * (q_->dim[3] + v_->dim[3]) : 0);
}

error_t Graph::build(cudnnHandle_t handle, const std::vector<HeurMode_t>& modes) {
  if (handle == nullptr || modes.empty()) return error_t("no handle, or no heuristics");
  if (type_ != DataType_t::HALF && type_ != DataType_t::BFLOAT16) return error_t("the type is not supported");
  if (!is_deterministic_) return error_t("only gradients that are the same in each run are");
  if (stand_in::RefusesAtRandom(static_cast<uint64_t>((q_->dim[0] * 1009 + q_->dim[1]) * 1009 + q_->dim[2]) * 2 +
                                (IsGradient() ? 1 : 0)))
    return error_t("no engine supports the graph");
  for (const int64_t head : {q_->dim[3], v_->dim[3]}) {
    if (head % 8 != 0 || head > 256) return error_t("hidden_dim should be a multiple of 8, at most 256");
  }
  if (IsGradient() && q_->dim[2] == 1) return error_t("no gradients of one query");
  if (q_->dim[1] % k_->dim[1] != 0) return error_t("key heads must divide the heads");
  if (right_bound_ < 0) return error_t("the right bound must not be negative");
  if (left_bound_ < 0 || (left_bound_ > 0 && !is_causal_)) return error_t("a left bound is for causal attention");
  if (left_bound_ > 0 && q_->dim[2] > k_->dim[2]) return error_t("a left bound is for no more queries than keys");
  for (const Tensor& tensor : Tensors()) {
    const bool is_of_statistics = tensor == stats_;
    if (tensor->uid == 0 || tensor->dim.size() != 4 || tensor->stride.size() != 4)
      return error_t("a tensor is unknown");
    if (is_of_statistics != (tensor->type == DataType_t::FLOAT)) return error_t("a tensor has the wrong type");
    for (int i = 0; !is_of_statistics && i < 3; ++i) {
      if (tensor->stride[static_cast<size_t>(i)] % 8 != 0) return error_t("a stride is no multiple of 16 bytes");
    }
  }
  for (const Tensor& result : IsGradient() ? std::vector<Tensor>{dq_, dk_, dv_} : std::vector<Tensor>{out_}) {
    if (!result->is_output) return error_t("a result is no output");
  }
  return {};
}

error_t Graph::get_workspace_size(int64_t& bytes) const {
  bytes = WorkspaceBytes();
  return {};
}

error_t Graph::execute(cudnnHandle_t handle, std::unordered_map<int64_t, void*>& places, void* workspace) const {
  if (convolution_.result != nullptr) return Convolve(handle, places, workspace);
  const auto bytes = static_cast<size_t>(WorkspaceBytes());
  if (bytes > 0 && workspace == nullptr) return error_t("there is no workspace");
  for (const Tensor& tensor : Tensors()) {
    const auto found = places.find(tensor->uid);
    if (found == places.end() || found->second == nullptr) return error_t("a tensor has no place");
    if (tensor != stats_ && reinterpret_cast<uintptr_t>(found->second) % 16 != 0) return error_t("a place is odd");
  }
  for (const Tensor& tensor : Tensors()) {
    int64_t last = 0;
    for (size_t i = 0; i < tensor->dim.size(); ++i) last += (tensor->dim[i] - 1) * tensor->stride[i];
    stand_in::CheckOfDevice(places.at(tensor->uid), static_cast<size_t>(last + 1) * (tensor == stats_ ? 4 : 2),
                            "a tensor of attention");
  }
  stand_in::CheckOfDevice(workspace, bytes, "the workspace of attention");
  cudaStream_t stream = nullptr;
  if (cudnnGetStream(handle, &stream) != CUDNN_STATUS_SUCCESS) return error_t("there is no stream");
  const cudaError_t error = StandInEnqueue(stream, [graph = *this, places, workspace, bytes] {
    if (bytes > 0) std::memset(workspace, 0xFF, bytes);
    const Operands operands = {graph, places};
    graph.IsGradient() ? operands.Backward() : operands.Forward();
  });
  return error == cudaSuccess ? error_t() : error_t("the work cannot be begun");
}

}  // namespace cudnn_frontend::graph
