// Attention and its gradients as graphs of cudnn-frontend, which makes plans of them.
//
//   const SdpaCall call = {.type = SdpaType::kBf16, .shape = shape, .part = SdpaPart::kGradient};
//   cudnn_frontend::graph::Graph graph;
//   Describe(call, graph);
//   if (graph.build(handle, {cudnn_frontend::HeurMode_t::A}).is_good()) …
//
// What a plan is made for is all in an SdpaCall. Only sources that g++ compiles include this: nvcc would read the
// library once for each architecture.
#ifndef CLEAVE_RUNTIME_MATH_CUDNN_SDPA_GRAPH_H_
#define CLEAVE_RUNTIME_MATH_CUDNN_SDPA_GRAPH_H_

// Errors of the library are values, and it reads and writes no JSON.
#define NV_CUDNN_DISABLE_EXCEPTION
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>

#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "runtime/kernels/attention.h"
#include "runtime/math/cudnn/sdpa.h"

namespace cleave::runtime {

enum class SdpaPart { kResult, kResultAndLogsumexp, kGradient };

struct SdpaCall {
  SdpaType type;
  SdpaPart part;
  AttentionShape shape;
  bool operator==(const SdpaCall& other) const {
    const auto strides = [](const AttentionStrides& s) { return std::tie(s.batch, s.head, s.row); };
    const auto fields = [&](const AttentionShape& s) {
      return std::make_tuple(s.batch, s.heads, s.key_heads, s.rows, s.columns, s.head, s.ValueHead(), s.scale, s.causal,
                             s.first_row, s.zigzag.pairs, s.window, s.cap, s.first != nullptr, strides(s.q),
                             strides(s.k), strides(s.v), strides(s.out), strides(s.dout), strides(s.dq), strides(s.dk),
                             strides(s.dv));
    };
    return type == other.type && part == other.part && fields(shape) == fields(other.shape);
  }
};

// The numbers by which a graph knows its tensors.
enum SdpaTensor : int64_t { kQuery = 1, kKey, kValue, kResult, kLogsumexp, kDResult, kDQuery, kDKey, kDValue };

inline bool HasValueHeads(SdpaTensor tensor) {
  return tensor == kValue || tensor == kResult || tensor == kDResult || tensor == kDValue;
}
inline bool IsOfKeys(SdpaTensor tensor) {
  return tensor == kKey || tensor == kValue || tensor == kDKey || tensor == kDValue;
}

// Not of the logsumexp.
inline const AttentionStrides& StridesOf(const AttentionShape& shape, SdpaTensor tensor) {
  switch (tensor) {
    case kQuery:
      return shape.q;
    case kKey:
      return shape.k;
    case kValue:
      return shape.v;
    case kDResult:
      return shape.dout;
    case kDQuery:
      return shape.dq;
    case kDKey:
      return shape.dk;
    case kDValue:
      return shape.dv;
    case kResult:
    case kLogsumexp:
      break;
  }
  return shape.out;
}

// Makes the tensors of a graph.
class SdpaTensors {
 public:
  using Tensor = std::shared_ptr<cudnn_frontend::graph::Tensor_attributes>;

  explicit SdpaTensors(const AttentionShape& shape) : shape_(shape) {}

  cudnn_frontend::graph::Tensor_attributes Of(SdpaTensor tensor) const {
    cudnn_frontend::graph::Tensor_attributes attributes;
    Describe(attributes, tensor);
    return attributes;
  }

  // `result`: what an operation has made.
  void AsOutput(const Tensor& result, SdpaTensor tensor) const {
    Describe(*result, tensor);
    result->set_output(true);
  }

 private:
  void Describe(cudnn_frontend::graph::Tensor_attributes& attributes, SdpaTensor tensor) const {
    const AttentionShape& s = shape_;
    const int64_t heads = IsOfKeys(tensor) ? s.key_heads : s.heads;
    const int64_t rows = IsOfKeys(tensor) ? s.columns : s.rows;
    attributes.set_uid(tensor);
    if (tensor == kLogsumexp) {
      attributes.set_dim({s.batch, heads, rows, 1})
          .set_stride({heads * rows, rows, 1, 1})
          .set_data_type(cudnn_frontend::DataType_t::FLOAT);
      return;
    }
    const AttentionStrides& strides = StridesOf(s, tensor);
    attributes.set_dim({s.batch, heads, rows, HasValueHeads(tensor) ? s.ValueHead() : s.head})
        .set_stride({strides.batch, strides.head, strides.row, 1});
  }

  const AttentionShape& shape_;
};

// Whether the last query sees the last key as the last.
inline bool EndsMeet(const AttentionShape& shape) {
  return shape.first_row != 0 && shape.first_row == shape.columns - shape.rows;
}
inline bool IsDiagonal(const AttentionShape& shape) { return shape.first_row == 0 || EndsMeet(shape); }

// Query i sees the keys up to i, counted from the first, or so that the last query sees the last key; with a window
// only so many of them, where the diagonal is one of these two.
template <typename Attributes>
void SetSight(const AttentionShape& shape, Attributes& attributes) {
  using Alignment = cudnn_frontend::DiagonalAlignment_t;
  const bool has_window = shape.window > 0 && shape.window < shape.columns;
  if (!shape.causal || (shape.first_row >= shape.columns - 1 && !has_window)) return;
  const bool ends_meet = EndsMeet(shape);
  attributes.set_diagonal_alignment(ends_meet ? Alignment::BOTTOM_RIGHT : Alignment::TOP_LEFT)
      .set_diagonal_band_right_bound(ends_meet ? 0 : static_cast<int>(shape.first_row));
  if (has_window) attributes.set_diagonal_band_left_bound(static_cast<int>(shape.window));
}

// Adds the call to a graph that has nothing else.
inline void Describe(const SdpaCall& call, cudnn_frontend::graph::Graph& graph) {
  namespace library = cudnn_frontend;
  const AttentionShape& shape = call.shape;
  const SdpaTensors tensors(shape);
  graph.set_io_data_type(call.type == SdpaType::kBf16 ? library::DataType_t::BFLOAT16 : library::DataType_t::HALF)
      .set_intermediate_data_type(library::DataType_t::FLOAT)
      .set_compute_data_type(library::DataType_t::FLOAT);
  const auto q = graph.tensor(tensors.Of(kQuery));
  const auto k = graph.tensor(tensors.Of(kKey));
  const auto v = graph.tensor(tensors.Of(kValue));
  if (call.part != SdpaPart::kGradient) {
    const bool has_logsumexp = call.part == SdpaPart::kResultAndLogsumexp;
    library::graph::SDPA_attributes attributes;
    attributes.set_name("attention").set_generate_stats(has_logsumexp).set_attn_scale(shape.scale);
    SetSight(shape, attributes);
    const auto [out, logsumexp] = graph.sdpa(q, k, v, attributes);
    tensors.AsOutput(out, kResult);
    if (has_logsumexp) tensors.AsOutput(logsumexp, kLogsumexp);
    return;
  }
  library::graph::SDPA_backward_attributes attributes;
  attributes.set_name("gradients of attention").set_attn_scale(shape.scale).set_deterministic_algorithm(true);
  SetSight(shape, attributes);
  const auto out = graph.tensor(tensors.Of(kResult));
  const auto dout = graph.tensor(tensors.Of(kDResult));
  const auto logsumexp = graph.tensor(tensors.Of(kLogsumexp));
  const auto [dq, dk, dv] = graph.sdpa_backward(q, k, v, out, dout, logsumexp, attributes);
  tensors.AsOutput(dq, kDQuery);
  tensors.AsOutput(dk, kDKey);
  tensors.AsOutput(dv, kDValue);
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_MATH_CUDNN_SDPA_GRAPH_H_
