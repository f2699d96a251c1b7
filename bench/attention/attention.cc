// Question: how fast is attention as one piece, compared with its products, softmax and masks one by one?
//
//   attention REPETITIONS SECONDS LENGTH...      Prints one line of JSON for each length, element type and mask.
//
// The masks: none; causal; causal with a window of an eighth of the keys; causal within documents of an eighth each;
// and causal where a tenth of the weights is dropped.
//
// Both are timed on the same tensors in turn, forward and backward together. The separate ops are those that a program
// for the CPU has where attention is not one piece (codegen/cpu).
#include "runtime/kernels/attention.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/device/bfloat16.h"
#include "runtime/kernels/dropout.h"
#include "runtime/kernels/movement.h"
#include "runtime/kernels/rows.h"
#include "runtime/math/math.h"

namespace cleave::runtime {
namespace {

constexpr int64_t kHead = 64;
constexpr int64_t kTokens = 16384;  // Queries of all matrices.

template <typename T>
std::vector<T> Numbers(int64_t count, uint32_t state) {
  std::vector<T> numbers(static_cast<size_t>(count));
  for (T& number : numbers) {
    state = state * 1664525u + 1013904223u;
    number = T(static_cast<float>(state >> 8) * (2.0f / 16777216.0f) - 1.0f);
  }
  return numbers;
}

template <typename From, typename To>
void Convert(const std::vector<From>& from, float factor, std::vector<To>& to) {
  const int64_t count = static_cast<int64_t>(from.size());
#pragma omp parallel for simd
  for (int64_t i = 0; i < count; ++i) {
    to[static_cast<size_t>(i)] = To(factor * static_cast<float>(from[static_cast<size_t>(i)]));
  }
}

template <typename T>
class Tensors {
 public:
  explicit Tensors(const AttentionShape& shape)
      : shape_(shape),
        count_(shape.batch * shape.rows * shape.head),
        scores_(static_cast<size_t>(shape.batch * shape.rows * shape.columns)),
        masked_(scores_.size()),
        weights_(scores_.size()),
        kept_(scores_.size()),
        floats_(std::is_same_v<T, float> ? 0 : scores_.size()),
        float_weights_(floats_.size()) {}

  void Fused() {
    Attention(shape_, q_.data(), k_.data(), v_.data(), out_.data(), logsumexp_.data());
    AttentionGradient(shape_, q_.data(), k_.data(), v_.data(), out_.data(), logsumexp_.data(), dout_.data(), dq_.data(),
                      dk_.data(), dv_.data());
  }

  void Separate() {
    const MatMulShape by_heads = {shape_.batch, shape_.rows, shape_.columns, shape_.head, false, true};
    const MatMulShape by_keys = {shape_.batch, shape_.rows, shape_.head, shape_.columns, false, false};
    const MatMulShape by_queries = {shape_.batch, shape_.columns, shape_.head, shape_.rows, true, false};
    MatMul(by_heads, q_.data(), k_.data(), scores_.data());
    Convert(scores_, shape_.scale, scores_);
    const std::vector<T>& masked = Mask(-1e9f);
    SoftmaxOf(masked);
    const std::vector<T>& kept = Dropped(weights_, kept_);
    MatMul(by_keys, kept.data(), v_.data(), out_.data());

    MatMul(by_heads, dout_.data(), v_.data(), scores_.data());
    MatMul(by_queries, kept.data(), dout_.data(), dv_.data());
    if (&Dropped(scores_, kept_) == &kept_) std::swap(scores_, kept_);
    SoftmaxGradientOf();
    const std::vector<T>& gradient = Mask(0.0f);
    Convert(gradient, shape_.scale, scores_);
    MatMul(by_keys, scores_.data(), k_.data(), dq_.data());
    MatMul(by_queries, scores_.data(), q_.data(), dk_.data());
  }

 private:
  const std::vector<T>& Mask(float fill) {
    if (!shape_.causal) return scores_;
    CausalMask(scores_.data(), shape_.batch, shape_.rows, shape_.columns, 0, 0, shape_.window, fill, masked_.data());
    if (shape_.first == nullptr) return masked_;
    RangeMask(masked_.data(), shape_.batch, 1, shape_.rows, shape_.columns, 0, shape_.first, shape_.end, fill,
              scores_.data());
    return scores_;
  }

  // `from`, or what is kept of it in `to`.
  const std::vector<T>& Dropped(const std::vector<T>& from, std::vector<T>& to) {
    const AttentionDropout& dropout = shape_.dropout;
    if (dropout.rate == 0.0f) return from;
    const Region all = WholeRegion({shape_.batch, 1, shape_.rows, shape_.columns});
    if constexpr (std::is_same_v<T, float>) {
      Dropout(dropout.stream, all, dropout.rate, from.data(), to.data());
    } else {
      Convert(from, 1.0f, floats_);
      Dropout(dropout.stream, all, dropout.rate, floats_.data(), floats_.data());
      Convert(floats_, 1.0f, to);
    }
    return to;
  }

  void SoftmaxOf(const std::vector<T>& masked) {
    const int64_t rows = shape_.batch * shape_.rows;
    if constexpr (std::is_same_v<T, float>) {
      Softmax(masked.data(), rows, shape_.columns, weights_.data());
    } else {
      Convert(masked, 1.0f, floats_);
      Softmax(floats_.data(), rows, shape_.columns, float_weights_.data());
      Convert(float_weights_, 1.0f, weights_);
    }
  }

  // From the gradient by the weights in scores_ to that by the scores, there too.
  void SoftmaxGradientOf() {
    const int64_t rows = shape_.batch * shape_.rows;
    if constexpr (std::is_same_v<T, float>) {
      SoftmaxGradient(scores_.data(), weights_.data(), rows, shape_.columns, masked_.data());
      std::swap(scores_, masked_);
    } else {
      std::vector<float>& gradient = masked_floats_;
      gradient.resize(floats_.size());
      Convert(scores_, 1.0f, floats_);
      SoftmaxGradient(floats_.data(), float_weights_.data(), rows, shape_.columns, gradient.data());
      Convert(gradient, 1.0f, scores_);
    }
  }

  AttentionShape shape_;
  int64_t count_;
  std::vector<T> q_ = Numbers<T>(count_, 1), k_ = Numbers<T>(count_, 2), v_ = Numbers<T>(count_, 3),
                 dout_ = Numbers<T>(count_, 4);
  std::vector<T> out_ = q_, dq_ = q_, dk_ = q_, dv_ = q_;
  std::vector<float> logsumexp_ = std::vector<float>(static_cast<size_t>(shape_.batch * shape_.rows));
  std::vector<T> scores_, masked_, weights_, kept_;
  std::vector<float> floats_, float_weights_, masked_floats_;
};

double ProcessorSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <typename Work>
double SecondsOf(int times, Work work) {
  const double start = ProcessorSeconds();
  for (int i = 0; i < times; ++i) work();
  return (ProcessorSeconds() - start) / times;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

enum class MaskForm { kNone, kCausal, kWindow, kDocuments, kDropout };
constexpr const char* kMaskNames[] = {"none", "causal", "window", "documents", "dropout"};

template <typename T>
void Measure(const char* type, int64_t length, MaskForm mask, int repetitions, double seconds) {
  const int64_t matrices = std::max<int64_t>(4, kTokens / length);
  const AttentionStrides strides = {.batch = length * kHead, .row = kHead};
  const int64_t part = std::max<int64_t>(1, length / 8);
  std::vector<int32_t> first, end;
  for (int64_t i = 0; i < matrices * length; ++i) {
    const int64_t begin = i % length / part * part;
    first.push_back(static_cast<int32_t>(begin));
    end.push_back(static_cast<int32_t>(std::min(length, begin + part)));
  }
  AttentionShape shape = {.batch = matrices,
                          .rows = length,
                          .columns = length,
                          .head = kHead,
                          .scale = 0.125f,
                          .causal = mask != MaskForm::kNone,
                          .window = mask == MaskForm::kWindow ? part : 0,
                          .q = strides,
                          .k = strides,
                          .v = strides,
                          .out = strides,
                          .dout = strides,
                          .dq = strides,
                          .dk = strides,
                          .dv = strides};
  if (mask == MaskForm::kDocuments) {
    shape.first = first.data();
    shape.end = end.data();
  }
  if (mask == MaskForm::kDropout)
    shape.dropout = {.rate = 0.1f, .stream = {1, "weights", 1}, .rows = length, .columns = length};
  Tensors<T> tensors(shape);
  tensors.Separate();
  const double once = SecondsOf(1, [&] { tensors.Fused(); });
  const int times = std::max(1, static_cast<int>(seconds / once));
  std::vector<double> fused, separate;
  for (int i = 0; i < repetitions; ++i) {
    fused.push_back(SecondsOf(times, [&] { tensors.Fused(); }));
    separate.push_back(SecondsOf(times, [&] { tensors.Separate(); }));
  }
  std::printf(
      "{\"type\": \"%s\", \"length\": %d, \"mask\": \"%s\", \"matrices\": %d, \"head\": %d, \"fused\": %.6f, "
      "\"separate\": %.6f, \"least_fused\": %.6f, \"least_separate\": %.6f}\n",
      type, static_cast<int>(length), kMaskNames[static_cast<int>(mask)], static_cast<int>(matrices),
      static_cast<int>(kHead), Median(fused), Median(separate), *std::min_element(fused.begin(), fused.end()),
      *std::min_element(separate.begin(), separate.end()));
  std::fflush(stdout);
}

}  // namespace
}  // namespace cleave::runtime

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: attention REPETITIONS SECONDS LENGTH...\n");
    return 2;
  }
  using cleave::runtime::BFloat16;
  using cleave::runtime::MaskForm;
  for (int i = 3; i < argc; ++i) {
    for (const auto mask :
         {MaskForm::kNone, MaskForm::kCausal, MaskForm::kWindow, MaskForm::kDocuments, MaskForm::kDropout}) {
      cleave::runtime::Measure<float>("f32", std::atoi(argv[i]), mask, std::atoi(argv[1]), std::atof(argv[2]));
      cleave::runtime::Measure<BFloat16>("bf16", std::atoi(argv[i]), mask, std::atoi(argv[1]), std::atof(argv[2]));
    }
  }
  return 0;
}
