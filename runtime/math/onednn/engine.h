// What the users of oneDNN's C interface share (its C++ headers take seconds to compile).
#ifndef CLEAVE_RUNTIME_MATH_ONEDNN_ENGINE_H_
#define CLEAVE_RUNTIME_MATH_ONEDNN_ENGINE_H_

#include <dnnl.h>

#include <vector>

#include "runtime/device/bfloat16.h"
#include "runtime/device/float16.h"

namespace cleave::runtime {

// Ends the program when oneDNN refuses; `what`: what it was asked for.
void Check(dnnl_status_t status, const char* what);

struct Engine {
  dnnl_engine_t engine = nullptr;
  dnnl_stream_t stream = nullptr;
};

// One engine, and a stream of the calling thread; started at the first use and never destroyed: oneDNN's own globals
// may be gone before ours.
const Engine& TheEngine();

// The library's name of a type.
template <typename T>
inline constexpr dnnl_data_type_t kDnnlType = dnnl_f32;
template <>
inline constexpr dnnl_data_type_t kDnnlType<BFloat16> = dnnl_bf16;
template <>
inline constexpr dnnl_data_type_t kDnnlType<Float16> = dnnl_f16;

// The operation on this processor; null where oneDNN has no kernels for these types on it: processors without AVX-512
// compute in f32 only, and none in f16 before oneDNN 3. `hint`: the forward operation of a gradient.
dnnl_primitive_desc_t ChooseKernel(const_dnnl_op_desc_t operation, const_dnnl_primitive_desc_t hint, const char* what,
                                   const_dnnl_primitive_attr_t attributes = nullptr);

// A memory object without memory.
dnnl_memory_t MakeMemory(const dnnl_memory_desc_t& description);
void SetPointer(dnnl_memory_t memory, const void* values);

// Runs it to its end.
void Execute(dnnl_primitive_t primitive, const std::vector<dnnl_exec_arg_t>& arguments, const char* what);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_MATH_ONEDNN_ENGINE_H_
