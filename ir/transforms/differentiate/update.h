// The optimizer's update of one parameter, as ops. Private to ir/transforms/differentiate.
#ifndef CLEAVE_IR_TRANSFORMS_DIFFERENTIATE_UPDATE_H_
#define CLEAVE_IR_TRANSFORMS_DIFFERENTIATE_UPDATE_H_

#include <optional>

#include "ir/graph/graph.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/training/training.h"

namespace cleave::ir {

// Appends updates to a graph, by the formulas of ir/graph/training/training.h. Scalars that depend only on the step are
// shared by all parameters.
class UpdateBuilder {
 public:
  UpdateBuilder(GraphBuilder& builder, const Optimizer& optimizer) : builder_(builder), optimizer_(optimizer) {}

  void Add(OpId parameter, OpId gradient);

 private:
  OpId LearningRate();
  OpId BiasCorrection(std::optional<OpId>& shared, double beta, const std::string& name);
  OpId Slot(OpId parameter, const std::string& name);
  OpId Scaled(OpId value, double factor, const std::string& name);
  // The new value of a slot: decay * slot + addend.
  OpId Decayed(OpId slot, double decay, OpId addend, const std::string& name);
  OpId MomentumDirection(OpId parameter, OpId gradient);
  OpId AdamDirection(OpId parameter, OpId gradient);
  void Update(OpId state, OpId value);

  GraphBuilder& builder_;
  const Optimizer& optimizer_;
  std::optional<OpId> learning_rate_;
  std::optional<OpId> correction_m_;
  std::optional<OpId> correction_v_;
  std::optional<OpId> epsilon_;
};

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TRANSFORMS_DIFFERENTIATE_UPDATE_H_
