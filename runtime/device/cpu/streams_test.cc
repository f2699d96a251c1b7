#include "runtime/device/streams.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "runtime/device/workspace.h"

namespace cleave::runtime {
namespace {

// A rank of its own, which leaves nothing to those of other tests.
template <typename Body>
void OnRank(const Body& body) {
  std::thread(body).join();
}

TEST(Streams, AThreadWorksInTheOrderInWhichItIsAsked) {
  OnRank([] {
    EXPECT_FALSE(CommunicatesOnThread());
    CommunicateOnThread();
    EXPECT_TRUE(CommunicatesOnThread());
    std::vector<int> done;
    std::vector<int64_t> numbers;
    for (int i = 0; i < 1000; ++i) {
      BeginCommunication();
      Communicate([&done, i] { done.push_back(i); });
      numbers.push_back(EndCommunication());
    }
    AwaitCommunication(numbers[500]);
    AwaitCommunication(numbers[3]);
    AwaitAllCommunication();
    ASSERT_EQ(done.size(), 1000u);
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(done[static_cast<size_t>(i)], i);
  });
}

TEST(Streams, WhatTheThreadTakesCountsForTheRank) {
  OnRank([] {
    CommunicateOnThread();
    const WorkspaceUse before = WorkspaceBytes();
    Scratch scratch;
    Communicate([&] { scratch.AtLeast(5 << 20); });
    AwaitAllCommunication();
    EXPECT_EQ(WorkspaceBytes().now - before.now, 5 << 20);
    EXPECT_GE(WorkspaceBytes().peak, before.now + (5 << 20));
  });
}

}  // namespace
}  // namespace cleave::runtime
