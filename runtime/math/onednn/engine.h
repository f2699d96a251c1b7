// What the users of oneDNN's C interface share (its C++ headers take half a second to compile).
#ifndef CLEAVE_RUNTIME_MATH_ONEDNN_ENGINE_H_
#define CLEAVE_RUNTIME_MATH_ONEDNN_ENGINE_H_

#include <vector>

#include "runtime/device/bfloat16.h"
#include "runtime/device/float16.h"
#include "runtime/math/onednn/versions.h"

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

// What choose(kernel, engine) chooses on this processor; null where oneDNN has no kernels for these types on it:
// processors without AVX-512 compute in f32 only, and none in f16 before oneDNN 3.
template <typename Choose>
Kernel ChooseKernel(const char* what, Choose choose) {
  dnnl_primitive_desc_t kernel = nullptr;
  const dnnl_status_t status = choose(&kernel, TheEngine().engine);
  if (status == dnnl_unimplemented) return nullptr;
  Check(status, what);
  return Kernel(kernel);
}

// What can be run. It is never destroyed, nor are memory objects: a step needs them again.
dnnl_primitive_t MakePrimitive(const Kernel& kernel, const char* what);

// A layout by kLayoutByStrides and its like (versions.h).
template <typename Function, typename... Arguments>
OwnedLayout MakeLayout(const char* what, Function function, Arguments... arguments) {
  OwnedLayout layout;
  Check(CreateLayout(&layout, function, arguments...), what);
  return layout;
}

// A memory object without memory.
dnnl_memory_t MakeMemory(const Layout* layout);
void SetPointer(dnnl_memory_t memory, const void* values);

// Runs it to its end.
void Execute(dnnl_primitive_t primitive, const std::vector<dnnl_exec_arg_t>& arguments, const char* what);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_MATH_ONEDNN_ENGINE_H_
