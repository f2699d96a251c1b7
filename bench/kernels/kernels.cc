// Question: how long does an element take in kernels that are no products, on one core?
//
//   kernels REPETITIONS      Prints one line of JSON for each kernel and shape.
//
// Times are the least of all repetitions, in processor time. Every kernel works on tensors of 1 MiB, which stay in a
// core's caches, so that what is measured is arithmetic. Inputs are small: a result that is denormal takes longer.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <vector>

#include "runtime/kernels/attention.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/losses.h"
#include "runtime/kernels/reduce.h"
#include "runtime/kernels/rows.h"
#include "runtime/math/math.h"

namespace cleave::runtime {
namespace {

constexpr int64_t kElements = 1 << 18;
constexpr float* kNone = nullptr;  // A tensor that is not there.

double ProcessorSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class Bench {
 public:
  explicit Bench(int repetitions) : repetitions_(repetitions) {}

  // One line: a kernel on [rows, columns], and what of it is counted.
  template <typename Work>
  void Measure(const char* kernel, int64_t rows, int64_t columns, double counted, Work work) const {
    work();
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < repetitions_; ++i) {
      const double start = ProcessorSeconds();
      work();
      least = std::min(least, ProcessorSeconds() - start);
    }
    std::printf("{\"kernel\": \"%s\", \"rows\": %d, \"columns\": %d, \"ns\": %.5f}\n", kernel, static_cast<int>(rows),
                static_cast<int>(columns), 1e9 * least / counted);
    std::fflush(stdout);
  }

 private:
  int repetitions_;
};

std::vector<float> Numbers(int64_t count, uint32_t state) {
  std::vector<float> numbers(static_cast<size_t>(count));
  for (float& number : numbers) {
    state = state * 1664525u + 1013904223u;
    number = static_cast<float>(state >> 8) * (2.0f / 16777216.0f) - 1.0f;
  }
  return numbers;
}

void MeasureRows(const Bench& bench, int64_t columns) {
  const int64_t rows = std::max<int64_t>(1, kElements / columns), count = rows * columns;
  const std::vector<float> x = Numbers(count, 1), dy = Numbers(count, 2), scale = Numbers(columns, 3);
  std::vector<float> y = x, dscale(scale.size()), dshift(scale.size());
  const std::vector<int32_t> label(static_cast<size_t>(rows), 1);
  float loss = 0;
  const auto measure = [&](const char* kernel, auto work) {
    bench.Measure(kernel, rows, columns, static_cast<double>(count), work);
  };
  measure("softmax", [&] { Softmax(x.data(), rows, columns, y.data()); });
  measure("softmax_gradient", [&] { SoftmaxGradient(dy.data(), x.data(), rows, columns, y.data()); });
  measure("log_softmax", [&] { LogSoftmax(x.data(), rows, columns, y.data()); });
  measure("log_softmax_gradient", [&] { LogSoftmaxGradient(dy.data(), x.data(), rows, columns, y.data()); });
  measure("cross_entropy", [&] { CrossEntropy(x.data(), label.data(), rows, columns, rows, {}, &loss, 0, 0); });
  measure("cross_entropy_gradient",
          [&] { CrossEntropyGradient(x.data(), label.data(), 1.0f, rows, columns, rows, y.data(), 0, 0); });
  measure("layer_norm",
          [&] { LayerNorm(x.data(), kNone, scale.data(), scale.data(), rows, columns, {}, nullptr, y.data()); });
  measure("rms_norm", [&] {
    LayerNorm(x.data(), kNone, scale.data(), nullptr, rows, columns, {.centered = false}, nullptr, y.data());
  });
  measure("layer_norm_gradient", [&] {
    LayerNormGradient(dy.data(), x.data(), scale.data(), nullptr, rows, columns, {}, y.data(), kNone, dscale.data(),
                      dshift.data());
  });
  measure("reduce_columns", [&] { ReduceSum(x.data(), {rows, columns}, {1}, y.data()); });
  measure("reduce_rows", [&] { ReduceSum(x.data(), {rows, columns}, {0}, dscale.data()); });
}

// A loop over elements, as programs have it.
template <typename Function>
void MeasureLoop(const Bench& bench, const char* kernel, Function function) {
  const std::vector<float> x = Numbers(kElements, 1);
  std::vector<float> y = x;
  bench.Measure(kernel, 1, kElements, static_cast<double>(kElements), [&] {
#pragma omp parallel for simd
    for (int64_t i = 0; i < kElements; ++i) y[static_cast<size_t>(i)] = function(x[static_cast<size_t>(i)]);
  });
}

void MeasureLoops(const Bench& bench) {
  MeasureLoop(bench, "multiply", [](float x) { return 0.5f * x; });
  MeasureLoop(bench, "exp", [](float x) { return Exp(x); });
  MeasureLoop(bench, "divide", [](float x) { return 1.0f / (2.0f + x); });
  MeasureLoop(bench, "sqrt", [](float x) { return std::sqrt(2.0f + x); });
  MeasureLoop(bench, "log", [](float x) { return std::log(2.0f + x); });
  MeasureLoop(bench, "tanh", [](float x) { return std::tanh(x); });
  MeasureLoop(bench, "sin", [](float x) { return std::sin(x); });
  MeasureLoop(bench, "pow", [](float x) { return std::pow(2.0f + x, 0.3f); });
  MeasureLoop(bench, "erf", [](float x) { return Erf(x); });
  MeasureLoop(bench, "log_one_plus", [](float x) { return LogOnePlus(x * x); });
  MeasureLoop(bench, "silu", [](float x) { return x / (1.0f + Exp(-x)); });
  std::vector<float> parameter = Numbers(kElements, 1), gradient = Numbers(kElements, 2), m = gradient, v = gradient;
  for (float& element : v) element = element * element;
  bench.Measure("adamw", 1, kElements, static_cast<double>(kElements), [&] {
    float* const p = parameter.data();
    const float* const g = gradient.data();
    float *const first = m.data(), *const second = v.data();
#pragma omp parallel for simd
    for (int64_t i = 0; i < kElements; ++i) {
      first[i] = 0.9f * first[i] + 0.1f * g[i];
      second[i] = 0.999f * second[i] + 0.001f * g[i] * g[i];
      const float div = first[i] * 1.1f / (std::sqrt(second[i] * 1.2f) + 1e-8f);
      p[i] -= (div + 0.01f * p[i]) * 1e-4f;
    }
  });
}

// Nanoseconds for each score, and for its operations of products: 2 products of 2 head each forward, 5 backward.
void MeasureAttention(const Bench& bench, int64_t length, int64_t head, bool causal) {
  const int64_t matrices = std::max<int64_t>(1, (1 << 20) / (length * length));
  const AttentionStrides strides = {.batch = length * head, .row = head};
  const AttentionShape shape = {.batch = matrices,
                                .rows = length,
                                .columns = length,
                                .head = head,
                                .scale = 0.125f,
                                .causal = causal,
                                .q = strides,
                                .k = strides,
                                .v = strides,
                                .out = strides,
                                .dout = strides,
                                .dq = strides,
                                .dk = strides,
                                .dv = strides};
  const int64_t count = matrices * length * head;
  const std::vector<float> q = Numbers(count, 1), k = Numbers(count, 2), v = Numbers(count, 3), dy = Numbers(count, 4);
  std::vector<float> y = q, dq = q, dk = q, dv = q, sums(static_cast<size_t>(matrices * length));
  const double scores = static_cast<double>(matrices * length * length);
  bench.Measure(causal ? "causal_attention" : "attention", length, head, scores,
                [&] { Attention(shape, q.data(), k.data(), v.data(), y.data(), sums.data()); });
  bench.Measure(causal ? "causal_attention_gradient" : "attention_gradient", length, head, scores, [&] {
    AttentionGradient(shape, q.data(), k.data(), v.data(), y.data(), sums.data(), dy.data(), dq.data(), dk.data(),
                      dv.data());
  });
}

// The rate of products, with which all others are compared: nanoseconds for each operation.
void MeasureProduct(const Bench& bench) {
  constexpr int64_t kEdge = 512;
  const std::vector<float> a = Numbers(kEdge * kEdge, 1), b = Numbers(kEdge * kEdge, 2);
  std::vector<float> c = a;
  bench.Measure("product", kEdge, kEdge, 2.0 * kEdge * kEdge * kEdge, [&] {
    MatMul({.m = kEdge, .n = kEdge, .k = kEdge, .transpose_b = true}, a.data(), b.data(), c.data());
  });
}

void MeasureAll(int repetitions) {
  const Bench bench(repetitions);
  MeasureProduct(bench);
  MeasureLoops(bench);
  for (const int64_t columns : {4, 10, 64, 65, 128, 256, 1000, 4096, 32000}) MeasureRows(bench, columns);
  for (const bool causal : {false, true}) {
    for (const int64_t head : {16, 32, 64, 128}) {
      for (const int64_t length : {32, 64, 128, 256, 512, 1024, 2048}) MeasureAttention(bench, length, head, causal);
    }
  }
}

}  // namespace
}  // namespace cleave::runtime

int main(int argc, char** argv) {
  if (argc != 2 || std::atoi(argv[1]) < 1) {
    std::fprintf(stderr, "usage: kernels REPETITIONS\n");
    return 2;
  }
  cleave::runtime::MeasureAll(std::atoi(argv[1]));
  return 0;
}
