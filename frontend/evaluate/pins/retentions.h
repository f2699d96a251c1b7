// Collects what a model says of its values between the forward and the backward pass: `#[recompute]`, `#[keep]`
// and `#[offload]`.
//
// Each attribute reaches the ops of an expression, a call or a pass of a loop, so attributes that reach one op are
// nested. The innermost decides, which is the one that reaches fewest ops; two that reach the same ops must agree.
#ifndef CLEAVE_FRONTEND_EVALUATE_PINS_RETENTIONS_H_
#define CLEAVE_FRONTEND_EVALUATE_PINS_RETENTIONS_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "base/source/source.h"
#include "frontend/report/report.h"
#include "ir/graph/graph.h"
#include "ir/sharding/pins/pins.h"
#include "ir/transforms/vectorize/vectorize.h"

namespace cleave::frontend {

// One attribute, and the ops that it reaches. None of them is a source.
struct Retention {
  ir::Retention retention = ir::Retention::kKeep;
  Span span;
  std::vector<ir::OpId> ops;
  std::vector<ir::OpId> left_open = {};  // Reached too, but nothing is said of them.

  size_t reach() const { return ops.size() + left_open.size(); }
};

// The ops that `batched` has put in the place of a removed one and that are no sources. `graph` has them.
std::vector<ir::OpId> ComputedFor(ir::OpId removed, const ir::Vectorized& batched, const ir::Graph& graph);

class Retentions {
 public:
  void Record(Retention retention) { recorded_.push_back(std::move(retention)); }
  bool empty() const { return recorded_.empty(); }

  // As PinRecorder::MoveToBatched. `graph` has the new ops.
  void MoveToBatched(const std::vector<ir::Op>& removed, const ir::Vectorized& batched, const ir::Graph& graph);

  // What holds for each op, in program order. Reports attributes that contradict each other, each two of the text once,
  // and what lets the loss alone not be kept.
  std::vector<ir::RetentionPin> Resolve(const ir::Graph& graph, Reporter& reporter) const;

 private:
  std::vector<Retention> recorded_;
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_PINS_RETENTIONS_H_
