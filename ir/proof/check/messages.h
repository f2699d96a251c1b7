// Whether the messages of a collective fit together. Private to ir/proof/check.
#ifndef CLEAVE_IR_PROOF_CHECK_MESSAGES_H_
#define CLEAVE_IR_PROOF_CHECK_MESSAGES_H_

#include <string>
#include <vector>

#include "ir/program/program.h"

namespace cleave::ir {

// Returns what is wrong. It is empty when every part that a rank sends is received by its partner, in the same order
// and with the same size, no rank waits for anything else, and the tensors have room for the parts. REQUIRES:
// collective.messages.
std::vector<std::string> FindMismatches(const Program& program, const Collective& collective);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROOF_CHECK_MESSAGES_H_
