#include "search/solve/propagate/trails.h"

namespace cleave::search {

Trails::Trails(const Assignment& assignment, const AxisGroup& group, const std::vector<ir::OpId>& pins)
    : followed_(assignment.facts().graph->ops.size()) {
  for (ir::OpId pin : pins) {
    if (!CutsBy(assignment, pin, group)) continue;
    followed_[pin] = Followed{.pin = pin, .neighbour = pin};
    found_.push_back(pin);
  }
  const IdVector<ir::OpId, uint8_t> carries = CarryingValues(assignment);
  Walk(assignment, group, carries, /*as_it_lies=*/true);
  Walk(assignment, group, carries, /*as_it_lies=*/false);
}

// Continues from all ops that were found, and from those that it finds.
void Trails::Walk(const Assignment& assignment, const AxisGroup& group, const IdVector<ir::OpId, uint8_t>& carries,
                  bool as_it_lies) {
  const GraphFacts& facts = assignment.facts();
  const auto visit = [&](ir::OpId from, ir::OpId to, ir::OpId value, const Read& read) {
    if (followed_[to].has_value() || !carries[value] || !CutsBy(assignment, to, group)) return;
    if (as_it_lies && !Agree(assignment.seen(value), assignment.wanted(read.reader, read.input), group)) return;
    followed_[to] = Followed{.pin = followed_[from]->pin, .neighbour = from};
    found_.push_back(to);
  };
  for (size_t next = 0; next < found_.size(); ++next) {
    const ir::OpId op = found_[next];
    const std::vector<ir::OpId>& inputs = facts.op(op).inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      visit(op, inputs[i], inputs[i], {.reader = op, .input = static_cast<int>(i)});
    }
    for (const Read& read : facts.reads[op]) {
      const bool is_forward = facts.is_set(read.reader) || facts.roles[read.reader] == Role::kData ||
                              facts.roles[read.reader] == Role::kCopy;
      if (is_forward) visit(op, read.reader, op, read);
    }
  }
}

}  // namespace cleave::search
