// The functions themselves are tested as attention is; here, which calls the library computes, and how.
#include "runtime/math/cudnn/sdpa.h"

#include <algorithm>
#include <string>
#include <thread>

#include "gtest/gtest.h"
#include "runtime/device/workspace.h"
#include "runtime/error/warning.h"
#include "runtime/kernels/attention_testing.h"

namespace cleave::runtime {
namespace {

// What a rank that computes attention and its gradients says.
template <typename T>
std::string SaidOf(const AttentionShape& shape, Lying lying, bool is_first = true, int times = 1) {
  testing::internal::CaptureStderr();
  std::thread rank([&] {
    SetPrintsWarnings(is_first);
    for (int i = 0; i < times; ++i) CheckAttention<T>(shape, lying, 2e-2);
  });
  rank.join();
  return testing::internal::GetCapturedStderr();
}

const AttentionShape kUsual = {
    .batch = 2, .heads = 4, .key_heads = 2, .rows = 9, .columns = 9, .head = 16, .scale = 0.5f, .causal = true};

TEST(Sdpa, ComputesTensorsWhereverTheyLie) {
  for (const Lying lying : {Lying::kHeadsOutside, Lying::kHeadsInside, Lying::kPacked}) {
    EXPECT_EQ(SaidOf<BFloat16>(kUsual, lying), "");
    EXPECT_EQ(SaidOf<Float16>(kUsual, lying), "");
  }
}

TEST(Sdpa, ComputesQueriesFromAnyRowOn) {
  AttentionShape shape = kUsual;
  shape.columns = 40;
  for (const int64_t first_row : {0, 7, 31, 39, 100}) {
    shape.first_row = first_row;
    EXPECT_EQ(SaidOf<BFloat16>(shape, Lying::kHeadsInside), "") << first_row;
  }
}

TEST(Sdpa, ComputesWindows) {
  AttentionShape shape = kUsual;
  shape.window = 4;
  EXPECT_EQ(SaidOf<BFloat16>(shape, Lying::kHeadsInside), "");
  shape.columns = 40;
  shape.first_row = 31;  // The last query sees the last keys.
  EXPECT_EQ(SaidOf<BFloat16>(shape, Lying::kHeadsInside), "");
  shape.first_row = 30;
  EXPECT_NE(SaidOf<BFloat16>(shape, Lying::kHeadsInside).find("the window is not beside the diagonal"),
            std::string::npos);
}

TEST(Sdpa, SaysOnceWhatItDoesNotCompute) {
  const std::string apart = SaidOf<BFloat16>(kUsual, Lying::kApart, true, 2);
  EXPECT_EQ(
      apart,
      "warning: cuDNN does not compute attention of 2 x 9 queries and 9 keys with 4 heads (2) of 16 elements: its "
      "tensors do not begin at multiples of 16 bytes; kernels of this program do, which take longer\n");
  AttentionShape shape = kUsual;
  shape.head = 12;
  EXPECT_NE(SaidOf<Float16>(shape, Lying::kHeadsInside).find("its rows do not begin at multiples"), std::string::npos);
  shape = kUsual;
  shape.first_row = -3;
  EXPECT_NE(SaidOf<BFloat16>(shape, Lying::kHeadsInside).find("some queries see no key"), std::string::npos);
  shape = kUsual;
  shape.cap = 2.0f;
  EXPECT_NE(SaidOf<BFloat16>(shape, Lying::kHeadsInside).find("scores are between caps"), std::string::npos);
  shape = kUsual;
  shape.dropout = {.rate = 0.1f, .stream = {1, "weights", 1}, .heads = 4, .rows = 9, .columns = 9};
  EXPECT_NE(SaidOf<BFloat16>(shape, Lying::kHeadsInside).find("weights are dropped"), std::string::npos);
  shape = kUsual;
  shape.bias = {.distances = 18, .first = 9};
  EXPECT_NE(SaidOf<Float16>(shape, Lying::kHeadsInside).find("a bias by distance"), std::string::npos);
  shape = kUsual;
  shape.rows = 1;
  EXPECT_NE(SaidOf<BFloat16>(shape, Lying::kHeadsInside).find("gradients of attention of 2 x 1 queries"),
            std::string::npos);
  EXPECT_EQ(SaidOf<BFloat16>(kUsual, Lying::kApart, /*is_first=*/false), "");
}

// However short rows are, a head takes workspace for 64 queries and 128 keys.
TEST(Sdpa, ComputesLargeGradientsInSlices) {
  constexpr int64_t kLargest = int64_t{288} << 20;
  for (const AttentionShape& shape :
       {AttentionShape{.batch = 3, .heads = 6400, .key_heads = 6400, .rows = 2, .columns = 2, .head = 8},
        AttentionShape{.batch = 1, .heads = 20000, .key_heads = 10000, .rows = 2, .columns = 2, .head = 8}}) {
    std::thread rank([&] {
      testing::internal::CaptureStderr();
      CheckAttention<BFloat16>(shape, Lying::kHeadsInside, 2e-2);
      EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
      const int64_t taken = WorkspaceBytes().peak;
      EXPECT_GT(taken, kLargest / 4);
      EXPECT_LE(taken, kLargest + (int64_t{64} << 20));
    });
    rank.join();
  }
}

}  // namespace
}  // namespace cleave::runtime
