// Private to runtime/generate: the texts that are continued, as tokens.
#ifndef CLEAVE_RUNTIME_GENERATE_SEQUENCES_H_
#define CLEAVE_RUNTIME_GENERATE_SEQUENCES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/sampling/sampling.h"

namespace cleave::runtime {

struct Sequence {
  std::vector<int32_t> tokens;  // The prompt, and then what was drawn.
  int64_t prompt = 0;           // How many of them are the prompt.
  int64_t most = 0;             // How many there may be.
  bool has_ended = false;
  // On rank 0, which draws.
  Sampling sampling;
  uint64_t seed = 0;
  int64_t number = 0;  // Of those with this seed.

  int64_t size() const { return static_cast<int64_t>(tokens.size()); }
  bool IsDone() const { return has_ended || size() >= most; }
  // Whether the logits at this place are those of its next token.
  bool EndsAt(int64_t place) const { return !IsDone() && size() == place + 1; }
};
using Sequences = std::vector<Sequence>;

// "3 17 28\n4 1\n" and back: how rank 0 tells the others what it knows.
using NumberLists = std::vector<std::vector<int32_t>>;
std::string ListsText(const NumberLists& lists);
NumberLists ListsOf(const std::string& text);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_GENERATE_SEQUENCES_H_
