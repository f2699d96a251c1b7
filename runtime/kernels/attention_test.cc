#include "runtime/kernels/attention.h"

#include <algorithm>
#include <random>
#include <tuple>
#include <vector>

#include "runtime/kernels/attention_testing.h"

namespace cleave::runtime {
namespace {

constexpr double kFloatError = 1e-5;
constexpr double kBFloat16Error = 2e-2;  // The weights and the stored results have 8 bits.
constexpr double kFloat16Error = 3e-3;   // 11.

void CheckAll(const AttentionShape& shape, Lying lying, const Ranges& ranges = {}) {
  // The gradients are differences, also of results: what is kept of these is larger, and so is what rounding takes.
  const double more = shape.dropout.rate > 0 ? 4.0 : 1.0;
  CheckAttention<float>(shape, lying, more * kFloatError, ranges);
  CheckAttention<BFloat16>(shape, lying, more * kBFloat16Error, ranges);
  CheckAttention<Float16>(shape, lying, more * kFloat16Error, ranges);
}

// Rows, columns, head: less than a tile, exactly one tile, more than one; heads that are not a multiple of a vector.
class Attention_ : public testing::TestWithParam<std::tuple<int64_t, int64_t, int64_t>> {};

TEST_P(Attention_, IsWhatItMeans) {
  const auto [rows, columns, head] = GetParam();
  AttentionShape shape = {.batch = 2, .rows = rows, .columns = columns, .head = head, .scale = 0.3f};
  for (const bool causal : {false, true}) {
    shape.causal = causal;
    // The queries are those of a rank that holds the last rows.
    shape.first_row = causal ? std::max<int64_t>(0, columns - rows) : 0;
    CheckAll(shape, Lying::kHeadsOutside);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Attention_,
                         testing::Values(std::tuple(0, 3, 4), std::tuple(3, 0, 4), std::tuple(2, 2, 0),
                                         std::tuple(1, 1, 1), std::tuple(5, 7, 3), std::tuple(64, 64, 32),
                                         std::tuple(70, 33, 64), std::tuple(33, 130, 40), std::tuple(40, 70, 128),
                                         std::tuple(70, 9, 200)));

TEST(Attention, HeadsOfValuesHaveTheirOwnSize) {
  const AttentionShape shape = {.heads = 4, .key_heads = 2, .rows = 9, .columns = 35, .scale = 0.4f, .causal = true};
  AttentionShape narrow = shape, wide = shape;
  std::tie(narrow.head, narrow.value_head) = std::pair(24, 16);
  std::tie(wide.head, wide.value_head) = std::pair(5, 40);
  CheckAll(narrow, Lying::kHeadsInside);
  CheckAll(wide, Lying::kApart);
}

TEST(Attention, HeadsSeeTheirKeyHeadWhereverTheyLie) {
  for (const Lying lying : kLyings) {
    for (const int64_t key_heads : {1, 2, 4}) {
      CheckAll({.batch = 2,
                .heads = 4,
                .key_heads = key_heads,
                .rows = 9,
                .columns = 35,
                .head = 16,
                .scale = 0.5f,
                .causal = key_heads == 2,
                .first_row = 20},
               lying);
    }
  }
}

// As in generation; the last case takes its keys in two groups.
TEST(Attention, FewQueriesOfManyKeys) {
  AttentionShape shape = {.batch = 2, .heads = 4, .key_heads = 2, .rows = 1, .columns = 70, .head = 24, .scale = 0.4f};
  CheckAll(shape, Lying::kHeadsOutside);
  shape.cap = 3.0f;
  CheckAll(shape, Lying::kHeadsInside);
  shape.rows = 3;
  shape.columns = 1100;
  shape.causal = true;
  shape.first_row = 1090;
  CheckAll(shape, Lying::kHeadsOutside);
}

// The piece of `shape` of a larger tensor of weights, of which some are dropped.
AttentionDropout DropoutOf(const AttentionShape& shape, float rate, uint64_t step) {
  return {.rate = rate,
          .stream = {5, "h1.attn.dropout", step},
          .heads = shape.heads + 3,
          .rows = shape.rows + 40,
          .columns = shape.columns + 9,
          .first_batch = 2,
          .first_head = 1,
          .first_row = 33,
          .first_column = 7};
}

// Of a piece of more queries and keys.
AttentionBias BiasFor(const AttentionShape& shape) {
  return {.distances = shape.rows + shape.columns + 7, .first = shape.rows + 2};
}

TEST(Attention, ShapesOfAllKinds) {
  std::mt19937 random(7);
  const auto one_of = [&](const std::vector<int64_t>& values) { return values[random() % values.size()]; };
  for (int i = 0; i < 16; ++i) {
    const int64_t key_heads = one_of({1, 2, 3});
    AttentionShape shape = {.batch = one_of({0, 1, 2}),
                            .heads = key_heads * one_of({1, 2}),
                            .key_heads = key_heads,
                            .rows = one_of({0, 1, 17, 33, 65}),
                            .columns = one_of({0, 1, 15, 32, 67}),
                            .head = one_of({1, 8, 24, 33}),
                            .scale = i % 5 == 0 ? -0.4f : 0.3f,
                            .causal = random() % 2 == 0};
    shape.first_row = one_of({0, 5, 80, -1, -20, -70});
    if (shape.causal) shape.window = one_of({0, 1, 3, 40});
    if (i % 2 == 0) shape.cap = i % 4 == 0 ? 0.2f : 3.0f;
    // Where a query sees one key, the gradient of the bias is a sum of what rounding leaves.
    if (i % 4 == 1 && shape.window != 1) shape.bias = BiasFor(shape);
    if (i % 3 != 1) shape.dropout = DropoutOf(shape, 0.3f, 4);
    CheckAll(shape, kLyings[random() % 4], i % 3 == 0 ? Ranges::RandomOf(shape) : Ranges());
  }
}

TEST(Attention, PartsOfTheKeysAddUp) {
  AttentionShape shape = {
      .batch = 1, .heads = 4, .key_heads = 2, .rows = 40, .columns = 75, .head = 16, .scale = 0.5f, .causal = true};
  // First the first queries see no key at all; they always see none of the last part.
  for (const int64_t first_row : {-7, 0, 35}) {
    shape.first_row = first_row;
    CheckParts<float>(shape, Lying::kHeadsInside, {33, 33, 64, 75}, kFloatError);
    CheckParts<BFloat16>(shape, Lying::kPacked, {33, 33, 64, 75}, kBFloat16Error);
  }
  shape.window = 9;
  shape.cap = 0.5f;
  CheckParts<float>(shape, Lying::kHeadsInside, {33, 33, 64, 75}, kFloatError, Ranges::RandomOf(shape));
  shape.causal = false;
  shape.window = 0;
  shape.dropout = DropoutOf(shape, 0.5f, 1);
  shape.cap = 0;
  shape.bias = BiasFor(shape);
  CheckParts<float>(shape, Lying::kApart, {33, 33, 64, 75}, 4 * kFloatError);
  CheckParts<Float16>(shape, Lying::kHeadsInside, {40, 75}, kFloat16Error);
  CheckParts<BFloat16>(shape, Lying::kPacked, {33, 33, 64, 75}, kBFloat16Error, Ranges::RandomOf(shape));
}

TEST(Attention, NothingIsDroppedInTesting) {
  AttentionShape shape = {.batch = 1, .heads = 2, .key_heads = 2, .rows = 9, .columns = 9, .head = 8};
  const auto result_of = [&] {
    AttentionTensors<float> tensors(shape, Lying::kHeadsInside, AttentionValues<float>::RandomOf(shape));
    tensors.Forward();
    return tensors.out();
  };
  const std::vector<float> whole = result_of();
  shape.dropout = DropoutOf(shape, 0.9f, 0);
  EXPECT_EQ(result_of(), whole);
  shape.dropout.stream.step = 1;
  EXPECT_NE(result_of(), whole);
}

// Every choice of results: bit by bit what all together are.
// A library computes all gradients or none, so these may come from kernels that sum in another order.
template <typename T>
void CheckNullResults(double tolerance) {
  const AttentionShape shape = {
      .batch = 1, .heads = 2, .key_heads = 1, .rows = 35, .columns = 20, .head = 8, .scale = 0.5f, .causal = true};
  AttentionTensors<T> tensors(shape, Lying::kPacked, AttentionValues<T>::RandomOf(shape));
  tensors.Forward();
  EXPECT_EQ(Wide(tensors.ForwardWithoutLogsumexp()), Wide(tensors.out()));
  const auto all = tensors.AllGradients();
  for (unsigned choice = 0; choice < 8; ++choice) {
    const bool dq = (choice & 1u) != 0, dk = (choice & 2u) != 0, dv = (choice & 4u) != 0;
    const auto some = tensors.AllGradients({dq, dk, dv});
    EXPECT_TRUE(!dq || RelativeError(Wide(some.dq), Wide(all.dq)) <= tolerance) << choice;
    EXPECT_TRUE(!dk || RelativeError(Wide(some.dk), Wide(all.dk)) <= tolerance) << choice;
    EXPECT_TRUE(!dv || RelativeError(Wide(some.dv), Wide(all.dv)) <= tolerance) << choice;
  }
}

TEST(Attention, ResultsThatAreNullChangeNoOthers) {
  CheckNullResults<float>(0.0);
  CheckNullResults<BFloat16>(kBFloat16Error);
  CheckNullResults<Float16>(kFloat16Error);
}

// q, k and v, and their gradients, in one tensor [rows, heads, 3, head] each.
TEST(Attention, ReadsAndWritesPartsOfOneTensor) {
  constexpr int64_t kRows = 19, kHeads = 2, kHead = 8;
  const AttentionStrides packed = {.batch = kRows * kHeads * 3 * kHead, .head = 3 * kHead, .row = kHeads * 3 * kHead};
  const AttentionStrides alone = {.batch = kRows * kHeads * kHead, .head = kHead, .row = kHeads * kHead};
  const AttentionShape shape = {.batch = 1,
                                .heads = kHeads,
                                .key_heads = kHeads,
                                .rows = kRows,
                                .columns = kRows,
                                .head = kHead,
                                .scale = 0.4f,
                                .causal = true,
                                .q = packed,
                                .k = packed,
                                .v = packed,
                                .out = alone,
                                .dout = alone,
                                .dq = packed,
                                .dk = packed,
                                .dv = packed};
  const std::vector<float> numbers = Random<float>(packed.batch, 5), dout_numbers = Random<float>(alone.batch, 6);
  const DeviceVector<float> qkv(numbers), dout(dout_numbers);
  const DeviceVector<float> out(alone.batch), logsumexp(kHeads * kRows), dqkv(packed.batch);
  const float* const q = qkv.get();
  float* const dq = dqkv.get();
  Attention(shape, q, q + kHead, q + 2 * kHead, out.get(), logsumexp.get());
  AttentionGradient(shape, q, q + kHead, q + 2 * kHead, out.get(), logsumexp.get(), dout.get(), dq, dq + kHead,
                    dq + 2 * kHead);
  const auto part = [&](const std::vector<float>& all, int64_t number) {
    return Place::Of(Lying::kPacked, 1, kHeads, kRows, kHead, number).Take(all);
  };
  const Place out_place = Place::Of(Lying::kHeadsInside, 1, kHeads, kRows, kHead, 0);
  const AttentionReference reference(shape, AttentionValues<float>{part(numbers, 0), part(numbers, 1), part(numbers, 2),
                                                                   out_place.Take(dout_numbers)});
  EXPECT_LE(RelativeError(Wide(out_place.Take(out.Values())), reference.out), kFloatError);
  EXPECT_LE(RelativeError(Wide(part(dqkv.Values(), 0)), reference.dq), kFloatError);
  EXPECT_LE(RelativeError(Wide(part(dqkv.Values(), 1)), reference.dk), kFloatError);
  EXPECT_LE(RelativeError(Wide(part(dqkv.Values(), 2)), reference.dv), kFloatError);
}

TEST(Attention, LargeScoresDoNotOverflow) {
  const AttentionShape shape = {.rows = 1, .columns = 2, .head = 2};
  AttentionTensors<float> tensors(
      shape, Lying::kHeadsOutside,
      {{100.0f, 0.0f}, {100.0f, 0.0f, 99.0f, 0.0f}, {1.0f, 2.0f, 3.0f, 4.0f}, {1.0f, 1.0f}});
  tensors.Forward();
  EXPECT_EQ(tensors.out(), (std::vector<float>{1.0f, 2.0f}));
  EXPECT_EQ(tensors.logsumexp(), std::vector<float>{10000.0f});
  EXPECT_LE(RelativeError(Wide(tensors.AllGradients().dv), {1.0, 1.0, 0.0, 0.0}), kFloatError);
}

}  // namespace
}  // namespace cleave::runtime
