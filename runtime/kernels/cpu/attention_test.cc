// What is special to attention on the CPU: pieces, groups of keys and padding. Its meaning on every device is tested by
// runtime/kernels/attention_test.cc.
#include "runtime/kernels/attention.h"

#include <omp.h>

#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "runtime/device/workspace.h"
#include "runtime/kernels/attention_testing.h"

namespace cleave::runtime {
namespace {

// The weights, and what is stored, have 8 bits; gradients of keys are sums over many queries that may cancel.
constexpr double kFloatError = 4e-5;
constexpr double kBFloat16Error = 3e-2;
constexpr double kFloat16Error = 2e-3;  // 11 bits, of what is stored only.

int64_t AnyOf(const std::vector<int64_t>& values, std::mt19937& random) { return values[random() % values.size()]; }

void CheckAll(const AttentionShape& shape, Lying lying, const Ranges& ranges = {}) {
  CheckAttention<float>(shape, lying, kFloatError, ranges);
  CheckAttention<BFloat16>(shape, lying, kBFloat16Error, ranges);
  CheckAttention<Float16>(shape, lying, kFloat16Error, ranges);
}

TEST(AttentionOnCpu, SizesOfAllKinds) {
  std::mt19937 random(19);
  const std::vector<int64_t> sizes = {0, 1, 2, 15, 16, 17, 33, 63, 64, 65, 100, 129};
  for (int i = 0; i < 60; ++i) {
    const int64_t key_heads = AnyOf({1, 2}, random);
    AttentionShape shape = {.batch = AnyOf({0, 1, 2}, random),
                            .heads = key_heads * AnyOf({1, 2, 3}, random),
                            .key_heads = key_heads,
                            .rows = AnyOf(sizes, random),
                            .columns = AnyOf(sizes, random),
                            .head = AnyOf({0, 1, 7, 16, 24, 32, 40, 64, 80, 256}, random),
                            .scale = i % 5 == 0 ? -0.4f : 0.3f,
                            .causal = random() % 2 == 0};
    shape.first_row = AnyOf({0, 5, 200, -1, -30, -100}, random);
    if (shape.causal) shape.window = AnyOf({0, 0, 1, 20, 64, 90}, random);
    if (i % 3 == 0) shape.cap = 0.5f;
    CheckAll(shape, kLyings[random() % 4], i % 4 == 0 ? Ranges::RandomOf(shape) : Ranges());
  }
}

TEST(AttentionOnCpu, SeveralGroupsOfKeys) {
  AttentionShape shape = {
      .batch = 1, .heads = 2, .key_heads = 1, .rows = 70, .columns = 2100, .head = 24, .scale = 0.5f};
  for (const Lying lying : {Lying::kHeadsOutside, Lying::kPacked}) {
    shape.causal = false;
    CheckAll(shape, lying);
    shape.causal = true;
    for (const int64_t first_row : {-30, 1000, 2030}) {
      shape.first_row = first_row;
      shape.window = 0;
      CheckAll(shape, lying);
      if (lying == Lying::kPacked) continue;
      CheckAttention<float>(shape, lying, kFloatError, Ranges::RandomOf(shape));
      shape.window = 1060;  // Of two groups.
      CheckAttention<BFloat16>(shape, lying, kBFloat16Error);
    }
    shape.window = 0;
  }
}

TEST(AttentionOnCpu, SeveralPiecesOfTheQueries) {
  for (const bool causal : {false, true}) {
    AttentionShape shape = {.rows = 700, .columns = 90, .head = 16, .scale = 0.5f, .causal = causal};
    CheckAll(shape, Lying::kHeadsOutside);
    // Pieces end within heads.
    shape = {.heads = 9, .key_heads = 3, .rows = 200, .columns = 90, .head = 16, .scale = 0.5f, .causal = causal};
    CheckAll(shape, Lying::kPacked);
    // Of several groups of keys, too, and with values of another size.
    shape = {.rows = 300, .columns = 1100, .head = 40, .value_head = 20, .scale = 0.5f, .causal = causal};
    CheckAll(shape, Lying::kHeadsInside);
  }
}

TEST(AttentionOnCpu, PartsOfTheKeysAddUp) {
  AttentionShape shape = {.heads = 2, .key_heads = 1, .rows = 300, .columns = 1500, .head = 16, .scale = 0.5f};
  for (const bool causal : {false, true}) {
    shape.causal = causal;
    shape.first_row = causal ? 1100 : 0;
    CheckParts<float>(shape, Lying::kHeadsInside, {500, 1000, 1500}, kFloatError);
    CheckParts<BFloat16>(shape, Lying::kHeadsInside, {500, 1000, 1500}, kBFloat16Error);
    CheckParts<Float16>(shape, Lying::kHeadsInside, {1100, 1500}, kFloat16Error);
  }
}

template <typename T>
std::vector<double> AllResults(const AttentionShape& shape, int threads) {
  omp_set_num_threads(threads);
  AttentionTensors<T> tensors(shape, Lying::kHeadsOutside, AttentionValues<T>::RandomOf(shape));
  tensors.Forward();
  const auto gradients = tensors.AllGradients();
  std::vector<double> all = Wide(tensors.logsumexp());
  for (const std::vector<T>& values : {tensors.out(), gradients.dq, gradients.dk, gradients.dv}) {
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

TEST(AttentionOnCpu, ThreadsDoNotChangeResults) {
  const AttentionShape shape = {
      .heads = 6, .key_heads = 3, .rows = 300, .columns = 130, .head = 8, .scale = 0.5f, .causal = true};
  EXPECT_EQ(AllResults<float>(shape, 1), AllResults<float>(shape, 3));
  EXPECT_EQ(AllResults<BFloat16>(shape, 1), AllResults<BFloat16>(shape, 3));
}

AttentionShape InOrder(AttentionShape shape) {
  const auto of_queries = [&](int64_t head) {
    return Place::Of(Lying::kHeadsOutside, shape.batch, shape.heads, shape.rows, head, 0).strides;
  };
  const auto of_keys = [&](int64_t head) {
    return Place::Of(Lying::kHeadsOutside, shape.batch, shape.key_heads, shape.columns, head, 0).strides;
  };
  shape.q = shape.dq = of_queries(shape.head);
  shape.k = shape.dk = of_keys(shape.head);
  shape.out = shape.dout = of_queries(shape.ValueHead());
  shape.v = shape.dv = of_keys(shape.ValueHead());
  return shape;
}

// Of the forward pass, then of all gradients. The compiler predicts these (ir/program/memory/workspace_test.cc). On a
// thread that has kept nothing yet.
template <typename T>
std::vector<int64_t> WorkspaceOf(const AttentionShape& sizes) {
  std::vector<int64_t> peaks;
  std::thread([&] {
    const AttentionShape shape = InOrder(sizes);
    AttentionValues<T> values = AttentionValues<T>::RandomOf(shape);
    const auto [q, k, v, dout, bias, ranges] = values;
    std::vector<T> out = dout, dq = q, dk = k, dv = v;
    std::vector<float> logsumexp(static_cast<size_t>(shape.batch * shape.heads * shape.rows));
    Attention(shape, q.data(), k.data(), v.data(), out.data(), logsumexp.data());
    peaks.push_back(WorkspaceBytes().peak);
    AttentionGradient(shape, q.data(), k.data(), v.data(), out.data(), logsumexp.data(), dout.data(), dq.data(),
                      dk.data(), dv.data());
    peaks.push_back(WorkspaceBytes().peak);
  }).join();
  return peaks;
}

TEST(AttentionOnCpu, Workspace) {
  omp_set_num_threads(1);
  const AttentionShape many = {.batch = 8, .rows = 100, .columns = 300, .head = 40};
  const AttentionShape one = {.rows = 700, .columns = 1200, .head = 16};
  const AttentionShape grouped = {.heads = 8, .key_heads = 2, .rows = 200, .columns = 1200, .head = 16};
  const AttentionShape narrow = {
      .heads = 8, .key_heads = 2, .rows = 200, .columns = 1200, .head = 40, .value_head = 20};
  EXPECT_EQ(WorkspaceOf<float>(many), (std::vector<int64_t>{242176, 413952}));
  EXPECT_EQ(WorkspaceOf<BFloat16>(many), (std::vector<int64_t>{205312, 385280}));
  EXPECT_EQ(WorkspaceOf<float>(one), (std::vector<int64_t>{429056, 736256}));
  EXPECT_EQ(WorkspaceOf<BFloat16>(one), (std::vector<int64_t>{457728, 872704}));
  EXPECT_EQ(WorkspaceOf<float>(grouped), (std::vector<int64_t>{419840, 1648640}));
  EXPECT_EQ(WorkspaceOf<BFloat16>(grouped), (std::vector<int64_t>{440320, 1777920}));
  EXPECT_EQ(WorkspaceOf<float>(narrow), (std::vector<int64_t>{649216, 3291392}));
  EXPECT_EQ(WorkspaceOf<BFloat16>(narrow), (std::vector<int64_t>{518144, 3164416}));
}

// A query that is not a number has no result and no gradient; the others have theirs.
TEST(AttentionOnCpu, WhatIsNotANumberStaysSo) {
  const AttentionShape shape = {.rows = 3, .columns = 3, .head = 2, .causal = true};
  const std::vector<float> ones(6, 1.0f);
  std::vector<float> q = ones;
  q[2] = std::numeric_limits<float>::quiet_NaN();
  AttentionTensors<float> tensors(shape, Lying::kHeadsOutside, {q, ones, ones, ones});
  tensors.Forward();
  const auto [dq, dk, dv, dbias] = tensors.AllGradients();
  for (size_t i = 0; i < 6; ++i) {
    const bool is_second = i / 2 == 1;
    EXPECT_EQ(std::isnan(tensors.out()[i]), is_second) << i;
    EXPECT_EQ(std::isnan(dq[i]), is_second) << i;
    // It sees the first two keys.
    EXPECT_TRUE(std::isnan(dk[i]) || i >= 4) << i;
    EXPECT_EQ(std::isnan(dv[i]), i < 4) << i;
  }
}

}  // namespace
}  // namespace cleave::runtime
