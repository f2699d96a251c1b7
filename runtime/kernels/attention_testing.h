// For tests of attention, on every device: what it means, computed here in double.
#ifndef CLEAVE_RUNTIME_KERNELS_ATTENTION_TESTING_H_
#define CLEAVE_RUNTIME_KERNELS_ATTENTION_TESTING_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "runtime/device/bfloat16.h"
#include "runtime/device/float16.h"
#include "runtime/kernels/attention.h"
#include "runtime/kernels/testing.h"

namespace cleave::runtime {

// Attention by its definition, and its gradients: in double, matrix by matrix, with all scores.
struct AttentionReference {
  std::vector<double> out, dq, dk, dv;

  AttentionReference(const AttentionShape& shape, const std::vector<double>& q, const std::vector<double>& k,
                     const std::vector<double>& v, const std::vector<double>& dout)
      : out(q.size()), dq(q.size()), dk(k.size()), dv(k.size()) {
    for (int64_t matrix = 0; matrix < shape.matrices; ++matrix) {
      for (int64_t i = 0; i < shape.rows; ++i) Row(shape, matrix, i, q, k, v, dout);
    }
  }

 private:
  void Row(const AttentionShape& shape, int64_t matrix, int64_t i, const std::vector<double>& q,
           const std::vector<double>& k, const std::vector<double>& v, const std::vector<double>& dout) {
    const auto at = [&](int64_t rows, int64_t row, int64_t d) {
      return static_cast<size_t>((matrix * rows + row) * shape.head + d);
    };
    const int64_t seen = shape.causal ? std::min(shape.columns, shape.first_row + i + 1) : shape.columns;
    std::vector<double> weights(static_cast<size_t>(seen));
    std::vector<double> gradients(static_cast<size_t>(seen));
    double sum = 0;
    for (int64_t j = 0; j < seen; ++j) {
      double score = 0;
      for (int64_t d = 0; d < shape.head; ++d) score += q[at(shape.rows, i, d)] * k[at(shape.columns, j, d)];
      sum += weights[static_cast<size_t>(j)] = std::exp(shape.scale * score);
    }
    double weighted = 0;
    for (int64_t j = 0; j < seen; ++j) {
      double& weight = weights[static_cast<size_t>(j)];
      weight /= sum;
      for (int64_t d = 0; d < shape.head; ++d) {
        out[at(shape.rows, i, d)] += weight * v[at(shape.columns, j, d)];
        dv[at(shape.columns, j, d)] += weight * dout[at(shape.rows, i, d)];
        gradients[static_cast<size_t>(j)] += dout[at(shape.rows, i, d)] * v[at(shape.columns, j, d)];
      }
      weighted += weight * gradients[static_cast<size_t>(j)];
    }
    for (int64_t j = 0; j < seen; ++j) {
      const double slope =
          weights[static_cast<size_t>(j)] * (gradients[static_cast<size_t>(j)] - weighted) * shape.scale;
      for (int64_t d = 0; d < shape.head; ++d) {
        dq[at(shape.rows, i, d)] += slope * k[at(shape.columns, j, d)];
        dk[at(shape.columns, j, d)] += slope * q[at(shape.rows, i, d)];
      }
    }
  }
};

template <typename T>
std::vector<T> Random(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<T> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(T(uniform(random)));
  return values;
}

template <typename T>
std::vector<double> Wide(const std::vector<T>& values) {
  std::vector<double> wide;
  for (const T& value : values) wide.push_back(static_cast<float>(value));
  return wide;
}

// The largest difference, as a share of the largest number that is expected, or of 0.1 where all are smaller: gradients
// may be zero because larger numbers cancel.
template <typename T>
double RelativeError(const std::vector<T>& values, const std::vector<double>& expected) {
  double largest = 0.1;
  double error = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double difference = std::abs(static_cast<float>(values[i]) - expected[i]);
    error = std::max(error, std::isnan(difference) ? INFINITY : difference);
    largest = std::max(largest, std::abs(expected[i]));
  }
  return error / largest;
}

template <typename T>
void Check(const AttentionShape& shape, double tolerance) {
  SCOPED_TRACE(testing::Message() << shape.matrices << " x " << shape.rows << " x " << shape.columns << " x "
                                  << shape.head << (shape.causal ? " causal from " : " ") << shape.first_row);
  const int64_t queries = shape.matrices * shape.rows * shape.head;
  const int64_t keys = shape.matrices * shape.columns * shape.head;
  const std::vector<T> q = Random<T>(queries, 1);
  const std::vector<T> k = Random<T>(keys, 2);
  const std::vector<T> v = Random<T>(keys, 3);
  const std::vector<T> dout = Random<T>(queries, 4);
  const DeviceVector<T> q_there(q), k_there(k), v_there(v), dout_there(dout);
  DeviceVector<T> out(queries), dq(queries), dk(keys), dv(keys);
  Attention(shape, q_there.get(), k_there.get(), v_there.get(), out.get());
  AttentionGradient(shape, q_there.get(), k_there.get(), v_there.get(), dout_there.get(), dq.get(), dk.get(), dv.get());
  const AttentionReference reference(shape, Wide(q), Wide(k), Wide(v), Wide(dout));
  EXPECT_LE(RelativeError(out.Values(), reference.out), tolerance);
  EXPECT_LE(RelativeError(dq.Values(), reference.dq), tolerance);
  EXPECT_LE(RelativeError(dk.Values(), reference.dk), tolerance);
  EXPECT_LE(RelativeError(dv.Values(), reference.dv), tolerance);
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_ATTENTION_TESTING_H_
