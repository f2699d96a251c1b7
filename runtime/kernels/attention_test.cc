#include "runtime/kernels/attention.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "runtime/kernels/attention_testing.h"

namespace cleave::runtime {
namespace {

// Rows, columns, head: less than a tile, exactly one tile, more than one; heads that are not a multiple of a vector.
class Attention_ : public testing::TestWithParam<std::tuple<int64_t, int64_t, int64_t>> {};

TEST_P(Attention_, IsWhatItMeans) {
  const auto [rows, columns, head] = GetParam();
  AttentionShape shape = {.matrices = 2, .rows = rows, .columns = columns, .head = head, .scale = 0.3f};
  for (const bool causal : {false, true}) {
    shape.causal = causal;
    // The queries are those of a rank that holds the last rows.
    shape.first_row = causal ? std::max<int64_t>(0, columns - rows) : 0;
    Check<float>(shape, 1e-5);
    // The weights and the stored results have 8 bits.
    Check<BFloat16>(shape, 2e-2);
    Check<Float16>(shape, 3e-3);  // 11.
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Attention_,
                         testing::Values(std::tuple(1, 1, 1), std::tuple(5, 7, 3), std::tuple(64, 64, 32),
                                         std::tuple(70, 33, 64), std::tuple(33, 130, 40), std::tuple(40, 70, 128)));

TEST(Attention, NothingIsNothing) {
  DeviceVector<float> none(0);
  Attention<float>({.matrices = 0, .rows = 4, .columns = 4, .head = 8}, none.get(), none.get(), none.get(), none.get());
  const DeviceVector<float> some(std::vector<float>(32, 1.0f));
  DeviceVector<float> dk(32), dv(32);
  // Without queries the gradients of keys and values are zero.
  AttentionGradient<float>({.matrices = 1, .rows = 0, .columns = 4, .head = 8}, none.get(), some.get(), some.get(),
                           none.get(), none.get(), dk.get(), dv.get());
  EXPECT_EQ(dk.Values(), std::vector<float>(32, 0.0f));
  EXPECT_EQ(dv.Values(), std::vector<float>(32, 0.0f));
}

TEST(Attention, LargeScoresDoNotOverflow) {
  const std::vector<float> q = {100.0f, 0.0f};
  const std::vector<float> k = {100.0f, 0.0f, 99.0f, 0.0f};
  const std::vector<float> v = {1.0f, 2.0f, 3.0f, 4.0f};
  const DeviceVector<float> q_there(q), k_there(k), v_there(v);
  DeviceVector<float> out(2);
  Attention<float>({.matrices = 1, .rows = 1, .columns = 2, .head = 2}, q_there.get(), k_there.get(), v_there.get(),
                   out.get());
  EXPECT_EQ(out.Values(), (std::vector<float>{1.0f, 2.0f}));
}

}  // namespace
}  // namespace cleave::runtime
