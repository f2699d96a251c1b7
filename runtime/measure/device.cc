#include "runtime/measure/device.h"

#include <utility>

#include "runtime/data/data.h"
#include "runtime/data/digits.h"
#include "runtime/device/bfloat16.h"
#include "runtime/device/memory.h"
#include "runtime/error/error.h"
#include "runtime/math/math.h"
#include "runtime/measure/loops.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

template <typename T>
void MeasureProductsOf(const char* type, const Arena& arena, Pace& pace) {
  constexpr int64_t kFewest = 8, kMost = 8192;
  for (int64_t edge = kFewest; edge <= kMost; edge *= 2) {
    const int64_t elements = edge * edge;
    if (3 * elements * static_cast<int64_t>(sizeof(T)) > arena.bytes()) break;
    T* const a = arena.At<T>(0);
    FillMixed(2 * elements, a);
    const bool has_time = pace.Time({"product", type, 1, edge}, 8, [&] {
      MatMul({.m = edge, .n = edge, .k = edge, .transpose_b = true}, a, a + elements, a + 2 * elements);
    });
    if (!has_time) break;
  }
}

}  // namespace

void MeasureProducts(const Arena& arena, Pace& pace) {
  MeasureProductsOf<float>("f32", arena, pace);
  MeasureProductsOf<BFloat16>("bf16", arena, pace);
  if (TensorsAreOnHost()) return;
  SetMatMulPrecision(Precision::kTf32);
  MeasureProductsOf<float>("tf32", arena, pace);
  SetMatMulPrecision(Precision::kF32);
}

void MeasureMemory(const Arena& arena, Pace& pace) {
  for (int64_t bytes = 256 << 10; bytes <= arena.bytes(); bytes *= 4) {
    const int64_t half = bytes / 2, count = half / static_cast<int64_t>(sizeof(float));
    float* const first = arena.At<float>(0);
    float* const second = arena.At<float>(half);
    FillMixed(count, first);
    bool is_back = false;
    const bool has_time = pace.Time({"memory", "f32", 1, bytes}, 4, [&] {
      Negate(count, is_back ? second : first, is_back ? first : second);
      is_back = !is_back;
    });
    if (!has_time) break;
  }
}

void MeasureKernels(const Arena& arena, Pace& pace) {
  if (TensorsAreOnHost()) return;
  constexpr int64_t kElements = 1024;
  pace.Time({"kernel", "f32", 1, kElements * static_cast<int64_t>(sizeof(float))}, 1,
            [&] { Negate(kElements, arena.At<float>(0), arena.At<float>(4 * kElements)); });
}

void MeasureHostCopies(const Arena& arena, Pace& pace) {
  if (TensorsAreOnHost()) return;
  const int64_t bytes = arena.host_bytes();
  pace.Time({"host_copy", "to_host", 1, bytes}, 1,
            [&] { CopyToHost(arena.At<void>(0), arena.OnHost<void>(0), bytes); });
  pace.Time({"host_copy", "from_host", 1, bytes}, 1,
            [&] { CopyFromHost(arena.OnHost<void>(0), arena.At<void>(0), bytes); });
}

void MeasureInput(Pace& pace, Samples& samples) {
  if (!TensorsAreOnHost()) return;
  constexpr int64_t kBatch = 256, kBatches = 32, kPixels = 784;
  if (samples.batches == nullptr) {
    samples.images.resize(kBatch * kPixels);
    Result<std::unique_ptr<Batches>> opened =
        Batches::Open(Digits(kBatch * kBatches, 0), {{"image", WholeRegion({kBatch, kPixels}), samples.images.data()}},
                      /*seed=*/1);
    if (!opened.ok()) Die(opened.error().code, opened.error().message);
    samples.batches = std::move(opened.value());
    samples.batches->PrepareTraining(0, kBatches);
  }
  int64_t step = 0;
  pace.Time({"input", "f32", 1, static_cast<int64_t>(samples.images.size() * sizeof(float))}, 1,
            [&] { samples.batches->LoadTraining(step++ % kBatches); });
}

}  // namespace cleave::runtime
