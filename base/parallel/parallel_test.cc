#include "base/parallel/parallel.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace cleave {
namespace {

TEST(InParallelTest, GivesResultsInTheOrderOfTheFunctions) {
  const auto [number, text, pointer] =
      InParallel([] { return 7; }, [] { return std::string("second"); }, [] { return std::make_unique<int>(3); });
  EXPECT_EQ(number, 7);
  EXPECT_EQ(text, "second");
  EXPECT_EQ(*pointer, 3);
}

// Each waits until all have begun.
TEST(InParallelTest, RunsAllAtTheSameTime) {
  std::mutex mutex;
  std::condition_variable changed;
  int begun = 0;
  const auto meet = [&] {
    std::unique_lock lock(mutex);
    ++begun;
    changed.notify_all();
    changed.wait(lock, [&] { return begun == 3; });
    return begun;
  };
  EXPECT_EQ(InParallel(meet, meet, meet), std::tuple(3, 3, 3));
}

TEST(InParallelTest, RunsOne) {
  EXPECT_EQ(std::get<0>(InParallel([] { return 1; })), 1);
}

TEST(MapInParallelTest, GivesResultsInTheOrderOfTheirNumbers) {
  const std::vector<std::unique_ptr<size_t>> squares =
      MapInParallel(1000, [](size_t i) { return std::make_unique<size_t>(i * i); });
  ASSERT_EQ(squares.size(), 1000);
  for (size_t i = 0; i < squares.size(); ++i) EXPECT_EQ(*squares[i], i * i);
  EXPECT_TRUE(MapInParallel(0, [](size_t i) { return i; }).empty());
}

}  // namespace
}  // namespace cleave
