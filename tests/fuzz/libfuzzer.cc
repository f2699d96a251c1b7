// Between g++ and libFuzzer, which is made for clang. The linker renames what stands here (fuzz.bzl).
#include <cstdint>
#include <cstdlib>

namespace {

// libFuzzer reads these counters after every run.
constexpr uintptr_t kCounters = uintptr_t{1} << 17;
__attribute__((section("__libfuzzer_extra_counters"))) uint8_t counters[kCounters];

// Exit codes that libFuzzer itself uses are larger.
constexpr int kLastOfCompiler = 70;

bool is_running = false;

void CheckEnd(int code) {
  if (is_running && code <= kLastOfCompiler) std::abort();
}

}  // namespace

extern "C" {

// What g++ calls on every branch (-fsanitize-coverage=trace-pc); libFuzzer knows clang's way only.
__attribute__((no_sanitize_coverage, no_sanitize("address", "undefined"))) void __wrap___sanitizer_cov_trace_pc() {
  const auto place = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  ++counters[(place ^ place >> 17) % kCounters];
}

// Comparisons of floating-point numbers, which only g++ reports.
__attribute__((no_sanitize_coverage)) void __sanitizer_cov_trace_cmpf(float, float) {}
__attribute__((no_sanitize_coverage)) void __sanitizer_cov_trace_cmpd(double, double) {}

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
