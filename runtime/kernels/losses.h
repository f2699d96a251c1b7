// Losses and metrics of local tensors. Each writes this rank's share of a mean over the whole batch, one element: the
// sum over its own elements, divided by the number of all elements (`whole`), so that the shares of all ranks add up to
// the mean. All is computed in f32. A gradient by logits may lie over the logits, if both have one type.
#ifndef CLEAVE_RUNTIME_KERNELS_LOSSES_H_
#define CLEAVE_RUNTIME_KERNELS_LOSSES_H_

#include <cstdint>

#include "runtime/device/reals.h"
#include "runtime/device/scalar.h"

namespace cleave::runtime {

// What a row counts in a sum: 1 for a sample, 0 for padding, or its weight. Value i stands for the rows (or elements)
// i * rows_per_value and following. Null: all rows count as 1.
struct SampleMask {
  const float* values = nullptr;
  int64_t rows_per_value = 1;
};

// Where a loss writes its gradient by the logits as well, times `dloss`: perhaps over the logits. Null: nowhere.
struct LossGradient {
  Scalar<float> dloss = 0.0f;
  Reals dlogits = nullptr;
};

// -log softmax(logits)[label] per row of logits [rows, classes]. A label outside [0, classes) adds nothing, and its
// row's gradient is 0. With smoothing s, of [0, 1], a label has the share 1 - s, and all classes together, in equal
// parts, the share s. `z_loss` times the square of the logarithm of the row's sum of exponentials is added.
void CrossEntropy(ConstReals logits, const int32_t* label, int64_t rows, int64_t classes, int64_t whole,
                  const SampleMask& mask, float* loss, float smoothing = 0, float z_loss = 0,
                  const LossGradient& gradient = {});
// The gradient by the logits, where every row counts whatever the mask is, (w softmax(logits) - (1 - smoothing)
// one_hot(label) - smoothing / classes) * dloss / whole, where w is 1 + 2 z_loss times that logarithm.
void CrossEntropyGradient(ConstReals logits, const int32_t* label, Scalar<float> dloss, int64_t rows, int64_t classes,
                          int64_t whole, Reals dlogits, float smoothing = 0, float z_loss = 0);

// The share of rows whose largest logit, the first of equal ones, is that of the label.
void Accuracy(ConstReals logits, const int32_t* label, int64_t rows, int64_t classes, int64_t whole,
              const SampleMask& mask, float* accuracy);

// The classes that a rank holds of the logits' last dimension.
struct ClassRange {
  int64_t first = 0;
  int64_t count = 0;
  int64_t whole = 0;
};

// CrossEntropy and its gradient where the logarithm of each row's sum of exponentials over all classes, log_sum [rows],
// is known, and the rank holds the logits of some classes. A row is counted by the rank that holds its label's logit;
// each rank adds what smoothing gives its classes.
void LabelLoss(ConstReals logits, const int32_t* label, const float* log_sum, int64_t rows, const ClassRange& classes,
               int64_t whole, const SampleMask& mask, float* loss, float smoothing = 0, float z_loss = 0,
               const LossGradient& gradient = {});
void LabelLossGradient(ConstReals logits, const int32_t* label, const float* log_sum, Scalar<float> dloss, int64_t rows,
                       const ClassRange& classes, int64_t whole, Reals dlogits, float smoothing = 0, float z_loss = 0);

// The share of elements in which x equals y.
void ShareOfEqual(const int32_t* x, const int32_t* y, int64_t count, int64_t whole, const SampleMask& mask,
                  float* share);

// Mean of squared, and of absolute, differences.
void Mse(ConstReals prediction, ConstReals target, int64_t count, int64_t whole, const SampleMask& mask, float* loss);
void Mae(ConstReals prediction, ConstReals target, int64_t count, int64_t whole, const SampleMask& mask, float* loss);

// Mean of d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2), with d = prediction - target: Huber (1964).
void Huber(ConstReals prediction, ConstReals target, float delta, int64_t count, int64_t whole, const SampleMask& mask,
           float* loss);

// Mean of the cross-entropy of the probabilities sigmoid(logits) and `target`, each of one event: log(1 + e^x) - x t.
void BceWithLogits(ConstReals logits, ConstReals target, int64_t count, int64_t whole, const SampleMask& mask,
                   float* loss);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_LOSSES_H_
