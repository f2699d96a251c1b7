// Convolutions and their gradients as graphs of cudnn-frontend, which makes plans of them.
//
//   const ConvolutionCall call = {.direction = Direction::kForward, .type = ConvolutionType::kBf16, …};
//   cudnn_frontend::graph::Graph graph;
//   Describe(call, graph);
//   cudnn_frontend::error_t error = MakePlan(graph, handle, call);
//
// What a plan is made for is all in a ConvolutionCall. Only sources that g++ compiles include this (sdpa_graph.h).
#ifndef CLEAVE_RUNTIME_MATH_CUDNN_CONVOLUTION_GRAPH_H_
#define CLEAVE_RUNTIME_MATH_CUDNN_CONVOLUTION_GRAPH_H_

#define NV_CUDNN_DISABLE_EXCEPTION
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/math/cudnn/convolution_call.h"

namespace cleave::runtime {

// Adds the call to a graph that has nothing else.
inline void Describe(const ConvolutionCall& call, cudnn_frontend::graph::Graph& graph) {
  namespace library = cudnn_frontend;
  using library::DataType_t;
  const DataType_t type = call.type == ConvolutionType::kBf16  ? DataType_t::BFLOAT16
                          : call.type == ConvolutionType::kF16 ? DataType_t::HALF
                                                               : DataType_t::FLOAT;
  graph.set_io_data_type(type).set_intermediate_data_type(DataType_t::FLOAT).set_compute_data_type(DataType_t::FLOAT);
  const auto describe = [&](library::graph::Tensor_attributes& attributes, ConvolutionTensor tensor) {
    const ConvolutionBox box = BoxOf(call, tensor);
    attributes.set_uid(tensor).set_dim(box.sizes).set_stride(box.strides).set_alignment(call.alignment);
  };
  const auto input = [&](ConvolutionTensor tensor) {
    library::graph::Tensor_attributes attributes;
    describe(attributes, tensor);
    return graph.tensor(attributes);
  };
  const auto output = [&](const std::shared_ptr<library::graph::Tensor_attributes>& result, ConvolutionTensor tensor) {
    describe(*result, tensor);
    result->set_output(true).set_data_type(call.gives_floats ? DataType_t::FLOAT : type);
  };
  const auto slide = [&](auto attributes) {
    attributes.set_name("convolution")
        .set_pre_padding({call.rows.before, call.columns.before})
        .set_post_padding({call.rows.behind, call.columns.behind})
        .set_stride({call.rows.stride, call.columns.stride})
        .set_dilation({call.rows.dilation, call.columns.dilation});
    return attributes;
  };
  switch (call.direction) {
    case Direction::kForward: {
      const auto x = input(kImages), filter = input(kFilter);
      return output(graph.conv_fprop(x, filter, slide(library::graph::Conv_fprop_attributes())), kPlaces);
    }
    case Direction::kGradientInput: {
      const auto dy = input(kPlaces), filter = input(kFilter);
      return output(graph.conv_dgrad(dy, filter, slide(library::graph::Conv_dgrad_attributes())), kImages);
    }
    case Direction::kGradientFilter: {
      const auto dy = input(kPlaces), x = input(kImages);
      const auto dfilter = graph.conv_wgrad(dy, x, slide(library::graph::Conv_wgrad_attributes()));
      if (!IsWidened(call)) return output(dfilter, kFilter);
      // The library has this for all GPUs only as a graph of two operations.
      const ConvolutionBox box = BoxOf(call, kFilter);
      dfilter->set_dim(box.sizes).set_stride(box.strides).set_data_type(DataType_t::FLOAT);
      library::graph::Pointwise_attributes identity;
      identity.set_name("sums").set_mode(library::PointwiseMode_t::IDENTITY);
      return output(graph.pointwise(dfilter, identity), kFilter);
    }
  }
}

// The most workspace that a plan may take.
constexpr int64_t kLargestConvolutionWorkspace = int64_t{512} << 20;

// Has the library make a plan: sums of the products as they are, which are the same in each run. `handle`: the
// library's, or none, for a device that the graph describes.
template <typename... Handle>
cudnn_frontend::error_t MakePlan(cudnn_frontend::graph::Graph& graph, const ConvolutionCall& call, Handle... handle) {
  namespace library = cudnn_frontend;
  using library::NumericalNote_t;
  library::error_t error = graph.validate();
  if (error.is_good()) error = graph.build_operation_graph(handle...);
  if (error.is_good()) error = graph.create_execution_plans({library::HeurMode_t::A, library::HeurMode_t::FALLBACK});
  if (error.is_bad()) return error;
  // Transforms lose digits, and reduced precision is that of sums.
  std::vector<NumericalNote_t> refused = {NumericalNote_t::NONDETERMINISTIC,
                                          NumericalNote_t::REDUCED_PRECISION_REDUCTION, NumericalNote_t::FFT,
                                          NumericalNote_t::WINOGRAD};
  if (call.type == ConvolutionType::kFloat) {
    refused.insert(refused.end(), {NumericalNote_t::TENSOR_CORE, NumericalNote_t::DOWN_CONVERT_INPUTS});
  }
  graph.deselect_numeric_notes(refused);
  graph.deselect_workspace_greater_than(kLargestConvolutionWorkspace);
  error = graph.check_support();
  if (error.is_good()) error = graph.build_plans();
  return error;
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_MATH_CUDNN_CONVOLUTION_GRAPH_H_
