// Functions that read and write 16 bits compute what they compute in f32 of the same numbers, and round it.
#include "runtime/device/reals.h"

#include <functional>
#include <utility>
#include <vector>

#include "runtime/kernels/losses.h"
#include "runtime/kernels/reduce.h"
#include "runtime/kernels/rows.h"
#include "runtime/kernels/sequences.h"
#include "runtime/kernels/testing.h"

namespace cleave::runtime {
namespace {

// The same numbers, which f16 and bf16 can hold, in all three types.
class Numbers {
 public:
  explicit Numbers(const std::vector<float>& values)
      : f32_(Rounded(values)), bf16_(As<BFloat16>(Rounded(values))), f16_(As<Float16>(Rounded(values))) {}

  ConstReals In(RealType type) const {
    return type == RealType::kF32    ? ConstReals(f32_.get())
           : type == RealType::kBf16 ? ConstReals(bf16_.get())
                                     : ConstReals(f16_.get());
  }

 private:
  static std::vector<float> Rounded(std::vector<float> values) {
    for (float& value : values) value = BFloat16(static_cast<float>(Float16(value)));
    for (float& value : values) value = Float16(value);  // Small numbers have fewer digits in f16.
    return values;
  }
  template <typename T>
  static std::vector<T> As(const std::vector<float>& values) {
    return std::vector<T>(values.begin(), values.end());
  }

  Placed<float> f32_;
  Placed<BFloat16> bf16_;
  Placed<Float16> f16_;
};

template <typename T>
std::vector<float> Made(int64_t count, const std::function<void(Reals)>& write) {
  const Placed<T> result(count);
  write(result);
  const std::vector<T> values = result.Values();
  return std::vector<float>(values.begin(), values.end());
}

std::vector<float> MadeIn(RealType type, int64_t count, const std::function<void(Reals)>& write) {
  switch (type) {
    case RealType::kF32:
      return Made<float>(count, write);
    case RealType::kBf16:
      return Made<BFloat16>(count, write);
    case RealType::kI8:
    case RealType::kI32:
    case RealType::kF16:
      return Made<Float16>(count, write);
  }
  return {};
}

float RoundedTo(RealType type, float value) {
  return type == RealType::kF32    ? value
         : type == RealType::kBf16 ? static_cast<float>(BFloat16(value))
                                   : static_cast<float>(Float16(value));
}

class ReadAndWrite16Bits : public testing::TestWithParam<std::pair<int64_t, int64_t>> {
 protected:
  // call(a, b, result), whose result of `count` elements may have each type,
  void Check(int64_t count, const std::function<void(ConstReals, ConstReals, Reals)>& call) const {
    Check(count, {RealType::kF32, RealType::kBf16, RealType::kF16}, call);
  }
  // or is always f32.
  void CheckSum(int64_t count, const std::function<void(ConstReals, ConstReals, float*)>& call) const {
    Check(count, {RealType::kF32}, [&](ConstReals a, ConstReals b, Reals y) { call(a, b, y.As<float>()); });
  }
  void Check(int64_t count, const std::vector<RealType>& results,
             const std::function<void(ConstReals, ConstReals, Reals)>& call) const {
    constexpr RealType kTypes[] = {RealType::kF32, RealType::kBf16, RealType::kF16};
    const auto [rows, columns] = GetParam();
    const Numbers a(RandomValues(rows * columns, 1));
    const Numbers b(RandomValues(rows * columns, 2));
    const std::vector<float> expected =
        MadeIn(RealType::kF32, count, [&](Reals result) { call(a.In(RealType::kF32), b.In(RealType::kF32), result); });
    for (const RealType of_a : kTypes) {
      for (const RealType of_b : kTypes) {
        for (const RealType of_result : results) {
          const std::vector<float> made =
              MadeIn(of_result, count, [&](Reals result) { call(a.In(of_a), b.In(of_b), result); });
          for (int64_t i = 0; i < count; ++i) {
            const size_t at = static_cast<size_t>(i);
            ASSERT_EQ(made[at], RoundedTo(of_result, expected[at])) << "element " << i;
          }
        }
      }
    }
  }
  int64_t rows() const { return GetParam().first; }
  int64_t columns() const { return GetParam().second; }
  int64_t elements() const { return rows() * columns(); }
};

TEST_P(ReadAndWrite16Bits, Rows) {
  const int64_t rows = this->rows();
  const int64_t columns = this->columns();
  const Placed<float> scale(RandomValues(columns, 3));
  const Placed<float> shift(RandomValues(columns, 4));
  Check(elements(), [&](ConstReals a, ConstReals, Reals y) { Softmax(a, rows, columns, y); });
  Check(elements(), [&](ConstReals a, ConstReals b, Reals y) { SoftmaxGradient(a, b, rows, columns, y); });
  Check(elements(), [&](ConstReals a, ConstReals, Reals y) { LogSoftmax(a, rows, columns, y); });
  Check(elements(), [&](ConstReals a, ConstReals b, Reals y) { LogSoftmaxGradient(a, b, rows, columns, y); });
  Check(elements(),
        [&](ConstReals a, ConstReals, Reals y) { LayerNorm(a, nullptr, scale, shift, rows, columns, {}, nullptr, y); });
  Check(elements(), [&](ConstReals a, ConstReals b, Reals y) {
    LayerNormGradient(a, b, scale, nullptr, rows, columns, {}, y, nullptr, nullptr, nullptr);
  });
}

TEST_P(ReadAndWrite16Bits, Sums) {
  const int64_t rows = this->rows();
  const int64_t columns = this->columns();
  CheckSum(columns, [&](ConstReals a, ConstReals b, float* y) {
    LayerNormGradient(a, b, nullptr, nullptr, rows, columns, {}, nullptr, nullptr, y, nullptr);
  });
  CheckSum(columns, [&](ConstReals a, ConstReals b, float* y) {
    LayerNormGradient(a, b, nullptr, nullptr, rows, columns, {}, nullptr, nullptr, nullptr, y);
  });
  const std::vector<int64_t> shape = {rows, columns};
  CheckSum(columns, [&](ConstReals a, ConstReals, float* y) { ReduceSum(a, shape, {0}, y); });
  CheckSum(rows, [&](ConstReals a, ConstReals, float* y) { ReduceSum(a, shape, {1}, y); });
  CheckSum(1, [&](ConstReals a, ConstReals, float* y) { ReduceSum(a, shape, {0, 1}, y); });
  CheckSum(rows, [&](ConstReals a, ConstReals, float* y) { ReduceMax(a, shape, {1}, y); });
  CheckSum(columns, [&](ConstReals a, ConstReals, float* y) { ReduceMin(a, shape, {0}, y); });
  CheckSum(rows, [&](ConstReals a, ConstReals, float* y) { ReduceMean(a, shape, {1}, columns, y); });
  const SampleMask all;
  CheckSum(1, [&](ConstReals a, ConstReals b, float* y) { Mse(a, b, elements(), elements(), all, y); });
  CheckSum(1, [&](ConstReals a, ConstReals b, float* y) { Mae(a, b, elements(), elements(), all, y); });
  CheckSum(1, [&](ConstReals a, ConstReals b, float* y) { Huber(a, b, 0.5f, elements(), elements(), all, y); });
  CheckSum(1, [&](ConstReals a, ConstReals b, float* y) { BceWithLogits(a, b, elements(), elements(), all, y); });
}

TEST_P(ReadAndWrite16Bits, Losses) {
  const int64_t rows = this->rows();
  const int64_t columns = this->columns();
  std::vector<int32_t> labels;
  for (int64_t r = 0; r < rows; ++r)
    labels.push_back(static_cast<int32_t>(r * 7 % (columns + 1)));  // Some are no class.
  const Placed<int32_t> label(labels);
  const Placed<float> log_sum(RandomValues(rows, 5));
  const ClassRange part = {1, columns, columns + 3};
  const SampleMask all;
  for (const float smoothing : {0.0f, 0.1f}) {
    CheckSum(
        1, [&](ConstReals a, ConstReals, float* y) { CrossEntropy(a, label, rows, columns, rows, all, y, smoothing); });
    CheckSum(1, [&](ConstReals a, ConstReals, float* y) {
      LabelLoss(a, label, log_sum, rows, part, rows, all, y, smoothing);
    });
    Check(elements(), [&](ConstReals a, ConstReals, Reals y) {
      CrossEntropyGradient(a, label, 2.0f, rows, columns, rows, y, smoothing);
    });
    Check(elements(), [&](ConstReals a, ConstReals, Reals y) {
      LabelLossGradient(a, label, log_sum, 2.0f, rows, part, rows, y, smoothing);
    });
  }
  CheckSum(1, [&](ConstReals a, ConstReals, float* y) { Accuracy(a, label, rows, columns, rows, all, y); });
}

TEST_P(ReadAndWrite16Bits, Rotations) {
  if (columns() % 2 != 0) return;
  Check(elements(), [&](ConstReals a, ConstReals, Reals y) { Rope(a, {rows(), columns()}, {}, y); });
}

INSTANTIATE_TEST_SUITE_P(Shapes, ReadAndWrite16Bits,
                         testing::Values(std::pair(1, 1), std::pair(3, 7), std::pair(5, 64), std::pair(40, 16),
                                         std::pair(7, 1000), std::pair(300, 136), std::pair(2, 20001)));

// A gradient of logits may lie over them.
TEST(LossesIn16Bits, GradientOverLogits) {
  constexpr int64_t kRows = 9;
  constexpr int64_t kClasses = 130;
  const std::vector<float> values = RandomValues(kRows * kClasses, 1);
  const std::vector<BFloat16> narrow(values.begin(), values.end());
  const Placed<int32_t> label({3, 129, -1, 0, 7, 7, 128, 1, 64});
  const Placed<BFloat16> logits(narrow);
  const Placed<BFloat16> apart(kRows * kClasses);
  CrossEntropyGradient(logits, label, 1.0f, kRows, kClasses, kRows, apart);
  CrossEntropyGradient(logits, label, 1.0f, kRows, kClasses, kRows, logits);
  const std::vector<BFloat16> expected = apart.Values();
  const std::vector<BFloat16> over = logits.Values();
  for (size_t i = 0; i < over.size(); ++i) EXPECT_EQ(over[i].bits, expected[i].bits) << i;
}

}  // namespace
}  // namespace cleave::runtime
