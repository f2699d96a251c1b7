// CLEAVE_LOG=reshard: the redistributions of a program with what they really moved in one training step.
#ifndef CLEAVE_RUNTIME_TRAIN_REDISTRIBUTIONS_H_
#define CLEAVE_RUNTIME_TRAIN_REDISTRIBUTIONS_H_

#include <cstdint>
#include <map>
#include <string>

#include "runtime/comm/comm.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {

// The file beside the program in which the compiler lists them (docs/formats/redistributions.md).
inline constexpr char kRedistributionsFile[] = "redistributions.txt";

// What an op communicated.
struct Measured {
  int64_t runs = 0;
  int64_t bytes = 0;  // As Traffic counts them.
};

// `list` with what was measured behind each operation, and the sum behind its total. Operations that did not run were
// measured 0 times.
std::string WithMeasured(const std::string& list, const std::map<std::string, Measured>& measured);

class RedistributionLog final : public OpListener {
 public:
  // Measures from now on when the environment asks for it. `folder`: of the program.
  RedistributionLog(const Comm& comm, Watch& watch, std::string folder);
  ~RedistributionLog() override;
  RedistributionLog(const RedistributionLog&) = delete;
  RedistributionLog& operator=(const RedistributionLog&) = delete;

  // Rank 0 prints the list once, and measuring ends. Does nothing if the environment did not ask for it.
  void Print();

 private:
  void EndOf(OpName op, int line) override;

  const Comm& comm_;
  Watch& watch_;
  const std::string folder_;
  bool on_ = false;
  int64_t bytes_ = 0;  // Of all kinds, when the current op began.
  std::map<std::string, Measured> measured_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TRAIN_REDISTRIBUTIONS_H_
