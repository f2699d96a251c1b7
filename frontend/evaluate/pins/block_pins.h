// Attributes of functions, for every call, and of loops, for every pass: they are pins on tensors by their names
// inside.
//
// Those of a function are read when its arguments are bound (PinArguments). They pin its parameters when these are made
// (PinParameter), and all its ops when its body has run (PinOpsFrom). Those of a loop pin the tensors that its names
// stand for at the end of each pass (PinPass), and all ops of the pass.
#ifndef CLEAVE_FRONTEND_EVALUATE_PINS_BLOCK_PINS_H_
#define CLEAVE_FRONTEND_EVALUATE_PINS_BLOCK_PINS_H_

#include <string>
#include <vector>

#include "frontend/attributes/block.h"
#include "frontend/evaluate/pins/pin_recorder.h"
#include "frontend/functions/functions.h"
#include "frontend/scope/scope.h"
#include "frontend/value/value.h"

namespace cleave::frontend {

// The demands of those attributes that are allowed on a function or a loop; the others are left out.
std::vector<BlockDemand> ReadBlockAttributes(const std::vector<dsl::syntax::Attribute>& attributes,
                                             const IntEvaluator& evaluate, Reporter& reporter);

// Reads the attributes of `function` and pins the tensors that are passed in; `scope` has its parameters. The demands
// are given back for PinParameter and PinOpsFrom.
std::vector<BlockDemand> PinArguments(const Function& function, Scope& scope, const IntEvaluator& evaluate,
                                      PinRecorder& pins);

void PinParameter(const std::string& name, ir::OpId parameter, const std::vector<BlockDemand>& demands,
                  PinRecorder& pins);

// Pins the tensors that the names of `demands` stand for when a pass of a loop ends.
void PinPass(const std::vector<BlockDemand>& demands, Scope& scope, PinRecorder& pins);

// Pins what is demanded of all ops from `first` on. An op that has a priority from an attribute inside keeps it.
// `#[recompute]` leaves open what `handed_on` names: results of the function, variables that outlive the pass.
void PinOpsFrom(int first, const std::vector<Value>& handed_on, const std::vector<BlockDemand>& demands,
                PinRecorder& pins);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_PINS_BLOCK_PINS_H_
