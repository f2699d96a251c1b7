// Limits of one expansion: far above the needs of any model, and low enough to be reached in seconds.
#ifndef CLEAVE_FRONTEND_EVALUATE_FRAME_BUDGET_H_
#define CLEAVE_FRONTEND_EVALUATE_FRAME_BUDGET_H_

#include <cstdint>

#include "frontend/evaluate/ops/op_writer.h"
#include "frontend/report/report.h"

namespace cleave::frontend {

class Budget {
 public:
  Budget(const OpWriter& ops, Reporter& reporter) : ops_(ops), reporter_(reporter) {}
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  // Counts steps: one for an expression or a pass of a loop, more where names are long, and one for each element of a
  // tuple that is made or taken from a name. Returns whether the model is too large, or enough of it was read after a
  // mistake; then everything stops. The first is reported once, at `span`.
  bool Exhausted(Span span, int64_t steps = 1);
  bool is_exhausted() const { return exhausted_; }

  // Called when an expression is entered and left.
  void Enter() { ++depth_; }
  void Leave() { --depth_; }

 private:
  const OpWriter& ops_;
  Reporter& reporter_;
  int64_t steps_ = 0;
  int64_t steps_after_mistake_ = 0;
  int depth_ = 0;
  bool exhausted_ = false;
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_FRAME_BUDGET_H_
