// Attention in bf16 on a GPU: how far results and gradients are from those computed in double, and how long they take.
//
//   bin/attention 8x12x1024x64 1x16x4096x128        # samples x heads x queries and keys x elements of a head
//
// Prints a line of JSON for each size, with causal masks and without, and for each of the two ways to compute it: what
// programs call (cuDNN where it is), and the runtime's own kernels. An error is the largest difference as a share of
// the largest number that is expected. The reference is computed on the GPU too, by plain kernels that keep all scores:
// two matrices of doubles for each head.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <random>
#include <vector>

#include "runtime/device/bfloat16.h"
#include "runtime/device/cuda/cuda.h"
#include "runtime/device/device.h"
#include "runtime/device/device_vector.h"
#include "runtime/device/memory.h"
#include "runtime/error/error.h"
#include "runtime/kernels/attention.h"
#include "runtime/kernels/cuda/attention.cuh"
#include "runtime/trace/trace.h"

namespace cleave::runtime {
namespace {

// --- What attention means, in double ---------------------------------------------------------------------------------

// [matrices, rows, columns] of doubles: c = scale a b^T, where b is [matrices, columns, inner].
template <typename A, typename B>
__global__ void Scores(int64_t count, int64_t rows, int64_t columns, int64_t inner, double scale, const A* a,
                       const B* b, double* c) {
  for (int64_t i = FirstElement(); i < count; i += ElementStride()) {
    const int64_t row = i / columns, matrix = row / rows;
    const A* const x = a + row * inner;
    const B* const y = b + (matrix * columns + i % columns) * inner;
    double sum = 0;
    for (int64_t j = 0; j < inner; ++j) sum += static_cast<double>(x[j]) * static_cast<double>(y[j]);
    c[i] = scale * sum;
  }
}

// [matrices, rows, inner]: c = a b, where a is [matrices, rows, columns]; or a^T b, where it is [matrices, columns,
// rows].
template <typename B>
__global__ void Mix(int64_t count, int64_t rows, int64_t columns, int64_t inner, bool transposed, const double* a,
                    const B* b, double* c) {
  for (int64_t i = FirstElement(); i < count; i += ElementStride()) {
    const int64_t row = i / inner, matrix = row / rows;
    const double* const x = a + (transposed ? matrix * columns * rows + row % rows : row * columns);
    const B* const y = b + matrix * columns * inner + i % inner;
    double sum = 0;
    for (int64_t j = 0; j < columns; ++j) sum += x[transposed ? j * rows : j] * static_cast<double>(y[j * inner]);
    c[i] = sum;
  }
}

// Scores become weights, a thread for each row. Query i sees the keys up to i where it is causal.
__global__ void Weights(int64_t count, int64_t rows, int64_t columns, bool causal, double* scores) {
  for (int64_t row = FirstElement(); row < count; row += ElementStride()) {
    double* const s = scores + row * columns;
    const int64_t seen = causal ? row % rows + 1 : columns;
    double largest = s[0], sum = 0;
    for (int64_t j = 1; j < seen; ++j) largest = s[j] > largest ? s[j] : largest;
    for (int64_t j = 0; j < seen; ++j) sum += s[j] = exp(s[j] - largest);
    for (int64_t j = 0; j < columns; ++j) s[j] = j < seen ? s[j] / sum : 0;
  }
}

// Gradients by the weights become gradients by the scores: p (d - sum_j p d).
__global__ void ByScores(int64_t count, int64_t columns, double scale, const double* weights, double* gradient) {
  for (int64_t row = FirstElement(); row < count; row += ElementStride()) {
    const double* const p = weights + row * columns;
    double* const d = gradient + row * columns;
    double sum = 0;
    for (int64_t j = 0; j < columns; ++j) sum += p[j] * d[j];
    for (int64_t j = 0; j < columns; ++j) d[j] = scale * p[j] * (d[j] - sum);
  }
}

// --- A size
// ------------------------------------------------------------------------------------------------------------

using Values = std::vector<BFloat16>;

Values RandomValues(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Values values(static_cast<size_t>(count));
  for (BFloat16& value : values) value = BFloat16(normal(random));
  return values;
}

double LargestError(const Values& values, const std::vector<double>& expected) {
  double largest = 0, error = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double difference = std::abs(static_cast<double>(static_cast<float>(values[i])) - expected[i]);
    if (std::isnan(difference)) return INFINITY;
    error = std::max(error, difference);
    largest = std::max(largest, std::abs(expected[i]));
  }
  return error / largest;
}

struct Tensors {
  explicit Tensors(const AttentionShape& shape)
      : count(shape.batch * shape.heads * shape.rows * shape.head),
        q(RandomValues(count, 1)),
        k(RandomValues(count, 2)),
        v(RandomValues(count, 3)),
        dout(RandomValues(count, 4)) {}

  const int64_t count;
  const DeviceVector<BFloat16> q, k, v, dout;
};

struct Expected {
  std::vector<double> out, dq, dk, dv;

  Expected(const AttentionShape& shape, const Tensors& all) {
    const int64_t n = shape.rows, rows = shape.batch * shape.heads * n, scores = rows * n, head = shape.head;
    const DeviceVector<double> weights(scores), by_weights(scores), result(all.count);
    const auto mix = [&](bool transposed, const double* a, const BFloat16* b) {
      Launch(Mix<BFloat16>, ForElements(all.count), all.count, n, n, head, transposed, a, b, result.get());
      return result.Values();
    };
    Launch(Scores<BFloat16, BFloat16>, ForElements(scores), scores, n, n, head, shape.scale, all.q.get(), all.k.get(),
           weights.get());
    Launch(Weights, ForElements(rows), rows, n, n, shape.causal, weights.get());
    out = mix(false, weights.get(), all.v.get());
    dv = mix(true, weights.get(), all.dout.get());
    Launch(Scores<BFloat16, BFloat16>, ForElements(scores), scores, n, n, head, 1.0, all.dout.get(), all.v.get(),
           by_weights.get());
    Launch(ByScores, ForElements(rows), rows, n, shape.scale, weights.get(), by_weights.get());
    dq = mix(false, by_weights.get(), all.k.get());
    dk = mix(true, by_weights.get(), all.q.get());
  }
};

// Seconds of a call, of several in a row.
template <typename Function>
double SecondsOf(int repetitions, Function call) {
  call();
  FinishWork();
  const double start = Now();
  for (int i = 0; i < repetitions; ++i) call();
  FinishWork();
  return (Now() - start) / repetitions;
}

// The signatures of Attention and AttentionGradient, and of those that are the runtime's own.
struct Way {
  const char* name;
  void (*forward)(const AttentionShape&, const BFloat16*, const BFloat16*, const BFloat16*, BFloat16*, float*);
  void (*backward)(const AttentionShape&, const BFloat16*, const BFloat16*, const BFloat16*, const BFloat16*,
                   const float*, const BFloat16*, BFloat16*, BFloat16*, BFloat16*);
};
constexpr Way kWays[] = {{"as programs do", Attention<BFloat16>, AttentionGradient<BFloat16>},
                         {"own kernels", AttentionByTiles<BFloat16>, AttentionGradientByTiles<BFloat16>}};

void Measure(int64_t batch, int64_t heads, int64_t rows, int64_t head, int repetitions) {
  AttentionShape shape = {
      .batch = batch, .heads = heads, .key_heads = heads, .rows = rows, .columns = rows, .head = head};
  shape.scale = 1.0f / std::sqrt(static_cast<float>(head));
  for (AttentionStrides* const strides :
       {&shape.q, &shape.k, &shape.v, &shape.out, &shape.dout, &shape.dq, &shape.dk, &shape.dv}) {
    *strides = HeadsFirst(shape.heads, rows, head);
  }
  const Tensors all(shape);
  for (const bool causal : {false, true}) {
    shape.causal = causal;
    const Expected expected(shape, all);
    for (const Way& way : kWays) {
      const Values nothing(static_cast<size_t>(all.count), BFloat16(NAN));  // Each element must be written.
      const DeviceVector<BFloat16> out(nothing), dq(nothing), dk(nothing), dv(nothing);
      const DeviceVector<float> logsumexp(shape.batch * shape.heads * rows);
      const double forward = SecondsOf(
          repetitions, [&] { way.forward(shape, all.q.get(), all.k.get(), all.v.get(), out.get(), logsumexp.get()); });
      const double backward = SecondsOf(repetitions, [&] {
        way.backward(shape, all.q.get(), all.k.get(), all.v.get(), out.get(), logsumexp.get(), all.dout.get(), dq.get(),
                     dk.get(), dv.get());
      });
      std::printf(
          "{\"size\": \"%lldx%lldx%lldx%lld%s\", \"way\": \"%s\", \"out\": %.3e, \"dq\": %.3e, \"dk\": %.3e, \"dv\": "
          "%.3e, "
          "\"forward_seconds\": %.4e, \"backward_seconds\": %.4e, \"forward_flops\": %.4e, \"backward_flops\": %.4e}\n",
          static_cast<long long>(batch), static_cast<long long>(heads), static_cast<long long>(rows),
          static_cast<long long>(head), causal ? " causal" : "", way.name, LargestError(out.Values(), expected.out),
          LargestError(dq.Values(), expected.dq), LargestError(dk.Values(), expected.dk),
          LargestError(dv.Values(), expected.dv), forward, backward, FlopsOf(shape), GradientFlopsOf(shape));
      std::fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace cleave::runtime

int main(int argc, char** argv) {
  using namespace cleave::runtime;
  if (const std::optional<Error> error = OpenDevice({})) {
    std::fprintf(stderr, "error: %s\n", error->message.c_str());
    return static_cast<int>(error->code);
  }
  for (int i = 1; i < argc; ++i) {
    long long batch = 0, heads = 0, rows = 0, head = 0;
    const bool is_read = std::sscanf(argv[i], "%lldx%lldx%lldx%lld", &batch, &heads, &rows, &head) == 4;
    if (!is_read || std::min({batch, heads, rows, head}) < 1 || head > kLargestHead) {
      std::fprintf(stderr, "error: `%s` is no size such as 8x12x1024x64, with heads of at most %lld\n", argv[i],
                   static_cast<long long>(kLargestHead));
      return static_cast<int>(ExitCode::kUsage);
    }
    constexpr double kLarge = 1e8;  // Operations, from which on several calls are timed.
    const bool is_large = static_cast<double>(batch * heads * rows) * static_cast<double>(rows * head) > kLarge;
    Measure(batch, heads, rows, head, is_large ? 20 : 1);
  }
  return 0;
}
