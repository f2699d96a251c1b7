// Private to ir/proof/check: whether the stages of a pipeline can run as their schedule says.
#ifndef CLEAVE_IR_PROOF_CHECK_SCHEDULE_CHECK_H_
#define CLEAVE_IR_PROOF_CHECK_SCHEDULE_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ir/program/program.h"

namespace cleave::ir {

// Runs the sends and receives of all stages in the order of their schedule, each stage as far as it can go: a receive
// waits for its send, and a send waits until what it sent of the micro-batch before was taken. Says where stages wait
// for each other, take what is not meant for them, or have more micro-batches under way than they have memory for.
// Empty when nothing is wrong. O(micro-batches x sends).
std::vector<std::string> CheckSchedule(const Program& program);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROOF_CHECK_SCHEDULE_CHECK_H_
