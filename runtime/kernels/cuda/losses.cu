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

// Writes the loss of each row to `values` and its gradient to `gradient`, of which one may be null.
template <typename Form>
__global__ void CrossEntropyRows(ConstReals logits, const int32_t* __restrict__ label, float whole, int64_t rows,
                                 int64_t classes, float smoothing, float z_loss, float* __restrict__ values,
                                 LossGradient gradient) {
  const bool gives_gradient = gradient.dlogits.place() != nullptr;
  const float factor = gives_gradient ? gradient.dloss.Get() / whole : 0.0f;
  const float own = factor * (1 - smoothing);
  const float even = factor * smoothing / static_cast<float>(classes);
  for (int64_t r = Form::FirstRow(); r < rows; r += Form::RowStride()) {
    const int32_t truth = label[r];
    const Reals to = gradient.dlogits + r * classes;
    if (truth < 0 || truth >= classes) {  // The same for all threads of the row.
      if (values != nullptr && Form::Lane() == 0) values[r] = 0.0f;
      if (gives_gradient) WriteRow<Form>(classes, to, [](int64_t) { return 0.0f; });
      continue;
    }
    const ConstReals from = logits + r * classes;
    const float chosen = from[truth];  // Every thread has read it before the sums are known, and one writes there then.
    const Row<Form> row(from, classes);
    const ExpSum exponentials = RowExpSum(row, classes);
    const float largest = exponentials.largest;
    const float log = std::log(exponentials.sum), log_sum = log + largest;
    if (values != nullptr) {
      float value = log - (chosen - largest) + z_loss * log_sum * log_sum;
      if (smoothing > 0) value += smoothing * (chosen - SumOfRow(row, classes) / static_cast<float>(classes));
      if (Form::Lane() == 0) values[r] = value;
    }
    if (!gives_gradient) continue;
    const float scale = factor * (1.0f + 2.0f * z_loss * log_sum) / exponentials.sum;
    const auto by_logit = [=](int64_t i, float x) {
      return Exp(x - largest) * scale - even - (i == truth ? own : 0.0f);
    };
    WriteRow<Form>(classes, to, by_logit, row);
  }
}

// The same where the logarithm of each row's sum of exponentials is known.
template <typename Form>
__global__ void LabelLossRows(ConstReals logits, const int32_t* __restrict__ label, const float* __restrict__ log_sum,
                              float whole, int64_t rows, ClassRange classes, float smoothing, float z_loss,
                              float* __restrict__ values, LossGradient gradient) {
  const bool gives_gradient = gradient.dlogits.place() != nullptr;
  const float factor = gives_gradient ? gradient.dloss.Get() / whole : 0.0f;
  const float own = factor * (1 - smoothing);
  const float even = factor * smoothing / static_cast<float>(classes.whole);
  for (int64_t r = Form::FirstRow(); r < rows; r += Form::RowStride()) {
    const bool is_class = label[r] >= 0 && label[r] < classes.whole;  // The same for all threads of the row.
    const int64_t truth = label[r] - classes.first;
    const bool has_truth = truth >= 0 && truth < classes.count;
    const float sum = log_sum[r];
    const ConstReals from = logits + r * classes.count;
    const Row<Form, false> row(from, classes.count);
    if (values != nullptr) {
      float value = 0.0f;
      if (is_class && smoothing > 0)
        value = -smoothing / static_cast<float>(classes.whole) * SumOfRow(row, classes.count);
      if (has_truth && Form::Lane() == LaneOf<Form>(truth)) {  // The thread that writes there, too.
        value += sum - (1 - smoothing) * from[truth] + z_loss * sum * sum;
      }
      if (Form::Lane() == (has_truth ? LaneOf<Form>(truth) : 0)) values[r] = value;
    }
    if (!gives_gradient) continue;
    const float scale = factor * (1.0f + 2.0f * z_loss * sum);
    const auto by_logit = [=](int64_t i, float x) {
      return is_class ? Exp(x - sum) * scale - even - (i == truth ? own : 0.0f) : 0.0f;
    };
    WriteRow<Form>(classes.count, gradient.dlogits + r * classes.count, by_logit, row);
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
// `aligned`: as for WithRowForm.
template <typename LaunchRows>
void WriteShareOfRows(bool aligned, int64_t rows, int64_t classes, int64_t whole, const SampleMask& mask, float* share,
                      LaunchRows launch) {
  ScratchLayout layout;
  const int64_t values_at = layout.Add<float>(rows);
  const int64_t parts_at = layout.Add<double>(MeanBlocks(rows));
  const ScratchMemory scratch(layout);
  float* const values = scratch.At<float>(values_at);
  WithRowForm(classes, aligned, [=](auto form) { launch(form, values); });
  ShareOfMean(ValueAt{values}, rows, whole, mask, scratch.At<double>(parts_at), share);
}

}  // namespace

void CrossEntropy(ConstReals logits, const int32_t* label, int64_t rows, int64_t classes, int64_t whole,
                  const SampleMask& mask, float* loss, float smoothing, float z_loss, const LossGradient& gradient) {
  const bool aligned = AreAligned(logits, gradient.dlogits);
  WriteShareOfRows(aligned, rows, classes, whole, mask, loss, [=](auto form, float* values) {
    using Form = decltype(form);
    Launch(CrossEntropyRows<Form>, Form::Shape(rows), logits, label, static_cast<float>(whole), rows, classes,
           smoothing, z_loss, values, gradient);
  });
}

void CrossEntropyGradient(ConstReals logits, const int32_t* label, Scalar<float> dloss, int64_t rows, int64_t classes,
                          int64_t whole, Reals dlogits, float smoothing, float z_loss) {
  WithRowForm(classes, AreAligned(logits, dlogits), [=](auto form) {
    using Form = decltype(form);
    Launch(CrossEntropyRows<Form>, Form::Shape(rows), logits, label, static_cast<float>(whole), rows, classes,
           smoothing, z_loss, static_cast<float*>(nullptr), LossGradient{dloss, dlogits});
  });
}

void Accuracy(ConstReals logits, const int32_t* label, int64_t rows, int64_t classes, int64_t whole,
              const SampleMask& mask, float* accuracy) {
  WriteShareOfRows(AreAligned(logits), rows, classes, whole, mask, accuracy, [=](auto form, float* values) {
    using Form = decltype(form);
    Launch(HitRows<Form>, Form::Shape(rows), logits, label, rows, classes, values);
  });
}

void LabelLoss(ConstReals logits, const int32_t* label, const float* log_sum, int64_t rows, const ClassRange& classes,
               int64_t whole, const SampleMask& mask, float* loss, float smoothing, float z_loss,
               const LossGradient& gradient) {
  if (smoothing == 0 && gradient.dlogits.place() == nullptr)
    return WriteShare(LabelLossOfRow{logits, label, log_sum, classes, z_loss}, rows, whole, mask, loss);
  const ClassRange range = classes;
  const bool aligned = AreAligned(logits, gradient.dlogits);
  WriteShareOfRows(aligned, rows, range.count, whole, mask, loss, [=](auto form, float* values) {
    using Form = decltype(form);
    Launch(LabelLossRows<Form>, Form::Shape(rows), logits, label, log_sum, static_cast<float>(whole), rows, range,
           smoothing, z_loss, values, gradient);
  });
}

void LabelLossGradient(ConstReals logits, const int32_t* label, const float* log_sum, Scalar<float> dloss, int64_t rows,
                       const ClassRange& classes, int64_t whole, Reals dlogits, float smoothing, float z_loss) {
  const ClassRange range = classes;
  WithRowForm(range.count, AreAligned(logits, dlogits), [=](auto form) {
    using Form = decltype(form);
    Launch(LabelLossRows<Form>, Form::Shape(rows), logits, label, log_sum, static_cast<float>(whole), rows, range,
           smoothing, z_loss, static_cast<float*>(nullptr), LossGradient{dloss, dlogits});
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
