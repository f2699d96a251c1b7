// What this GPU reaches with the simplest work: a large copy, and large products. Prints a line of JSON.
//
//   bin/ceilings 4e9 8192                     # bytes of the copy, rows and columns of the products
//
// A copy counts the bytes that it reads and those that it writes. Products are of random numbers, by the library that
// programs call.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>
#include <vector>

#include "runtime/device/bfloat16.h"
#include "runtime/device/device.h"
#include "runtime/device/device_vector.h"
#include "runtime/device/memory.h"
#include "runtime/math/math.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {
namespace {

template <typename Function>
double SecondsOf(Function call) {
  constexpr int kRepetitions = 10;
  for (int i = 0; i < 3; ++i) call();
  FinishWork();
  const double start = Now();
  for (int i = 0; i < kRepetitions; ++i) call();
  FinishWork();
  return (Now() - start) / kRepetitions;
}

double CopyRate(int64_t bytes) {
  const DeviceVector<uint8_t> from(bytes), to(bytes);
  ZeroBytes(from.get(), bytes);
  return 2.0 * static_cast<double>(bytes) / SecondsOf([&] { CopyBytes(from.get(), to.get(), bytes); });
}

template <typename T>
double ProductRate(int64_t size) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<T> values(static_cast<size_t>(size * size));
  for (T& value : values) value = T(normal(random));
  const DeviceVector<T> a(values), b(values), c(size * size);
  const MatMulShape shape = {.m = size, .n = size, .k = size};
  return FlopsOf(shape) / SecondsOf([&] { MatMul(shape, a.get(), b.get(), c.get()); });
}

}  // namespace
}  // namespace cleave::runtime

int main(int argc, char** argv) {
  using namespace cleave::runtime;
  if (argc != 3 || std::atof(argv[1]) < 1 || std::atoll(argv[2]) < 1) {
    std::fprintf(stderr, "error: tell the bytes of the copy, and the rows of the products\n");
    return static_cast<int>(ExitCode::kUsage);
  }
  if (const std::optional<Error> error = OpenDevice({})) {
    std::fprintf(stderr, "error: %s\n", error->message.c_str());
    return static_cast<int>(error->code);
  }
  const int64_t size = std::atoll(argv[2]);
  std::printf("{\"identity\": \"%s\", \"copy_bytes_per_second\": %.4e, \"bf16_flops\": %.4e, \"f32_flops\": %.4e}\n",
              DeviceIdentity().c_str(), CopyRate(static_cast<int64_t>(std::atof(argv[1]))), ProductRate<BFloat16>(size),
              ProductRate<float>(size));
  return 0;
}
