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

dnnl_primitive_t MakePrimitive(const Kernel& kernel, const char* what) {
  dnnl_primitive_t primitive = nullptr;
  Check(dnnl_primitive_create(&primitive, kernel.get()), what);
  return primitive;
}

dnnl_memory_t MakeMemory(const Layout* layout) {
  dnnl_memory_t memory = nullptr;
  Check(dnnl_memory_create(&memory, layout, TheEngine().engine, DNNL_MEMORY_NONE), "creating memory");
  return memory;
}

void SetPointer(dnnl_memory_t memory, const void* values) {
  Check(dnnl_memory_set_data_handle(memory, const_cast<void*>(values)), "setting a pointer");
}

void Execute(dnnl_primitive_t primitive, const std::vector<dnnl_exec_arg_t>& arguments, const char* what) {
  Check(dnnl_primitive_execute(primitive, TheEngine().stream, static_cast<int>(arguments.size()), arguments.data()),
        what);
  Check(dnnl_stream_wait(TheEngine().stream), what);
}

}  // namespace cleave::runtime
