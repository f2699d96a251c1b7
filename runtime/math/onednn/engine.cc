#include "runtime/math/onednn/engine.h"

#include "runtime/error/error.h"

namespace cleave::runtime {

void Check(dnnl_status_t status, const char* what) {
  if (status == dnnl_success) return;
  Die(ExitCode::kFailed, Format("oneDNN failed in %s: status %d", what, static_cast<int>(status)));
}

const Engine& TheEngine() {
  static const dnnl_engine_t engine = [] {
    dnnl_engine_t started = nullptr;
    Check(dnnl_engine_create(&started, dnnl_cpu, 0), "starting its engine");
    return started;
  }();
  thread_local const Engine* const of_thread = [] {
    auto* const started = new Engine{engine, nullptr};
    Check(dnnl_stream_create(&started->stream, engine, dnnl_stream_default_flags), "starting its stream");
    return started;
  }();
  return *of_thread;
}

dnnl_primitive_desc_t ChooseKernel(const_dnnl_op_desc_t operation, const_dnnl_primitive_desc_t hint, const char* what,
                                   const_dnnl_primitive_attr_t attributes) {
  dnnl_primitive_desc_t description = nullptr;
  const dnnl_status_t status =
      dnnl_primitive_desc_create(&description, operation, attributes, TheEngine().engine, hint);
  if (status == dnnl_unimplemented) return nullptr;
  Check(status, what);
  return description;
}

dnnl_memory_t MakeMemory(const dnnl_memory_desc_t& description) {
  dnnl_memory_t memory;
  Check(dnnl_memory_create(&memory, &description, TheEngine().engine, DNNL_MEMORY_NONE), "creating memory");
  return memory;
}

void SetPointer(dnnl_memory_t memory, const void* values) {
  Check(dnnl_memory_set_data_handle_v2(memory, const_cast<void*>(values), TheEngine().stream), "setting a pointer");
}

void Execute(dnnl_primitive_t primitive, const std::vector<dnnl_exec_arg_t>& arguments, const char* what) {
  Check(dnnl_primitive_execute(primitive, TheEngine().stream, static_cast<int>(arguments.size()), arguments.data()),
        what);
  Check(dnnl_stream_wait(TheEngine().stream), what);
}

}  // namespace cleave::runtime
