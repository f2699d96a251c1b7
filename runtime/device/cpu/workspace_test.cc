#include "runtime/device/workspace.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace cleave::runtime {
namespace {

TEST(Workspace, CountsWhatIsHeldAndTheMostAtOnce) {
  const WorkspaceUse before = WorkspaceBytes();
  {
    const WorkspaceVector<float> a(1000);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data()) % 64, 0u);
    { const WorkspaceVector<float> b(500); }
    const WorkspaceVector<float> c(100);
    EXPECT_EQ(WorkspaceBytes().now - before.now, 4400);
  }
  EXPECT_EQ(WorkspaceBytes().now, before.now);
  EXPECT_EQ(WorkspaceBytes().peak, before.now + 6000);
}

TEST(Scratch, GrowsWithoutHoldingTheOldAndNeverShrinks) {
  const WorkspaceUse before = WorkspaceBytes();
  Scratch scratch;
  scratch.AtLeast(1 << 20);
  scratch.AtLeast(3 << 20);
  scratch.AtLeast(2 << 20);
  EXPECT_EQ(WorkspaceBytes().now - before.now, 3 << 20);
  EXPECT_EQ(WorkspaceBytes().peak, before.now + (3 << 20));
}

TEST(WorkspaceDeathTest, TooMuchEndsTheProgramWithNumbers) {
  EXPECT_EXIT(TakeWorkspace(int64_t{1} << 60), testing::ExitedWithCode(6),
              "a call needs 1152921504606846976 bytes beside the arena, the machine has [0-9]+ left");
}

}  // namespace
}  // namespace cleave::runtime
