// The steps of a program in another order. Private to ir/program/order.
#ifndef CLEAVE_IR_PROGRAM_ORDER_STEPS_H_
#define CLEAVE_IR_PROGRAM_ORDER_STEPS_H_

#include <vector>

#include "ir/program/program.h"

namespace cleave::ir {

// `order` names the steps that are no sources, each once, and a phase keeps its own. The sources of a phase stand in
// front.
void OrderSteps(const std::vector<int>& order, Program& program);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_ORDER_STEPS_H_
