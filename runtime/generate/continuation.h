// Private to runtime/generate: the loop over the steps of a program, which all ranks run together.
//
//   Continuation continuation(request);
//   if (!continuation.leads()) return continuation.Follow();
//   while (continuation.HasRoom() && …) continuation.Begin(sequence);
//   if (auto error = continuation.Step(symbols, take)) return error;
//   continuation.End();
//
// A step computes some places of the sequence in each slot, at other places in each, so that a sequence begins while
// others go on. Rank 0 has the sequences; the others learn from it which tokens stand at which places. Those that a
// sequence before has left in the memory of its slot are not computed again: places at which both have the same tokens
// from the beginning on.
#ifndef CLEAVE_RUNTIME_GENERATE_CONTINUATION_H_
#define CLEAVE_RUNTIME_GENERATE_CONTINUATION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device/staging.h"
#include "runtime/error/error.h"
#include "runtime/sampling/sampling.h"
#include "runtime/train/generation.h"

namespace cleave::runtime {

// While rank 0 waits for input the others hear of it so often: none stands still, and between these signs they sleep.
constexpr double kSecondsBetweenSigns = 0.1;

struct Sequence {
  std::vector<int32_t> tokens;  // The prompt, and then what was drawn.
  int64_t prompt = 0;           // How many of them are the prompt.
  int64_t most = 0;             // How many there may be.
  bool has_ended = false;
  Sampling sampling;
  uint64_t seed = 0;
  int64_t number = 0;  // Of those with this seed.

  int64_t size() const { return static_cast<int64_t>(tokens.size()); }
  bool IsDone() const { return has_ended || size() >= most; }
};

// Told of the token that was drawn last for the sequence in this slot. Returns whether it goes on.
using TakeToken = std::function<bool(size_t slot)>;

class Continuation {
 public:
  explicit Continuation(const GenerateRequest& request);

  // Whether this is rank 0, which says what is done; the others follow it.
  bool leads() const { return request_.comm.rank() == 0; }
  size_t slots() const { return slots_.size(); }
  int64_t symbols() const;  // That the model knows.

  // All of these on rank 0.

  bool HasRoom() const;  // For a further sequence.
  bool IsIdle() const;   // No slot has one.

  // Gives the sequence a slot, of those that are free the one that remembers most of it, and returns its number.
  // REQUIRES: HasRoom(); the sequence is not done, and stays where it is until it has left.
  size_t Begin(Sequence& sequence);

  // The sequence in this slot, which is done, leaves it.
  void Leave(size_t slot);

  // Computes the next places of all sequences, and draws the next token of those whose tokens all have been computed.
  // `tokens`: how many of the symbols are tokens. REQUIRES: none is done, and there is one.
  std::optional<Error> Step(int64_t tokens, const TakeToken& take);

  // Tells the others that it is still there, and at last that there is no more to do.
  void Wait();
  void End();

  // On the other ranks: until rank 0 says that there is no more to do.
  void Follow();

  const GenerationRecord& record() const { return record_; }  // On rank 0.

 private:
  struct Slot {
    Sequence* sequence = nullptr;     // Null: it is free.
    std::vector<int32_t> remembered;  // The tokens of the places that its memory has.
    int64_t left = 0;                 // When the last one left, as a number of the steps until then.
  };
  // The places that a step computes of a slot: as many as it has from `begin` on, of which those before `end` have
  // tokens.
  struct Window {
    int64_t begin = 0;
    int64_t end = 0;
    bool draws = false;
  };
  // What all ranks have to know of a step: [slots, places] each, and whether the logits are wanted.
  struct StepInputs {
    std::vector<int32_t> tokens, places;
    bool draws = false;
  };

  Window WindowOf(const Slot& slot) const;
  StepInputs InputsOf(const std::vector<Window>& windows) const;
  // What the first rank says to all.
  std::string Say(const std::string& message);
  void Compute(const StepInputs& inputs);
  std::optional<Error> Draw(const std::vector<Window>& windows, int64_t tokens, const TakeToken& take);

  const GenerateRequest& request_;
  Staging staging_;
  const int64_t places_;  // Of a step.
  std::vector<Slot> slots_;
  int64_t steps_ = 0;
  GenerationRecord record_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_GENERATE_CONTINUATION_H_
