#include "runtime/kernels/losses.h"

#include <algorithm>
#include <cmath>

#include "runtime/device/workspace.h"
#include "runtime/kernels/cpu/parallel.h"
#include "runtime/kernels/cpu/row.h"
#include "runtime/kernels/elementwise.h"

namespace cleave::runtime {
namespace {

// The sum over rows, divided by `whole`. In row order, whatever the number of threads that have made the values.
float ShareOfSum(const WorkspaceVector<float>& values, int64_t whole, const SampleMask& mask) {
  double sum = 0.0;
  for (int64_t r = 0; r < static_cast<int64_t>(values.size()); ++r) {
    const float weight = mask.values == nullptr ? 1.0f : mask.values[r / mask.rows_per_value];
    // Padding does not count, even when its value is not finite.
    if (weight != 0.0f) sum += static_cast<double>(weight) * static_cast<double>(values[static_cast<size_t>(r)]);
  }
  return static_cast<float>(sum / static_cast<double>(whole));
}

// Of value(i) of `count` elements.
template <typename Value>
float MeanShare(int64_t count, int64_t whole, const SampleMask& mask, Value value) {
  WorkspaceVector<float> values(static_cast<size_t>(count));
#pragma omp parallel for if (count >= kParallelElements)
  for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(i)] = value(i);
  return ShareOfSum(values, whole, mask);
}

// Of value(r, the logits of row r). Where `dlogits` is not null, write(r, the logits of row r, where their gradient
// goes) follows for each row.
template <typename RowValue, typename WriteRow>
float MeanShareOfRows(ConstReals logits, int64_t rows, int64_t classes, int64_t whole, const SampleMask& mask,
                      Reals dlogits, RowValue value, WriteRow write) {
  WorkspaceVector<float> values(static_cast<size_t>(rows));
#pragma omp parallel if (rows * classes >= kParallelElements)
  {
    RowReader reader(logits, classes);
    RowWriter writer(dlogits, classes);
#pragma omp for
    for (int64_t r = 0; r < rows; ++r) {
      const float* const row = reader.At(r);
      values[static_cast<size_t>(r)] = value(r, row);
      if (dlogits.place() == nullptr) continue;
      write(r, row, writer.At(r));
      writer.Done(r);
    }
  }
  return ShareOfSum(values, whole, mask);
}
template <typename RowValue>
float MeanShareOfRows(ConstReals logits, int64_t rows, int64_t classes, int64_t whole, const SampleMask& mask,
                      RowValue value) {
  return MeanShareOfRows(logits, rows, classes, whole, mask, nullptr, value, [](int64_t, const float*, float*) {});
}

// The gradient of a cross-entropy by the logits of a row.
struct CrossEntropyRow {
  const int32_t* label;
  int64_t classes;
  float factor;  // Of the loss, and of the row in it.
  float smoothing;
  float z_loss;

  void operator()(int64_t r, const float* from, float* to) const {
    if (label[r] < 0 || label[r] >= classes) return std::fill(to, to + classes, 0.0f);
    const float largest = RowMax(from, classes);
    const float sum = RowExpSum(from, classes, largest);
    const float by_log_sum = z_loss == 0 ? 1.0f : 1.0f + 2.0f * z_loss * (std::log(sum) + largest);
    const float scale = factor * by_log_sum / sum;
    const float even = factor * smoothing / static_cast<float>(classes);
    const int64_t count = classes;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) to[i] = Exp(from[i] - largest) * scale - even;
    to[label[r]] -= factor * (1 - smoothing);
  }
};

// The same where the logarithm of the row's sum of exponentials is known.
struct LabelLossRow {
  const int32_t* label;
  const float* log_sum;
  ClassRange classes;
  float factor;
  float smoothing;
  float z_loss;

  void operator()(int64_t r, const float* from, float* to) const {
    if (label[r] < 0 || label[r] >= classes.whole) return std::fill(to, to + classes.count, 0.0f);
    const float scale = factor * (1.0f + (z_loss == 0 ? 0.0f : 2.0f * z_loss * log_sum[r]));
    const float even = factor * smoothing / static_cast<float>(classes.whole), log = log_sum[r];
    const int64_t count = classes.count;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) to[i] = Exp(from[i] - log) * scale - even;
    const int64_t truth = label[r] - classes.first;
    if (truth >= 0 && truth < classes.count) to[truth] -= factor * (1 - smoothing);
  }
};

}  // namespace

void CrossEntropy(ConstReals logits, const int32_t* label, int64_t rows, int64_t classes, int64_t whole,
                  const SampleMask& mask, float* loss, float smoothing, float z_loss, const LossGradient& gradient) {
  const auto loss_of_row = [=](int64_t r, const float* row) {
    if (label[r] < 0 || label[r] >= classes) return 0.0f;
    const float largest = RowMax(row, classes);
    const float log = std::log(RowExpSum(row, classes, largest)), log_sum = log + largest;
    const float own = log - (row[label[r]] - largest) + z_loss * log_sum * log_sum;
    return smoothing == 0 ? own
                          : own + smoothing * (row[label[r]] - RowSum(row, classes) / static_cast<float>(classes));
  };
  const float factor = gradient.dloss.Get() / static_cast<float>(whole);
  *loss = MeanShareOfRows(logits, rows, classes, whole, mask, gradient.dlogits, loss_of_row,
                          CrossEntropyRow{label, classes, factor, smoothing, z_loss});
}

void CrossEntropyGradient(ConstReals logits, const int32_t* label, Scalar<float> dloss, int64_t rows, int64_t classes,
                          int64_t whole, Reals dlogits, float smoothing, float z_loss) {
  const float factor = dloss.Get() / static_cast<float>(whole);
  ForEachRow(rows, classes, dlogits, CrossEntropyRow{label, classes, factor, smoothing, z_loss}, logits);
}

void Accuracy(ConstReals logits, const int32_t* label, int64_t rows, int64_t classes, int64_t whole,
              const SampleMask& mask, float* accuracy) {
  *accuracy = MeanShareOfRows(logits, rows, classes, whole, mask, [=](int64_t r, const float* row) {
    int64_t best = 0;
    for (int64_t i = 1; i < classes; ++i) {
      if (RanksBefore(row[i], row[best])) best = i;
    }
    return best == label[r] ? 1.0f : 0.0f;
  });
}

void LabelLoss(ConstReals logits, const int32_t* label, const float* log_sum, int64_t rows, const ClassRange& classes,
               int64_t whole, const SampleMask& mask, float* loss, float smoothing, float z_loss,
               const LossGradient& gradient) {
  const int64_t count = classes.count;
  const ClassRange range = classes;
  // What the label gives to its own class, and all labels to the classes that the rank holds.
  const auto own = [=](int64_t r) {
    const int64_t truth = label[r] - range.first;
    if (truth < 0 || truth >= count) return 0.0f;
    return log_sum[r] - (1 - smoothing) * logits[r * count + truth] + z_loss * log_sum[r] * log_sum[r];
  };
  const auto loss_of_row = [=](int64_t r, const float* row) {
    if (label[r] < 0 || label[r] >= range.whole) return 0.0f;
    return smoothing == 0 ? own(r) : own(r) - smoothing / static_cast<float>(range.whole) * RowSum(row, count);
  };
  if (smoothing == 0 && gradient.dlogits.place() == nullptr) {
    *loss = MeanShare(rows, whole, mask, [=](int64_t r) { return loss_of_row(r, nullptr); });
    return;
  }
  const float factor = gradient.dloss.Get() / static_cast<float>(whole);
  *loss = MeanShareOfRows(logits, rows, count, whole, mask, gradient.dlogits, loss_of_row,
                          LabelLossRow{label, log_sum, range, factor, smoothing, z_loss});
}

void LabelLossGradient(ConstReals logits, const int32_t* label, const float* log_sum, Scalar<float> dloss, int64_t rows,
                       const ClassRange& classes, int64_t whole, Reals dlogits, float smoothing, float z_loss) {
  const float factor = dloss.Get() / static_cast<float>(whole);
  ForEachRow(rows, classes.count, dlogits, LabelLossRow{label, log_sum, classes, factor, smoothing, z_loss}, logits);
}

void ShareOfEqual(const int32_t* x, const int32_t* y, int64_t count, int64_t whole, const SampleMask& mask,
                  float* share) {
  *share = MeanShare(count, whole, mask, [=](int64_t i) { return x[i] == y[i] ? 1.0f : 0.0f; });
}

void Mse(ConstReals prediction, ConstReals target, int64_t count, int64_t whole, const SampleMask& mask, float* loss) {
  *loss = MeanShare(count, whole, mask, [=](int64_t i) {
    const float difference = prediction[i] - target[i];
    return difference * difference;
  });
}

void Mae(ConstReals prediction, ConstReals target, int64_t count, int64_t whole, const SampleMask& mask, float* loss) {
  *loss = MeanShare(count, whole, mask, [=](int64_t i) { return std::abs(prediction[i] - target[i]); });
}

void Huber(ConstReals prediction, ConstReals target, float delta, int64_t count, int64_t whole, const SampleMask& mask,
           float* loss) {
  *loss = MeanShare(count, whole, mask, [=](int64_t i) {
    const float distance = std::abs(prediction[i] - target[i]);
    return distance <= delta ? 0.5f * distance * distance : delta * (distance - 0.5f * delta);
  });
}

void BceWithLogits(ConstReals logits, ConstReals target, int64_t count, int64_t whole, const SampleMask& mask,
                   float* loss) {
  // max(x, 0) and x t are subtracted first, which is exact where the target is 0 or 1.
  *loss = MeanShare(count, whole, mask, [=](int64_t i) {
    const float x = logits[i];
    return Maximum(x, 0.0f) - x * target[i] + LogOnePlus(Exp(-std::abs(x)));
  });
}

}  // namespace cleave::runtime
