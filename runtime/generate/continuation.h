// Private to runtime/generate: the loop over the places of a batch, which all ranks run together.
//
//   Continuation continuation(request);
//   if (!continuation.leads()) return continuation.Follow();
//   if (auto error = continuation.Run(sequences, symbols, take)) return error;
//   continuation.End();
//
// The program computes the same places of all sequences of a batch. Those that a batch before has left in the memory of
// the program are not computed again: places at which its sequences have the same tokens from the beginning on.
#ifndef CLEAVE_RUNTIME_GENERATE_CONTINUATION_H_
#define CLEAVE_RUNTIME_GENERATE_CONTINUATION_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device/staging.h"
#include "runtime/error/error.h"
#include "runtime/generate/sequences.h"
#include "runtime/train/generation.h"

namespace cleave::runtime {

// While rank 0 waits for input the others hear of it so often: none stands still, and between these signs they sleep.
constexpr double kSecondsBetweenSigns = 0.1;

// Told of each token that was drawn, on rank 0: which sequence has it at its end. Returns whether the sequence goes on.
using TakeToken = std::function<bool(size_t sequence)>;

class Continuation {
 public:
  explicit Continuation(const GenerateRequest& request);

  // Whether this is rank 0, which says what is done; the others follow it.
  bool leads() const { return request_.comm.rank() == 0; }
  int64_t batch() const;
  int64_t symbols() const;  // That the model knows.

  // On rank 0: continues at most a batch of sequences until all are done. `tokens`: how many of the symbols are tokens.
  // An Error is one that all ranks have.
  std::optional<Error> Run(Sequences& some, int64_t tokens, const TakeToken& take);

  // On rank 0: tells the others that it is still there, and at last that there is no more to do.
  void Wait();
  void End();

  // On the other ranks: until rank 0 says that there is no more to do.
  std::optional<Error> Follow();

  // Whether an Error of all ranks has ended it.
  bool has_failed() const { return has_failed_; }
  const GenerationRecord& record() const { return record_; }

 private:
  // The places that a step computes: as many as it has from `begin` on, of which those before `end` have tokens.
  struct Window {
    int64_t begin = 0;
    int64_t end = 0;
  };

  std::optional<Error> Compute(Sequences& some, int64_t tokens, const TakeToken& take);
  int64_t KeptOf(const Sequences& some) const;
  void Fill(const Sequences& some, const Window& window);
  std::optional<Error> Draw(Sequences& some, const Window& window, int64_t tokens, const TakeToken& take);
  Result<std::vector<int32_t>> DrawnTokens(const Sequences& some, const Window& window, int64_t tokens);

  const GenerateRequest& request_;
  Staging staging_;
  const int64_t window_;    // The number of places that a step computes.
  NumberLists remembered_;  // The tokens at the places that the program remembers, of each row of the batch.
  bool has_failed_ = false;
  GenerationRecord record_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_GENERATE_CONTINUATION_H_
