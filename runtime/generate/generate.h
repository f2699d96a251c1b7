// Continuing texts with a language model: the loop of a program that generates.
//
// The program computes one step of the model (ir/transforms/decode): the logits of the sequence in each of its slots at
// one place, or at some that follow each other, from its tokens there and from what it remembers of the places before.
// While a sequence is in its prompt, that says which token comes next, and then one is drawn. A sequence that is done
// makes room for the next one. Rank 0 reads what is continued, draws and prints; the others learn the tokens from it.
//
// What is continued are the prompts that flags name, the turns of a conversation at the terminal, or requests, one a
// line (docs/inference.md).
#ifndef CLEAVE_RUNTIME_GENERATE_GENERATE_H_
#define CLEAVE_RUNTIME_GENERATE_GENERATE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/comm/comm.h"
#include "runtime/data/data.h"
#include "runtime/error/error.h"
#include "runtime/kernels/observer.h"
#include "runtime/sampling/sampling.h"
#include "runtime/trace/trace.h"
#include "runtime/train/generation.h"

namespace cleave::runtime {

// What the flags of a program that generates say.
struct GenerationOptions {
  std::vector<std::string> prompts;  // Texts, in order.
  int64_t samples = 1;               // Of each prompt.
  std::optional<int64_t> length;     // New tokens; nullopt: as many as the model has places for.
  Sampling sampling;
  std::vector<std::string> ends;   // Names or texts of the tokens that end a sequence.
  std::vector<std::string> stops;  // Texts that end it.
  std::string tokenizer;           // Replaces the path that the program knows; empty: it does not.
  bool chats = false;              // At the terminal.
  std::string system;              // The first message of a conversation at the terminal; empty: none.
  bool drops_oldest = false;       // Turns of a conversation for which there are too few places.
  std::string chat_file;           // Requests; "-": standard input.
};

// Reads these flags and the files that they name. An Error has exit code 2, or 3 for a file.
Result<GenerationOptions> ParseGeneration(const std::vector<Flag>& flags);

// For TrainingSettings::generation. Of the record, rank 0 has the numbers of tokens.
Result<GenerationRecord> Generate(const GenerateRequest& request);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_GENERATE_GENERATE_H_
