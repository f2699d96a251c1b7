#include "ir/program/order/steps.h"

#include <map>
#include <utility>

#include "ir/program/fuse/fuse.h"
#include "ir/program/partition/rewrite.h"

namespace cleave::ir {

void OrderSteps(const std::vector<int>& order, Program& program) {
  std::vector<Step> steps = std::exchange(program.steps, {});
  std::map<std::pair<Repeat, Phase>, std::vector<int>> segments;
  const auto add = [&](int step) {
    const Step& own = steps[static_cast<size_t>(step)];
    segments[{own.repeat, own.phase}].push_back(step);
  };
  for (size_t i = 0; i < steps.size(); ++i) {
    if (IsSource(steps[i])) add(static_cast<int>(i));
  }
  for (const int step : order) add(step);
  program.steps.reserve(steps.size());
  for (const auto& [key, segment] : segments) {
    for (const int step : segment) program.steps.push_back(std::move(steps[static_cast<size_t>(step)]));
  }
  RenumberValues(program);
}

}  // namespace cleave::ir
