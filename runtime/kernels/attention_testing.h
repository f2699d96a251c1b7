// For tests of attention, on every device: what it means, computed here in double, and tensors that lie in all ways.
//
//   CheckAttention<float>({.batch = 2, .heads = 4, .key_heads = 2, .rows = 70, .columns = 33, .head = 64},
//                         Lying::kHeadsInside, 1e-5);
#ifndef CLEAVE_RUNTIME_KERNELS_ATTENTION_TESTING_H_
#define CLEAVE_RUNTIME_KERNELS_ATTENTION_TESTING_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <random>
#include <vector>

#include "runtime/device/bfloat16.h"
#include "runtime/device/device_vector.h"
#include "runtime/device/float16.h"
#include "runtime/kernels/attention.h"

namespace cleave::runtime {

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
inline double RelativeError(const std::vector<double>& values, const std::vector<double>& expected) {
  EXPECT_EQ(values.size(), expected.size());
  double largest = 0.1;
  double error = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double difference = std::abs(values[i] - expected[i]);
    error = std::max(error, std::isnan(difference) ? INFINITY : difference);
    largest = std::max(largest, std::abs(expected[i]));
  }
  return error / largest;
}

// How a tensor [batch, heads, rows, head] lies in memory.
enum class Lying {
  kHeadsOutside,  // [batch, heads, rows, head]
  kHeadsInside,   // [batch, rows, heads, head]
  kPacked,        // A part of [batch, rows, heads, 3, head].
  kApart,         // Rows, heads and samples are apart, and nothing is aligned.
};
constexpr Lying kLyings[] = {Lying::kHeadsOutside, Lying::kHeadsInside, Lying::kPacked, Lying::kApart};

// A tensor's sizes, and where its elements are among those of its memory.
struct Place {
  int64_t batch;
  int64_t heads;
  int64_t rows;
  int64_t head;
  AttentionStrides strides;
  int64_t first;
  int64_t elements;  // Of the memory.

  // Of three packed tensors it is number `part`.
  static Place Of(Lying lying, int64_t batch, int64_t heads, int64_t rows, int64_t head, int64_t part) {
    const auto at = [&](const AttentionStrides& strides, int64_t first) {
      return Place{batch, heads, rows, head, strides, first, first + batch * strides.batch};
    };
    switch (lying) {
      case Lying::kHeadsOutside:
        return at({heads * rows * head, rows * head, head}, 0);
      case Lying::kHeadsInside:
        return at({rows * heads * head, head, heads * head}, 0);
      case Lying::kPacked: {
        Place packed = at({rows * heads * 3 * head, 3 * head, heads * 3 * head}, part * head);
        packed.elements = batch * packed.strides.batch;
        return packed;
      }
      case Lying::kApart: {
        const int64_t of_head = rows * (head + 3) + 1;
        return at({heads * of_head + 5, of_head, head + 3}, 1);
      }
    }
    return {};
  }

  // So many rows from `row` on.
  Place Rows(int64_t row, int64_t count) const {
    Place some = *this;
    some.first += row * strides.row;
    some.rows = count;
    return some;
  }

  int64_t Count() const { return batch * heads * rows * head; }

  // The elements in memory that hold `values`, in the order of the sizes, and `other` beside them.
  template <typename T>
  std::vector<T> Lay(const std::vector<T>& values, T other) const {
    std::vector<T> memory(static_cast<size_t>(elements), other);
    ForEach([&](size_t i, size_t at) { memory[at] = values[i]; });
    return memory;
  }
  template <typename T>
  std::vector<T> Take(const std::vector<T>& memory) const {
    std::vector<T> values(static_cast<size_t>(Count()));
    ForEach([&](size_t i, size_t at) { values[i] = memory[at]; });
    return values;
  }

 private:
  // Calls f(i, at) for each element: its number in the order of the sizes, and that in memory.
  template <typename Function>
  void ForEach(Function f) const {
    size_t i = 0;
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t h = 0; h < heads; ++h) {
        for (int64_t r = 0; r < rows; ++r) {
          const int64_t row = first + b * strides.batch + h * strides.head + r * strides.row;
          for (int64_t d = 0; d < head; ++d) f(i++, static_cast<size_t>(row + d));
        }
      }
    }
  }
};

// Which keys the queries see by their ranges; nothing where there are none.
struct Ranges {
  std::vector<int32_t> first, end;

  // Documents of random lengths one after another, some of them hidden, with a few queries that see what they like.
  static Ranges RandomOf(const AttentionShape& shape) {
    std::mt19937 random(11);
    Ranges ranges;
    for (int64_t b = 0; b < shape.batch; ++b) {
      int64_t begin = 0, length = 0;
      for (int64_t row = 0; row < shape.rows; ++row) {
        if (row == begin + length) {
          begin = row;
          length = 1 + static_cast<int64_t>(random() % static_cast<uint32_t>(1 + shape.rows / 2));
        }
        const bool is_odd = random() % 8 == 0;
        const auto any = [&] { return static_cast<int32_t>(random() % static_cast<uint32_t>(shape.columns + 2)) - 1; };
        ranges.first.push_back(is_odd ? any() : static_cast<int32_t>(begin));
        ranges.end.push_back(is_odd ? any() : static_cast<int32_t>(begin + length));
      }
    }
    return ranges;
  }
};

// What a test puts into tensors, in the order of their sizes.
template <typename T>
struct AttentionValues {
  std::vector<T> q, k, v, dout;
  std::vector<float> bias = {};  // [heads, distances], or nothing.
  Ranges ranges = {};

  static AttentionValues RandomOf(const AttentionShape& shape) {
    const int64_t queries = shape.batch * shape.heads * shape.rows * shape.head;
    const int64_t keys = shape.batch * shape.key_heads * shape.columns * shape.head;
    const int64_t results = shape.batch * shape.heads * shape.rows * shape.ValueHead();
    const int64_t of_values = shape.batch * shape.key_heads * shape.columns * shape.ValueHead();
    return {Random<T>(queries, 1), Random<T>(keys, 2), Random<T>(of_values, 3), Random<T>(results, 4),
            Random<float>(shape.heads * shape.bias.distances, 5)};
  }
};

// Attention by its definition, and its gradients: in double, with all scores. Tensors are in the order of their sizes.
struct AttentionReference {
  std::vector<double> out, logsumexp, dq, dk, dv, dbias;

  template <typename T>
  AttentionReference(const AttentionShape& shape, const AttentionValues<T>& values)
      : shape_(shape),
        ranges_(values.ranges),
        q_(Wide(values.q)),
        k_(Wide(values.k)),
        v_(Wide(values.v)),
        dout_(Wide(values.dout)),
        bias_(Wide(values.bias)) {
    out.resize(dout_.size());
    dq.resize(q_.size());
    dk.resize(k_.size());
    dv.resize(v_.size());
    dbias.resize(bias_.size());
    for (int64_t batch = 0; batch < shape.batch; ++batch) {
      for (int64_t head = 0; head < shape.heads; ++head) {
        for (int64_t row = 0; row < shape.rows; ++row) AddRow(batch, head, row);
      }
    }
  }

 private:
  bool Sees(int64_t batch, int64_t row, int64_t column) const {
    const int64_t before = shape_.first_row + row - column;
    if (shape_.causal && (before < 0 || (shape_.window > 0 && before >= shape_.window))) return false;
    if (ranges_.first.empty()) return true;
    const auto query = static_cast<size_t>(batch * shape_.rows + row);
    return ranges_.first[query] <= column && column < ranges_.end[query];
  }

  size_t Distance(int64_t head, int64_t row, int64_t column) const {
    return static_cast<size_t>(head * shape_.bias.distances + shape_.bias.first + column - row);
  }
  // By what a weight is multiplied.
  double Kept(int64_t batch, int64_t head, int64_t row, int64_t column) const {
    const AttentionDropout& dropout = shape_.dropout;
    if (dropout.rate == 0.0f || dropout.stream.step.Get() == 0) return 1;
    const auto place = static_cast<uint64_t>(dropout.FirstOfRow(batch, head, row) + column);
    const PhiloxBlock draws = StreamWords(dropout.stream).Block(place / 4);
    return UnitFloat(draws[place % 4]) >= dropout.rate ? 1.0 / (1.0 - static_cast<double>(dropout.rate)) : 0;
  }

  void AddRow(int64_t batch, int64_t head, int64_t row) {
    const int64_t key_head = head / (shape_.heads / shape_.key_heads);
    const auto at = [](int64_t number, int64_t elements) { return static_cast<size_t>(number * elements); };
    const int64_t row_number = (batch * shape_.heads + head) * shape_.rows + row;
    const int64_t first_key = (batch * shape_.key_heads + key_head) * shape_.columns;
    const size_t query = at(row_number, shape_.head), result = at(row_number, shape_.ValueHead());
    const size_t keys = at(first_key, shape_.head), values = at(first_key, shape_.ValueHead());
    const size_t size = static_cast<size_t>(shape_.head), value_size = static_cast<size_t>(shape_.ValueHead());
    const size_t columns = static_cast<size_t>(shape_.columns);
    std::vector<double> weights(columns), gradients(columns), slopes(columns, 1.0);
    double sum = 0;
    for (size_t j = 0; j < columns; ++j) {
      if (!Sees(batch, row, static_cast<int64_t>(j))) continue;
      double score = 0;
      for (size_t d = 0; d < size; ++d) score += q_[query + d] * k_[keys + j * size + d];
      score *= shape_.scale;
      if (shape_.cap != 0.0f) {
        const double share = std::tanh(score / shape_.cap);
        score = shape_.cap * share;
        slopes[j] = 1.0 - share * share;
      }
      const size_t distance = Distance(head, row, static_cast<int64_t>(j));
      if (!bias_.empty()) score += bias_[distance];
      sum += weights[j] = std::exp(score);
    }
    logsumexp.push_back(std::log(sum));
    if (sum == 0) return;
    double delta = 0;
    for (size_t j = 0; j < columns; ++j) {
      weights[j] /= sum;
      const double kept = Kept(batch, head, row, static_cast<int64_t>(j));
      for (size_t d = 0; d < value_size; ++d) {
        const size_t value = values + j * value_size + d;
        out[result + d] += kept * weights[j] * v_[value];
        dv[value] += kept * weights[j] * dout_[result + d];
        gradients[j] += kept * dout_[result + d] * v_[value];
      }
      delta += weights[j] * gradients[j];
    }
    for (size_t j = 0; j < columns; ++j) {
      const double by_score = weights[j] * (gradients[j] - delta);
      if (!bias_.empty()) dbias[Distance(head, row, static_cast<int64_t>(j))] += by_score;
      const double slope = by_score * shape_.scale * slopes[j];
      for (size_t d = 0; d < size; ++d) {
        dq[query + d] += slope * k_[keys + j * size + d];
        dk[keys + j * size + d] += slope * q_[query + d];
      }
    }
  }

  const AttentionShape shape_;
  const Ranges ranges_;
  const std::vector<double> q_, k_, v_, dout_, bias_;
};

// The tensors of one call on the device. What lies beside them must be neither read nor written.
template <typename T>
class AttentionTensors {
 public:
  struct Results {
    bool dq = true;
    bool dk = true;
    bool dv = true;
  };
  // In the order of the sizes; empty where a result was null.
  struct Gradients {
    std::vector<T> dq, dk, dv;
    std::vector<float> dbias = {};
  };

  AttentionTensors(const AttentionShape& sizes, Lying lying, const AttentionValues<T>& values)
      : shape_(sizes),
        q_place_(Place::Of(lying, sizes.batch, sizes.heads, sizes.rows, sizes.head, 0)),
        k_place_(Place::Of(lying, sizes.batch, sizes.key_heads, sizes.columns, sizes.head, 1)),
        v_place_(Place::Of(lying, sizes.batch, sizes.key_heads, sizes.columns, sizes.ValueHead(), 2)),
        out_place_(Place::Of(lying, sizes.batch, sizes.heads, sizes.rows, sizes.ValueHead(), 1)),
        dq_place_(Place::Of(Other(lying), sizes.batch, sizes.heads, sizes.rows, sizes.head, 2)),
        dk_place_(Place::Of(Other(lying), sizes.batch, sizes.key_heads, sizes.columns, sizes.head, 0)),
        dv_place_(Place::Of(Other(lying), sizes.batch, sizes.key_heads, sizes.columns, sizes.ValueHead(), 1)),
        dout_place_(Place::Of(Other(lying), sizes.batch, sizes.heads, sizes.rows, sizes.ValueHead(), 0)),
        q_(q_place_.Lay(values.q, T(NAN))),
        k_(k_place_.Lay(values.k, T(NAN))),
        v_(v_place_.Lay(values.v, T(NAN))),
        dout_(dout_place_.Lay(values.dout, T(NAN))),
        bias_(values.bias),
        first_(values.ranges.first),
        end_(values.ranges.end),
        out_(Untouched(out_place_)),
        logsumexp_(sizes.batch * sizes.heads * sizes.rows) {
    shape_.q = q_place_.strides;
    shape_.k = k_place_.strides;
    shape_.v = v_place_.strides;
    shape_.out = out_place_.strides;
    shape_.dq = dq_place_.strides;
    shape_.dk = dk_place_.strides;
    shape_.dv = dv_place_.strides;
    shape_.dout = dout_place_.strides;
    if (!values.bias.empty()) shape_.bias.values = bias_.get();
    if (!values.ranges.first.empty()) {
      shape_.first = first_.get();
      shape_.end = end_.get();
    }
  }

  void Forward() {
    Attention(shape_, At(q_, q_place_), At(k_, k_place_), At(v_, v_place_), At(out_, out_place_), logsumexp_.get());
  }
  std::vector<T> ForwardWithoutLogsumexp() {
    const DeviceVector<T> out(Untouched(out_place_));
    Attention<T>(shape_, At(q_, q_place_), At(k_, k_place_), At(v_, v_place_), At(out, out_place_), nullptr);
    return Written(out, out_place_);
  }
  std::vector<T> out() const { return Written(out_, out_place_); }
  std::vector<float> logsumexp() const { return logsumexp_.Values(); }

  // Of keys [first, first + count), after Forward.
  Gradients GradientsOf(int64_t first, int64_t count, Results results) const {
    AttentionShape shape = shape_;
    shape.columns = count;
    shape.first_row -= first;
    shape.first_column += first;
    shape.dropout.first_column += first;
    shape.bias.first += first;
    const DeviceVector<float> dbias(std::vector<float>(static_cast<size_t>(bias_.size()), kUntouched));
    if (bias_.size() > 0) shape.bias.gradient = dbias.get();
    const Place k_place = k_place_.Rows(first, count);
    const Place v_place = v_place_.Rows(first, count);
    const Place dk_place = dk_place_.Rows(first, count);
    const Place dv_place = dv_place_.Rows(first, count);
    const DeviceVector<T> dq(Untouched(dq_place_)), dk(Untouched(dk_place)), dv(Untouched(dv_place));
    AttentionGradient(shape, At(q_, q_place_), At(k_, k_place), At(v_, v_place), At(out_, out_place_), logsumexp_.get(),
                      At(dout_, dout_place_), results.dq ? At(dq, dq_place_) : nullptr,
                      results.dk ? At(dk, dk_place) : nullptr, results.dv ? At(dv, dv_place) : nullptr);
    return {results.dq ? Written(dq, dq_place_) : std::vector<T>(),
            results.dk ? Written(dk, dk_place) : std::vector<T>(),
            results.dv ? Written(dv, dv_place) : std::vector<T>(), dbias.Values()};
  }
  Gradients AllGradients(Results results) const { return GradientsOf(0, shape_.columns, results); }
  Gradients AllGradients() const { return AllGradients({true, true, true}); }

 private:
  static constexpr float kUntouched = 77.0f;

  // How gradients lie: in another way than what they are the gradients of, and as well aligned.
  static Lying Other(Lying lying) {
    constexpr size_t kAligned = std::size(kLyings) - 1;
    return lying == Lying::kApart ? lying : kLyings[(static_cast<size_t>(lying) + 1) % kAligned];
  }

  static std::vector<T> Untouched(const Place& place) {
    return std::vector<T>(static_cast<size_t>(place.elements), T(kUntouched));
  }
  static T* At(const DeviceVector<T>& tensor, const Place& place) {
    return tensor.size() == 0 ? tensor.get() : tensor.get() + place.first;
  }
  static std::vector<T> Written(const DeviceVector<T>& tensor, const Place& place) {
    const std::vector<T> memory = tensor.Values();
    const std::vector<T> values = place.Take(memory);
    const std::vector<T> expected = place.Lay(values, T(kUntouched));
    for (size_t i = 0; i < memory.size(); ++i) {
      const bool is_same = static_cast<float>(memory[i]) == static_cast<float>(expected[i]);
      EXPECT_TRUE(is_same || memory[i] != memory[i]) << "written beside the tensor, at " << i;
    }
    return values;
  }

  AttentionShape shape_;
  const Place q_place_, k_place_, v_place_, out_place_;
  const Place dq_place_, dk_place_, dv_place_, dout_place_;
  const DeviceVector<T> q_, k_, v_, dout_;
  const DeviceVector<float> bias_;
  const DeviceVector<int32_t> first_, end_;
  const DeviceVector<T> out_;
  const DeviceVector<float> logsumexp_;
};

inline testing::Message Description(const AttentionShape& shape, Lying lying) {
  return testing::Message() << shape.batch << " x " << shape.heads << "/" << shape.key_heads << " x " << shape.rows
                            << " x " << shape.columns << " x " << shape.head << "/" << shape.ValueHead()
                            << (shape.causal ? " causal from " : " ") << shape.first_row << ", window " << shape.window
                            << ", cap " << shape.cap << ", distances " << shape.bias.distances << ", rate "
                            << shape.dropout.rate << ", lying " << static_cast<int>(lying);
}

// Scores are float whatever T is.
inline void ExpectLogsumexp(const std::vector<float>& values, const std::vector<double>& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isinf(expected[i])) {
      ASSERT_EQ(values[i], expected[i]) << i;
    } else {
      ASSERT_NEAR(values[i], expected[i], 1e-5 * (1.0 + std::abs(expected[i]))) << i;
    }
  }
}

// Compares all results with the reference.
template <typename T>
void CheckAttention(const AttentionShape& shape, Lying lying, double tolerance, const Ranges& ranges = {}) {
  SCOPED_TRACE(Description(shape, lying) << (ranges.first.empty() ? "" : ", with ranges"));
  AttentionValues<T> values = AttentionValues<T>::RandomOf(shape);
  values.ranges = ranges;
  const AttentionReference reference(shape, values);
  AttentionTensors<T> tensors(shape, lying, values);
  tensors.Forward();
  EXPECT_LE(RelativeError(Wide(tensors.out()), reference.out), tolerance);
  ExpectLogsumexp(tensors.logsumexp(), reference.logsumexp);
  const auto gradients = tensors.AllGradients();
  EXPECT_LE(RelativeError(Wide(gradients.dq), reference.dq), tolerance);
  EXPECT_LE(RelativeError(Wide(gradients.dk), reference.dk), tolerance);
  EXPECT_LE(RelativeError(Wide(gradients.dv), reference.dv), tolerance);
  EXPECT_LE(RelativeError(Wide(gradients.dbias), reference.dbias), tolerance);
}

// The gradients of parts of the keys, from what the forward pass has stored for all of them. `ends` are where the parts
// end.
template <typename T>
void CheckParts(const AttentionShape& shape, Lying lying, const std::vector<int64_t>& ends, double tolerance,
                const Ranges& ranges = {}) {
  SCOPED_TRACE(Description(shape, lying) << (ranges.first.empty() ? "" : ", with ranges"));
  AttentionValues<T> values = AttentionValues<T>::RandomOf(shape);
  values.ranges = ranges;
  const AttentionReference reference(shape, values);
  AttentionTensors<T> tensors(shape, lying, values);
  tensors.Forward();
  const auto of_keys = [&](int64_t head) {
    return Place::Of(Lying::kHeadsOutside, shape.batch, shape.key_heads, shape.columns, head, 0);
  };
  std::vector<double> dq(values.q.size()), dbias(values.bias.size());
  int64_t first = 0;
  for (const int64_t end : ends) {
    const auto part = [&](int64_t head) { return of_keys(head).Rows(first, end - first); };
    const auto gradients = tensors.GradientsOf(first, end - first, {true, true, true});
    const std::vector<double> of_queries = Wide(gradients.dq);
    for (size_t i = 0; i < dq.size(); ++i) dq[i] += of_queries[i];
    for (size_t i = 0; i < dbias.size(); ++i) dbias[i] += static_cast<double>(gradients.dbias[i]);
    EXPECT_LE(RelativeError(Wide(gradients.dk), part(shape.head).Take(reference.dk)), tolerance)
        << "keys up to " << end;
    EXPECT_LE(RelativeError(Wide(gradients.dv), part(shape.ValueHead()).Take(reference.dv)), tolerance)
        << "keys up to " << end;
    first = end;
  }
  EXPECT_EQ(first, shape.columns);
  EXPECT_LE(RelativeError(dq, reference.dq), tolerance);
  EXPECT_LE(RelativeError(dbias, reference.dbias), tolerance);
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_ATTENTION_TESTING_H_
