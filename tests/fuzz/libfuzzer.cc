// Around a target that libFuzzer runs. The linker renames what stands here (fuzz.bzl).
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

// Exit codes that libFuzzer itself uses are larger.
constexpr int kLastOfCompiler = 70;

bool is_running = false;

void CheckEnd(int code) {
  if (is_running && code <= kLastOfCompiler) std::abort();
}

}  // namespace

extern "C" {

int __real_LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
[[noreturn]] void __real__exit(int code);
[[noreturn]] void __real__Exit(int code);

// A target that ends the process has found a mistake, and libFuzzer sees only how it ends by a signal.
int __wrap_LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  is_running = true;
  const int result = __real_LLVMFuzzerTestOneInput(data, size);
  is_running = false;
  return result;
}

[[noreturn]] void __wrap__exit(int code) {
  CheckEnd(code);
  __real__exit(code);
}

[[noreturn]] void __wrap__Exit(int code) {
  CheckEnd(code);
  __real__Exit(code);
}

}  // extern "C"
