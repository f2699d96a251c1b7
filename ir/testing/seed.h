// The seed of a randomised test.
#ifndef CLEAVE_IR_TESTING_SEED_H_
#define CLEAVE_IR_TESTING_SEED_H_

#include <cstdint>

namespace cleave::ir {

// CLEAVE_TEST_SEED from the environment, else a new one each run of the process. The first call prints it, so that a
// failure can be repeated.
uint64_t TestSeed();

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TESTING_SEED_H_
