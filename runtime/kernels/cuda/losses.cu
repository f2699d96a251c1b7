#include <cmath>

#include "runtime/kernels/cuda/mean.cuh"
#include "runtime/kernels/cuda/row.cuh"
#include "runtime/kernels/cuda/scratch.cuh"
#include "runtime/kernels/losses.h"

namespace cleave::runtime {
namespace {

// --- Of elements -----------------------------------------------------------------------------------------------------

struct IsEqual {
  const int32_t* x;
  const int32_t* y;
  __device__ float operator()(int64_t i) const { return x[i] == y[i] ? 1.0f : 0.0f; }
};

struct SquaredDifference {
  ConstReals prediction;
  ConstReals target;
  __device__ float operator()(int64_t i) const {
    const float difference = prediction[i] - target[i];
    return difference * difference;
  }
};

struct AbsoluteDifference {
  ConstReals prediction;
  ConstReals target;
  __device__ float operator()(int64_t i) const { return fabsf(prediction[i] - target[i]); }
};

struct HuberDistance {
  ConstReals prediction;
  ConstReals target;
  float delta;
  __device__ float operator()(int64_t i) const {
    const float distance = fabsf(prediction[i] - target[i]);
    return distance <= delta ? 0.5f * distance * distance : delta * (distance - 0.5f * delta);
  }
};

struct BinaryCrossEntropy {
  ConstReals logits;
  ConstReals target;
  __device__ float operator()(int64_t i) const {
    // max(x, 0) and x t are subtracted first, which is exact where the target is 0 or 1.
    const float x = logits[i];
    return Maximum(x, 0.0f) - x * target[i] + LogOnePlus(Exp(-fabsf(x)));
  }
};

struct ValueAt {
  const float* values;
  __device__ float operator()(int64_t i) const { return values[i]; }
};

struct LabelLossOfRow {
  ConstReals logits;
  const int32_t* label;
  const float* log_sum;
  ClassRange classes;
  float z_loss;
  __device__ float operator()(int64_t row) const {
    const int64_t truth = label[row] - classes.first;
    if (truth < 0 || truth >= classes.count) return 0.0f;
    return log_sum[row] - logits[row * classes.count + truth] + z_loss * log_sum[row] * log_sum[row];
  }
};

template <typename Value>
void WriteShare(const Value& value, int64_t count, int64_t whole, const SampleMask& mask, float* share) {
  ScratchLayout layout;
  const int64_t parts = layout.Add<double>(MeanBlocks(count));
  const ScratchMemory scratch(layout);
  ShareOfMean(value, count, whole, mask, scratch.At<double>(parts), share);
}

// --- Of rows ---------------------------------------------------------------------------------------------------------

template <typename Form, bool kHolds>
__device__ float SumOfRow(const Row<Form, kHolds>& row, int64_t columns) {
  float sum = 0.0f;
  ForEachElement<Form>(
      columns, [&](int64_t, float x) { sum += x; }, row);
  return GroupReduce<Form::kThreads>(sum, Sum());
}

template <typename Form>
__global__ void CrossEntropyRows(ConstReals logits, const int32_t* __restrict__ label, int64_t rows, int64_t classes,
                                 float smoothing, float z_loss, float* __restrict__ values) {
  for (int64_t r = Form::FirstRow(); r < rows; r += Form::RowStride()) {
    const int32_t truth = label[r];
    const bool is_class = truth >= 0 && truth < classes;  // The same for all threads of the row.
    float value = 0.0f;
    if (is_class) {
      const ConstReals from = logits + r * classes;
      const Row<Form> row(from, classes);
      const ExpSum exponentials = RowExpSum(row, classes);
      const float log = std::log(exponentials.sum), log_sum = log + exponentials.largest;
      value = log - (from[truth] - exponentials.largest) + z_loss * log_sum * log_sum;
      if (smoothing > 0) value += smoothing * (from[truth] - SumOfRow(row, classes) / static_cast<float>(classes));
    }
    if (Form::Lane() == 0) values[r] = value;
  }
}

template <typename Form>
__global__ void CrossEntropyGradientRows(ConstReals logits, const int32_t* __restrict__ label, Scalar<float> dloss,
                                         float whole, int64_t rows, int64_t classes, float smoothing, float z_loss,
                                         Reals dlogits) {
  const float factor = dloss.Get() / whole;
  const float own = factor * (1 - smoothing);
  const float even = factor * smoothing / static_cast<float>(classes);
  for (int64_t r = Form::FirstRow(); r < rows; r += Form::RowStride()) {
    const int32_t truth = label[r];
    const Reals to = dlogits + r * classes;
    const Row<Form> row(logits + r * classes, classes);
    if (truth < 0 || truth >= classes) {
      WriteRow<Form>(classes, to, [](int64_t) { return 0.0f; });
      continue;
    }
    const ExpSum exponentials = RowExpSum(row, classes);
    const float largest = exponentials.largest;
    const float by_log_sum = z_loss == 0 ? 1.0f : 1.0f + 2.0f * z_loss * (std::log(exponentials.sum) + largest);
    const float scale = factor * by_log_sum / exponentials.sum;
    const auto gradient = [=](int64_t i, float x) {
      return Exp(x - largest) * scale - even - (i == truth ? own : 0.0f);
    };
    WriteRow<Form>(classes, to, gradient, row);
  }
}

template <typename Form>
__global__ void SmoothedLabelLossRows(ConstReals logits, const int32_t* __restrict__ label,
                                      const float* __restrict__ log_sum, int64_t rows, ClassRange classes,
                                      float smoothing, float z_loss, float* __restrict__ values) {
  for (int64_t r = Form::FirstRow(); r < rows; r += Form::RowStride()) {
    const bool is_class = label[r] >= 0 && label[r] < classes.whole;  // The same for all threads of the row.
    const int64_t truth = label[r] - classes.first;
    const ConstReals from = logits + r * classes.count;
    float value = 0.0f;
    if (is_class) {
      const Row<Form, false> row(from, classes.count);
      value = -smoothing / static_cast<float>(classes.whole) * SumOfRow(row, classes.count);
      if (truth >= 0 && truth < classes.count) {
        value += log_sum[r] - (1 - smoothing) * from[truth] + z_loss * log_sum[r] * log_sum[r];
      }
    }
    if (Form::Lane() == 0) values[r] = value;
  }
}

template <typename Form>
__global__ void LabelLossGradientRows(ConstReals logits, const int32_t* __restrict__ label,
                                      const float* __restrict__ log_sum, Scalar<float> dloss, float whole, int64_t rows,
                                      ClassRange classes, float smoothing, float z_loss, Reals dlogits) {
  const float factor = dloss.Get() / whole;
  const float own = factor * (1 - smoothing);
  const float even = factor * smoothing / static_cast<float>(classes.whole);
  for (int64_t r = Form::FirstRow(); r < rows; r += Form::RowStride()) {
    const bool is_class = label[r] >= 0 && label[r] < classes.whole;
    const int64_t truth = label[r] - classes.first;
    const float sum = log_sum[r];
    const float scale = factor * (z_loss == 0 ? 1.0f : 1.0f + 2.0f * z_loss * sum);
    const Row<Form, false> row(logits + r * classes.count, classes.count);
    const auto gradient = [=](int64_t i, float x) {
      return is_class ? Exp(x - sum) * scale - even - (i == truth ? own : 0.0f) : 0.0f;
    };
    WriteRow<Form>(classes.count, dlogits + r * classes.count, gradient, row);
  }
}

// 1 where the row's largest logit is that of its label.
template <typename Form>
__global__ void HitRows(ConstReals logits, const int32_t* __restrict__ label, int64_t rows, int64_t classes,
                        float* __restrict__ values) {
  for (int64_t r = Form::FirstRow(); r < rows; r += Form::RowStride()) {
    const ConstReals from = logits + r * classes;
    Largest own = {classes > 0 ? from[0] : 0.0f, 0};
    const auto compare = [&](int64_t i, float x) { own = FirstLargest()(own, {x, static_cast<int>(i)}); };
    ForEachElement<Form>(classes, compare, Row<Form, false>(from, classes));
    own = GroupReduce<Form::kThreads>(own, FirstLargest());
    if (Form::Lane() == 0) values[r] = own.index == label[r] ? 1.0f : 0.0f;
  }
}

// Launches launch(form, values), which writes a value for each row, and then writes the share of their mean.
template <typename LaunchRows>
void WriteShareOfRows(ConstReals logits, int64_t rows, int64_t classes, int64_t whole, const SampleMask& mask,
                      float* share, LaunchRows launch) {
  ScratchLayout layout;
  const int64_t values_at = layout.Add<float>(rows);
  const int64_t parts_at = layout.Add<double>(MeanBlocks(rows));
  const ScratchMemory scratch(layout);
  float* const values = scratch.At<float>(values_at);
  WithRowForm(classes, AreAligned(logits), [=](auto form) { launch(form, values); });
  ShareOfMean(ValueAt{values}, rows, whole, mask, scratch.At<double>(parts_at), share);
}

}  // namespace

void CrossEntropy(ConstReals logits, const int32_t* label, int64_t rows, int64_t classes, int64_t whole,
                  const SampleMask& mask, float* loss, float smoothing, float z_loss) {
  WriteShareOfRows(logits, rows, classes, whole, mask, loss, [=](auto form, float* values) {
    using Form = decltype(form);
    Launch(CrossEntropyRows<Form>, Form::Shape(rows), logits, label, rows, classes, smoothing, z_loss, values);
  });
}

void CrossEntropyGradient(ConstReals logits, const int32_t* label, Scalar<float> dloss, int64_t rows, int64_t classes,
                          int64_t whole, Reals dlogits, float smoothing, float z_loss) {
  WithRowForm(classes, AreAligned(logits, dlogits), [=](auto form) {
    using Form = decltype(form);
    Launch(CrossEntropyGradientRows<Form>, Form::Shape(rows), logits, label, dloss, static_cast<float>(whole), rows,
           classes, smoothing, z_loss, dlogits);
  });
}

void Accuracy(ConstReals logits, const int32_t* label, int64_t rows, int64_t classes, int64_t whole,
              const SampleMask& mask, float* accuracy) {
  WriteShareOfRows(logits, rows, classes, whole, mask, accuracy, [=](auto form, float* values) {
    using Form = decltype(form);
    Launch(HitRows<Form>, Form::Shape(rows), logits, label, rows, classes, values);
  });
}

void LabelLoss(ConstReals logits, const int32_t* label, const float* log_sum, int64_t rows, const ClassRange& classes,
               int64_t whole, const SampleMask& mask, float* loss, float smoothing, float z_loss) {
  if (smoothing == 0)
    return WriteShare(LabelLossOfRow{logits, label, log_sum, classes, z_loss}, rows, whole, mask, loss);
  const ClassRange range = classes;
  WriteShareOfRows(logits, rows, range.count, whole, mask, loss, [=](auto form, float* values) {
    using Form = decltype(form);
    Launch(SmoothedLabelLossRows<Form>, Form::Shape(rows), logits, label, log_sum, rows, range, smoothing, z_loss,
           values);
  });
}

void LabelLossGradient(ConstReals logits, const int32_t* label, const float* log_sum, Scalar<float> dloss, int64_t rows,
                       const ClassRange& classes, int64_t whole, Reals dlogits, float smoothing, float z_loss) {
  const ClassRange range = classes;
  WithRowForm(range.count, AreAligned(logits, dlogits), [=](auto form) {
    using Form = decltype(form);
    Launch(LabelLossGradientRows<Form>, Form::Shape(rows), logits, label, log_sum, dloss, static_cast<float>(whole),
           rows, range, smoothing, z_loss, dlogits);
  });
}

void ShareOfEqual(const int32_t* x, const int32_t* y, int64_t count, int64_t whole, const SampleMask& mask,
                  float* share) {
  WriteShare(IsEqual{x, y}, count, whole, mask, share);
}

void Mse(ConstReals prediction, ConstReals target, int64_t count, int64_t whole, const SampleMask& mask, float* loss) {
  WriteShare(SquaredDifference{prediction, target}, count, whole, mask, loss);
}

void Mae(ConstReals prediction, ConstReals target, int64_t count, int64_t whole, const SampleMask& mask, float* loss) {
  WriteShare(AbsoluteDifference{prediction, target}, count, whole, mask, loss);
}

void Huber(ConstReals prediction, ConstReals target, float delta, int64_t count, int64_t whole, const SampleMask& mask,
           float* loss) {
  WriteShare(HuberDistance{prediction, target, delta}, count, whole, mask, loss);
}

void BceWithLogits(ConstReals logits, ConstReals target, int64_t count, int64_t whole, const SampleMask& mask,
                   float* loss) {
  WriteShare(BinaryCrossEntropy{logits, target}, count, whole, mask, loss);
}

}  // namespace cleave::runtime
