#include "ir/program/fuse/host_copies.h"

#include <cstdlib>
#include <variant>

namespace cleave::ir {
namespace {

const HostCopy* CopyOf(const Program& program, const FusedStage& stage) {
  const auto* single = std::get_if<SingleStep>(&stage.action);
  return single == nullptr ? nullptr : std::get_if<HostCopy>(&program.steps[static_cast<size_t>(single->step)].action);
}

class Holder {
 public:
  Holder(const Program& program, const Fusion& fusion) : program_(program), fusion_(fusion) {}

  std::vector<CopyHold> Run() const {
    std::vector<CopyHold> holds;
    for (int stage = 0; stage < static_cast<int>(fusion_.stages.size()); ++stage) {
      const HostCopy* copy = CopyOf(program_, StageAt(stage));
      if (copy == nullptr) continue;
      const bool goes_out = copy->direction == HostCopy::Direction::kOut;
      const int other = Reach(stage, copy->direction, goes_out ? 1 : -1);
      holds.push_back({.direction = copy->direction,
                       .value = goes_out ? copy->input : copy->output,
                       .first = goes_out ? stage : other,
                       .last = goes_out ? other : stage});
    }
    return holds;
  }

 private:
  const FusedStage& StageAt(int i) const { return fusion_.stages[static_cast<size_t>(i)]; }

  // The last stage in front of the next copy in this direction and its reader that runs with `stage` and is near.
  int Reach(int stage, HostCopy::Direction direction, int distance) const {
    const int count = static_cast<int>(fusion_.stages.size());
    int reached = stage;
    while (std::abs(reached - stage) < kMostStagesBesideCopy) {
      const int next = reached + distance;
      if (next < 0 || next >= count || StageAt(next).phase != StageAt(stage).phase ||
          StageAt(next).repeat != StageAt(stage).repeat) {
        break;
      }
      const HostCopy* copy = CopyOf(program_, StageAt(next));
      if (copy != nullptr && copy->direction == direction) return reached == stage ? stage : reached - distance;
      reached = next;
    }
    return reached;
  }

  const Program& program_;
  const Fusion& fusion_;
};

}  // namespace

std::vector<CopyHold> HoldsOfCopies(const Program& program, const Fusion& fusion) {
  return Holder(program, fusion).Run();
}

}  // namespace cleave::ir
