// All orders of the steps of a program. For tests.
#ifndef CLEAVE_IR_PROGRAM_ORDER_TESTING_H_
#define CLEAVE_IR_PROGRAM_ORDER_TESTING_H_

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ir/program/fuse/fuse.h"
#include "ir/program/partition/rewrite.h"
#include "ir/program/program.h"

namespace cleave::ir {

inline std::vector<std::string> NamesOf(const Program& program) {
  std::vector<std::string> names;
  for (const Step& step : program.steps) names.push_back(step.name);
  return names;
}

// The program in all orders that its steps may have in front of the update.
class AllOrders {
 public:
  using Visit = std::function<void(const Program& ordered)>;
  AllOrders(const Program& program, Visit visit) : program_(program), visit_(std::move(visit)) {}

  // False where there are more than `most`, of which not all are visited.
  bool AreVisited(int most) && {
    left_ = most;
    Extend({}, std::vector<bool>(program_.steps.size(), false));
    return left_ >= 0;
  }

 private:
  void Extend(const std::vector<size_t>& order, const std::vector<bool>& taken) {
    const std::vector<Step>& steps = program_.steps;
    if (left_ < 0) return;
    if (order.size() == steps.size()) return VisitIn(order);
    for (size_t next = 0; next < steps.size(); ++next) {
      if (taken[next] || !MayFollow(next, taken)) continue;
      std::vector<size_t> longer = order;
      longer.push_back(next);
      std::vector<bool> with = taken;
      with[next] = true;
      Extend(longer, with);
      // Sources and steps of the update stay in order.
      if (IsSource(steps[next]) || steps[next].phase == Phase::kUpdate) return;
    }
  }

  bool MayFollow(size_t next, const std::vector<bool>& taken) const {
    const std::vector<Step>& steps = program_.steps;
    for (size_t other = 0; other < steps.size(); ++other) {
      if (taken[other] || other == next) continue;
      if (steps[other].phase < steps[next].phase) return false;
      for (const ValueId value : Writes(steps[other])) {
        const StepValues reads = Reads(steps[next]);
        if (std::find(reads.begin(), reads.end(), value) != reads.end()) return false;
      }
    }
    return true;
  }

  void VisitIn(const std::vector<size_t>& order) {
    if (--left_ < 0) return;
    Program program = program_;
    for (size_t i = 0; i < order.size(); ++i) program.steps[i] = program_.steps[order[i]];
    RenumberValues(program);
    visit_(program);
  }

  const Program& program_;
  const Visit visit_;
  int left_ = 0;
};

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_ORDER_TESTING_H_
