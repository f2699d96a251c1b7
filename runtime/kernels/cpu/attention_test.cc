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

// The weights, and what is stored, have 8 bits.
constexpr double kFloatError = 2e-5;
constexpr double kBFloat16Error = 2e-2;
constexpr double kFloat16Error = 2e-3;  // 11 bits, of what is stored only.

int64_t AnyOf(const std::vector<int64_t>& values, std::mt19937& random) { return values[random() % values.size()]; }

TEST(AttentionOnCpu, SizesOfAllKinds) {
  std::mt19937 random(19);
  const std::vector<int64_t> sizes = {0, 1, 2, 15, 16, 17, 33, 63, 64, 65, 100, 129};
  for (int i = 0; i < 60; ++i) {
    AttentionShape shape = {.matrices = AnyOf({0, 1, 2, 3}, random),
                            .rows = AnyOf(sizes, random),
                            .columns = AnyOf(sizes, random),
                            .head = AnyOf({0, 1, 7, 16, 24, 32, 40, 64, 80, 256}, random),
                            .scale = i % 5 == 0 ? -0.4f : 0.3f,
                            .causal = random() % 2 == 0};
    shape.first_row = AnyOf({0, 5, 200}, random);
    Check<float>(shape, kFloatError);
    Check<BFloat16>(shape, kBFloat16Error);
    Check<Float16>(shape, kFloat16Error);
  }
}

TEST(AttentionOnCpu, SeveralGroupsOfKeys) {
  for (const bool causal : {false, true}) {
    const AttentionShape shape = {
        .matrices = 1, .rows = 70, .columns = 2100, .head = 24, .scale = 0.5f, .causal = causal, .first_row = 1000};
    Check<float>(shape, kFloatError);
    Check<BFloat16>(shape, kBFloat16Error);
    Check<Float16>(shape, kFloat16Error);
  }
}

TEST(AttentionOnCpu, SeveralPiecesOfAMatrix) {
  for (const bool causal : {false, true}) {
    const AttentionShape shape = {
        .matrices = 1, .rows = 700, .columns = 90, .head = 16, .scale = 0.5f, .causal = causal};
    Check<float>(shape, kFloatError);
    Check<BFloat16>(shape, kBFloat16Error);
    Check<Float16>(shape, kFloat16Error);
  }
}

template <typename T>
std::vector<float> AllResults(const AttentionShape& shape, int threads) {
  omp_set_num_threads(threads);
  const int64_t queries = shape.matrices * shape.rows * shape.head;
  const int64_t keys = shape.matrices * shape.columns * shape.head;
  const std::vector<T> q = Random<T>(queries, 1), k = Random<T>(keys, 2), v = Random<T>(keys, 3),
                       dout = Random<T>(queries, 4);
  std::vector<T> out(q.size()), dq(q.size()), dk(k.size()), dv(k.size());
  Attention(shape, q.data(), k.data(), v.data(), out.data());
  AttentionGradient(shape, q.data(), k.data(), v.data(), dout.data(), dq.data(), dk.data(), dv.data());
  std::vector<float> all;
  for (const std::vector<T>* values : {&out, &dq, &dk, &dv}) all.insert(all.end(), values->begin(), values->end());
  return all;
}

// The compiler predicts these (ir/program/memory/workspace_test.cc). On a thread that has kept nothing yet.
template <typename T>
std::vector<int64_t> WorkspaceOf(const AttentionShape& shape) {
  std::vector<int64_t> peaks;
  std::thread([&] {
    const std::vector<T> queries = Random<T>(shape.matrices * shape.rows * shape.head, 1);
    const std::vector<T> keys = Random<T>(shape.matrices * shape.columns * shape.head, 2);
    std::vector<T> out = queries, dk = keys, dv = keys;
    Attention(shape, queries.data(), keys.data(), keys.data(), out.data());
    peaks.push_back(WorkspaceBytes().peak);
    AttentionGradient(shape, queries.data(), keys.data(), keys.data(), queries.data(), out.data(), dk.data(),
                      dv.data());
    peaks.push_back(WorkspaceBytes().peak);
  }).join();
  return peaks;
}

TEST(AttentionOnCpu, Workspace) {
  const AttentionShape many = {.matrices = 8, .rows = 100, .columns = 300, .head = 40};
  const AttentionShape one = {.matrices = 1, .rows = 700, .columns = 1200, .head = 16};
  EXPECT_EQ(WorkspaceOf<float>(many), (std::vector<int64_t>{254976, 558592}));
  EXPECT_EQ(WorkspaceOf<BFloat16>(many), (std::vector<int64_t>{222208, 534016}));
  EXPECT_EQ(WorkspaceOf<float>(one), (std::vector<int64_t>{429056, 1208832}));
  EXPECT_EQ(WorkspaceOf<BFloat16>(one), (std::vector<int64_t>{457728, 1368576}));
}

TEST(AttentionOnCpu, ThreadsDoNotChangeResults) {
  const AttentionShape shape = {.matrices = 3, .rows = 600, .columns = 130, .head = 8, .scale = 0.5f, .causal = true};
  EXPECT_EQ(AllResults<float>(shape, 1), AllResults<float>(shape, 3));
  EXPECT_EQ(AllResults<BFloat16>(shape, 1), AllResults<BFloat16>(shape, 3));
}

// A query that is not a number has no result and no gradient; the others have theirs.
TEST(AttentionOnCpu, WhatIsNotANumberStaysSo) {
  const AttentionShape shape = {.matrices = 1, .rows = 3, .columns = 3, .head = 2, .causal = true};
  std::vector<float> q(6, 1.0f);
  q[2] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> ones(6, 1.0f);
  std::vector<float> out(6), dq(6), dk(6), dv(6);
  Attention(shape, q.data(), ones.data(), ones.data(), out.data());
  AttentionGradient(shape, q.data(), ones.data(), ones.data(), ones.data(), dq.data(), dk.data(), dv.data());
  for (size_t i = 0; i < 6; ++i) {
    const bool is_second = i / 2 == 1;
    EXPECT_EQ(std::isnan(out[i]), is_second) << i;
    EXPECT_EQ(std::isnan(dq[i]), is_second) << i;
  }
  EXPECT_TRUE(std::isnan(dk[0]));
  EXPECT_TRUE(std::isnan(dv[0]));
}

}  // namespace
}  // namespace cleave::runtime
