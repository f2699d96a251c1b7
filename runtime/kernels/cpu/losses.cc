#include "runtime/kernels/losses.h"

#include <algorithm>
#include <cmath>

#include "runtime/device/workspace.h"
#include "runtime/kernels/cpu/parallel.h"
#include "runtime/kernels/cpu/row.h"
#include "runtime/kernels/elementwise.h"

namespace cleave::runtime {
namespace {

// The sum of value(row) over rows, in row order whatever the number of threads, divided by `whole`. `work`: elements
// per row.
template <typename RowValue>
float MeanShare(int64_t rows, int64_t work, int64_t whole, const SampleMask& mask, RowValue value) {
  WorkspaceVector<float> values(static_cast<size_t>(rows));
#pragma omp parallel for if (rows * work >= kParallelElements)
  for (int64_t r = 0; r < rows; ++r) values[static_cast<size_t>(r)] = value(r);
  double sum = 0.0;
  for (int64_t r = 0; r < rows; ++r) {
    // Padding does not count, even when its value is not finite.
    if (mask.values != nullptr && mask.values[r / mask.rows_per_value] == 0.0f) continue;
    sum += values[static_cast<size_t>(r)];
  }
  return static_cast<float>(sum / static_cast<double>(whole));
}

}  // namespace

void CrossEntropy(const float* logits, const int32_t* label, int64_t rows, int64_t classes, int64_t whole,
                  const SampleMask& mask, float* loss, float smoothing) {
  *loss = MeanShare(rows, classes, whole, mask, [=](int64_t r) {
    if (label[r] < 0 || label[r] >= classes) return 0.0f;
    const float* row = logits + r * classes;
    const float largest = RowMax(row, classes);
    const float own = std::log(RowExpSum(row, classes, largest)) - (row[label[r]] - largest);
    return smoothing == 0 ? own
                          : own + smoothing * (row[label[r]] - RowSum(row, classes) / static_cast<float>(classes));
  });
}

void CrossEntropyGradient(const float* logits, const int32_t* label, Scalar<float> dloss, int64_t rows, int64_t classes,
                          int64_t whole, float* dlogits, float smoothing) {
  const float factor = dloss.Get() / static_cast<float>(whole);
  const float even = factor * smoothing / static_cast<float>(classes);
#pragma omp parallel for if (rows * classes >= kParallelElements)
  for (int64_t r = 0; r < rows; ++r) {
    const float* from = logits + r * classes;
    float* to = dlogits + r * classes;
    if (label[r] < 0 || label[r] >= classes) {
      std::fill(to, to + classes, 0.0f);
      continue;
    }
    const float largest = RowMax(from, classes);
    const float scale = factor / RowExpSum(from, classes, largest);
#pragma omp simd
    for (int64_t i = 0; i < classes; ++i) to[i] = Exp(from[i] - largest) * scale - even;
    to[label[r]] -= factor * (1 - smoothing);
  }
}

void Accuracy(const float* logits, const int32_t* label, int64_t rows, int64_t classes, int64_t whole,
              const SampleMask& mask, float* accuracy) {
  *accuracy = MeanShare(rows, classes, whole, mask, [=](int64_t r) {
    const float* row = logits + r * classes;
    int64_t best = 0;
    for (int64_t i = 1; i < classes; ++i) {
      if (RanksBefore(row[i], row[best])) best = i;
    }
    return best == label[r] ? 1.0f : 0.0f;
  });
}

void LabelLoss(const float* logits, const int32_t* label, const float* log_sum, int64_t rows, const ClassRange& classes,
               int64_t whole, const SampleMask& mask, float* loss, float smoothing) {
  const int64_t count = classes.count;
  *loss = MeanShare(rows, smoothing == 0 ? 1 : count, whole, mask, [=](int64_t r) {
    if (label[r] < 0 || label[r] >= classes.whole) return 0.0f;
    const float* row = logits + r * count;
    const int64_t truth = label[r] - classes.first;
    const float own = truth < 0 || truth >= count ? 0.0f : log_sum[r] - (1 - smoothing) * row[truth];
    return smoothing == 0 ? own : own - smoothing / static_cast<float>(classes.whole) * RowSum(row, count);
  });
}

void LabelLossGradient(const float* logits, const int32_t* label, const float* log_sum, Scalar<float> dloss,
                       int64_t rows, const ClassRange& classes, int64_t whole, float* dlogits, float smoothing) {
  const float factor = dloss.Get() / static_cast<float>(whole);
  const float even = factor * smoothing / static_cast<float>(classes.whole);
#pragma omp parallel for if (rows * classes.count >= kParallelElements)
  for (int64_t r = 0; r < rows; ++r) {
    const float* from = logits + r * classes.count;
    float* to = dlogits + r * classes.count;
    if (label[r] < 0 || label[r] >= classes.whole) {
      std::fill(to, to + classes.count, 0.0f);
      continue;
    }
#pragma omp simd
    for (int64_t i = 0; i < classes.count; ++i) to[i] = Exp(from[i] - log_sum[r]) * factor - even;
    const int64_t truth = label[r] - classes.first;
    if (truth >= 0 && truth < classes.count) to[truth] -= factor * (1 - smoothing);
  }
}

void ShareOfEqual(const int32_t* x, const int32_t* y, int64_t count, int64_t whole, const SampleMask& mask,
                  float* share) {
  *share = MeanShare(count, 1, whole, mask, [=](int64_t i) { return x[i] == y[i] ? 1.0f : 0.0f; });
}

void Mse(const float* prediction, const float* target, int64_t count, int64_t whole, const SampleMask& mask,
         float* loss) {
  *loss = MeanShare(count, 1, whole, mask, [=](int64_t i) {
    const float difference = prediction[i] - target[i];
    return difference * difference;
  });
}

void Mae(const float* prediction, const float* target, int64_t count, int64_t whole, const SampleMask& mask,
         float* loss) {
  *loss = MeanShare(count, 1, whole, mask, [=](int64_t i) { return std::abs(prediction[i] - target[i]); });
}

void Huber(const float* prediction, const float* target, float delta, int64_t count, int64_t whole,
           const SampleMask& mask, float* loss) {
  *loss = MeanShare(count, 1, whole, mask, [=](int64_t i) {
    const float distance = std::abs(prediction[i] - target[i]);
    return distance <= delta ? 0.5f * distance * distance : delta * (distance - 0.5f * delta);
  });
}

void BceWithLogits(const float* logits, const float* target, int64_t count, int64_t whole, const SampleMask& mask,
                   float* loss) {
  // max(x, 0) and x t are subtracted first, which is exact where the target is 0 or 1.
  *loss = MeanShare(count, 1, whole, mask, [=](int64_t i) {
    const float x = logits[i];
    return Maximum(x, 0.0f) - x * target[i] + LogOnePlus(Exp(-std::abs(x)));
  });
}

}  // namespace cleave::runtime
