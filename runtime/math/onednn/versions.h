// Private to runtime/math/onednn: one interface to what versions 2 and 3 of oneDNN declare differently, here alone.
//
// A layout, oneDNN's memory descriptor, is a struct in version 2 and an object of the library in version 3; all
// functions of both take pointers to it. An operation is described in version 2 before a kernel is chosen; in version 3
// that is one call, as in the Choose... functions. These return what the library says: dnnl_unimplemented where it has
// no kernel on this processor; then nothing is chosen.
#ifndef CLEAVE_RUNTIME_MATH_ONEDNN_VERSIONS_H_
#define CLEAVE_RUNTIME_MATH_ONEDNN_VERSIONS_H_

#include <dnnl.h>

#include <memory>

namespace cleave::runtime {

// For objects that a function of the library ends.
template <auto kDestroy>
struct DestroyedBy {
  template <typename T>
  void operator()(T* object) const {
    kDestroy(object);
  }
};

using Kernel = std::unique_ptr<dnnl_primitive_desc, DestroyedBy<dnnl_primitive_desc_destroy>>;
using Attributes = std::unique_ptr<dnnl_primitive_attr, DestroyedBy<dnnl_primitive_attr_destroy>>;
using PostOps = std::unique_ptr<dnnl_post_ops, DestroyedBy<dnnl_post_ops_destroy>>;

#if DNNL_VERSION_MAJOR >= 3

using Layout = dnnl_memory_desc;
using OwnedLayout = std::unique_ptr<Layout, DestroyedBy<dnnl_memory_desc_destroy>>;

#else

using Layout = dnnl_memory_desc_t;
using OwnedLayout = std::unique_ptr<Layout>;

#endif

// The tensors of a convolution or of its gradients, and how the filter moves.
struct ConvolutionLayouts {
  const Layout* x;
  const Layout* filter;
  const Layout* y;
};

struct ConvolutionSteps {
  dnnl_dims_t strides;
  dnnl_dims_t gaps;
  dnnl_dims_t before;  // Padding.
  dnnl_dims_t behind;
};

constexpr dnnl_alg_kind_t kConvolutionAlgorithm = dnnl_convolution_direct;

#if DNNL_VERSION_MAJOR >= 3

// Functions whose first argument receives a layout, with the same arguments behind it in both versions.
constexpr auto kLayoutByStrides = dnnl_memory_desc_create_with_strides;
constexpr auto kLayoutByTag = dnnl_memory_desc_create_with_tag;
constexpr auto kLayoutOfPart = dnnl_memory_desc_create_submemory;

template <typename Function, typename... Arguments>
dnnl_status_t CreateLayout(OwnedLayout* layout, Function function, Arguments... arguments) {
  dnnl_memory_desc_t created = nullptr;
  const dnnl_status_t status = function(&created, arguments...);
  layout->reset(created);
  return status;
}

constexpr auto kAppendSum = dnnl_post_ops_append_sum;

// Puts the next kernel for the same operation in the place of this one; false behind the last.
inline bool TakeNext(const Kernel& kernel) { return dnnl_primitive_desc_next_impl(kernel.get()) == dnnl_success; }

// `bias` may be null.
inline dnnl_status_t ChooseProduct(dnnl_primitive_desc_t* kernel, dnnl_engine_t engine, const Layout* a,
                                   const Layout* b, const Layout* bias, const Layout* c,
                                   const_dnnl_primitive_attr_t attributes) {
  return dnnl_matmul_primitive_desc_create(kernel, engine, a, b, bias, c, attributes);
}

inline dnnl_status_t ChooseConvolution(dnnl_primitive_desc_t* kernel, dnnl_engine_t engine,
                                       const ConvolutionLayouts& of, const ConvolutionSteps& steps) {
  return dnnl_convolution_forward_primitive_desc_create(kernel, engine, dnnl_forward_training, kConvolutionAlgorithm,
                                                        of.x, of.filter, nullptr, of.y, steps.strides, steps.gaps,
                                                        steps.before, steps.behind, nullptr);
}

// The gradients are chosen with the forward convolution as a hint.
inline dnnl_status_t ChooseGradientInput(dnnl_primitive_desc_t* kernel, dnnl_engine_t engine,
                                         const ConvolutionLayouts& of, const ConvolutionSteps& steps,
                                         const_dnnl_primitive_desc_t forward) {
  return dnnl_convolution_backward_data_primitive_desc_create(kernel, engine, kConvolutionAlgorithm, of.x, of.filter,
                                                              of.y, steps.strides, steps.gaps, steps.before,
                                                              steps.behind, forward, nullptr);
}

inline dnnl_status_t ChooseGradientFilter(dnnl_primitive_desc_t* kernel, dnnl_engine_t engine,
                                          const ConvolutionLayouts& of, const ConvolutionSteps& steps,
                                          const_dnnl_primitive_desc_t forward) {
  return dnnl_convolution_backward_weights_primitive_desc_create(kernel, engine, kConvolutionAlgorithm, of.x, of.filter,
                                                                 nullptr, of.y, steps.strides, steps.gaps, steps.before,
                                                                 steps.behind, forward, nullptr);
}

#else

constexpr auto kLayoutByStrides = dnnl_memory_desc_init_by_strides;
constexpr auto kLayoutByTag = dnnl_memory_desc_init_by_tag;
constexpr auto kLayoutOfPart = dnnl_memory_desc_init_submemory;

template <typename Function, typename... Arguments>
dnnl_status_t CreateLayout(OwnedLayout* layout, Function function, Arguments... arguments) {
  *layout = std::make_unique<Layout>();
  return function(layout->get(), arguments...);
}

constexpr auto kAppendSum = dnnl_post_ops_append_sum_v3;

// Nothing needs others than the first that version 2 has.
inline bool TakeNext(const Kernel&) { return false; }

inline dnnl_status_t ChooseProduct(dnnl_primitive_desc_t* kernel, dnnl_engine_t engine, const Layout* a,
                                   const Layout* b, const Layout* bias, const Layout* c,
                                   const_dnnl_primitive_attr_t attributes) {
  dnnl_matmul_desc_t operation;
  const dnnl_status_t status = dnnl_matmul_desc_init(&operation, a, b, bias, c);
  if (status != dnnl_success) return status;
  return dnnl_primitive_desc_create(kernel, &operation, attributes, engine, nullptr);
}

inline dnnl_status_t ChooseConvolution(dnnl_primitive_desc_t* kernel, dnnl_engine_t engine,
                                       const ConvolutionLayouts& of, const ConvolutionSteps& steps) {
  dnnl_convolution_desc_t operation;
  const dnnl_status_t status = dnnl_dilated_convolution_forward_desc_init(
      &operation, dnnl_forward_training, kConvolutionAlgorithm, of.x, of.filter, nullptr, of.y, steps.strides,
      steps.gaps, steps.before, steps.behind);
  if (status != dnnl_success) return status;
  return dnnl_primitive_desc_create(kernel, &operation, nullptr, engine, nullptr);
}

inline dnnl_status_t ChooseGradientInput(dnnl_primitive_desc_t* kernel, dnnl_engine_t engine,
                                         const ConvolutionLayouts& of, const ConvolutionSteps& steps,
                                         const_dnnl_primitive_desc_t forward) {
  dnnl_convolution_desc_t operation;
  const dnnl_status_t status = dnnl_dilated_convolution_backward_data_desc_init(
      &operation, kConvolutionAlgorithm, of.x, of.filter, of.y, steps.strides, steps.gaps, steps.before, steps.behind);
  if (status != dnnl_success) return status;
  return dnnl_primitive_desc_create(kernel, &operation, nullptr, engine, forward);
}

inline dnnl_status_t ChooseGradientFilter(dnnl_primitive_desc_t* kernel, dnnl_engine_t engine,
                                          const ConvolutionLayouts& of, const ConvolutionSteps& steps,
                                          const_dnnl_primitive_desc_t forward) {
  dnnl_convolution_desc_t operation;
  const dnnl_status_t status =
      dnnl_dilated_convolution_backward_weights_desc_init(&operation, kConvolutionAlgorithm, of.x, of.filter, nullptr,
                                                          of.y, steps.strides, steps.gaps, steps.before, steps.behind);
  if (status != dnnl_success) return status;
  return dnnl_primitive_desc_create(kernel, &operation, nullptr, engine, forward);
}

#endif

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_MATH_ONEDNN_VERSIONS_H_
