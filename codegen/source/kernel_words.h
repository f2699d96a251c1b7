// What a kernel, its parameters and its local constants are called: words for what is computed, whatever the tensors
// are that a launch is about.
//
//   mixed = attended + back.bias_add.f32                       kernel ToF32Add, parameters x and y, result add
//   h1.weight.momentum, h1.weight, their new values            kernel MomentumUpdate, parameters gradient, momentum and
//                                                              parameter
#ifndef CLEAVE_CODEGEN_SOURCE_KERNEL_WORDS_H_
#define CLEAVE_CODEGEN_SOURCE_KERNEL_WORDS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/source/emission.h"

namespace cleave::codegen {

class KernelWords {
 public:
  KernelWords(const Emission& emission, const ir::FusedLoop& loop);

  // "AdamwUpdate" for a loop that updates a parameter, otherwise the ops: "GeluGradientToF32", "MulAddAnd3More".
  std::string Kernel() const;

  // Whether the loop updates a parameter.
  bool IsUpdate() const { return !parameters_.empty(); }

  // A value that the loop reads or computes: "parameter", "gradient" and the name of the slot in an update; otherwise
  // the op that makes it in the loop ("gelu"), or the argument as which an op reads it ("x"). Several values may have
  // one word.
  std::string Of(ir::ValueId value) const;

 private:
  const ir::Op& OriginOf(ir::ValueId value) const { return emission_.graph.op(emission_.value(value).origin); }
  std::optional<ir::ValueId> StateUpdatedBy(ir::ValueId value) const;
  // `name` without the name of the parameter before it: "adam_v.root"; empty if it does not begin with one.
  std::string WithoutParameter(const std::string& name) const;

  const Emission& emission_;
  std::vector<const ir::Compute*> computes_;
  std::map<ir::ValueId, ir::ValueId> states_;  // What the loop updates: the state, by itself and by its new value.
  std::vector<std::string> parameters_;        // The names of the parameters among them.
  bool is_trained_ = false;                    // Whether an optimizer updates one of these.
  std::string optimizer_;                      // Of the parameters that are trained.
};

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_KERNEL_WORDS_H_
