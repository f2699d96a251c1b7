// The contribution of each use of a value to its gradient, and their sum. Private to ir/transforms/differentiate.
//
// In a manual model (ir/graph/manual) ranks contribute too. A value may be equal on ranks that compute its reader with
// different other values. It has one gradient, the sum of what these ranks compute, and that sum is an all_reduce.
// Contributions that are to be summed over the same ranks are added first.
//
// What passes of a loop contribute is added as soon as it is known: a weight that many steps share has one gradient
// that they add to, and not one for each step that waits for the last. Gradients of slices that lie beside each other
// are put together, so that they need no zeros around them.
#ifndef CLEAVE_IR_TRANSFORMS_DIFFERENTIATE_CONTRIBUTIONS_H_
#define CLEAVE_IR_TRANSFORMS_DIFFERENTIATE_CONTRIBUTIONS_H_

#include <cstdint>
#include <vector>

#include "base/strong_id/strong_id.h"
#include "ir/graph/manual/manual.h"
#include "ir/graph/ops/builder.h"

namespace cleave::ir {

class Contributions {
 public:
  // Adds ops to `builder`, which must outlive this object.
  explicit Contributions(GraphBuilder& builder) : builder_(builder) {}

  // `gradient` is the gradient of the loss by `value` as a whole.
  void AddWhole(OpId value, OpId gradient) { At(value).others.push_back({.gradient = gradient}); }

  // `gradient` is what `user` contributes through its input `input`.
  void Add(const Op& user, size_t input, OpId gradient);

  bool Has(OpId value) const {
    return of_value_.contains(value) && !(of_value_[value].others.empty() && of_value_[value].slices.empty());
  }

  // The gradient by the value of `op`. REQUIRES: Has(op.id).
  OpId Sum(const Op& op);

  // The gradient of an all_gather is the rank's part of its value's gradient. Where that gradient is still to be summed
  // over the same ranks, a reduce_scatter gives the part at once. Then this function adds the part to the input, the
  // whole gradient is not built, and it returns true.
  bool PassThroughGather(const Op& op);

 private:
  // `missing` are the axes over whose ranks it is still to be summed, `passes` those of its user.
  struct Contribution {
    OpId gradient;
    RankAxisSet missing = {};
    LoopPasses passes = {};
  };

  // What is known of a value's gradient: gradients of slices, with zeros around them, and others. No slices are told
  // apart in a manual model.
  struct Parts {
    std::vector<OpId> slices;
    std::vector<Contribution> others;
  };

  Parts& At(OpId value);
  // The contributions to `op`, those with the same missing axes added up, in the order of the first of each.
  std::vector<Contribution> Joined(const Op& op);
  OpId SumOverRanks(const Op& op, Contribution contribution);
  // The axes over which the value of each op of the growing graph varies; empty in a graph that is not manual.
  RankAxisSet Variance(OpId id);

  GraphBuilder& builder_;
  IdVector<OpId, Parts> of_value_;
  IdVector<OpId, RankAxisSet> variance_;
};

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TRANSFORMS_DIFFERENTIATE_CONTRIBUTIONS_H_
