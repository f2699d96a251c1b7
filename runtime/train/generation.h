// What a program that generates text does instead of training (runtime/generate), as the training loop knows it: a
// program that trains has none of it.
#ifndef CLEAVE_RUNTIME_TRAIN_GENERATION_H_
#define CLEAVE_RUNTIME_TRAIN_GENERATION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/comm.h"
#include "runtime/data/data.h"
#include "runtime/error/error.h"
#include "runtime/kernels/observer.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {

class Tokenizer;
class ChatFormat;

// A flag of the program that the training loop does not know: "--prompt", "To be".
struct Flag {
  std::string name;
  std::string value;
};

struct GenerateRequest;

struct GenerationRecord {
  int64_t prompt_tokens = 0;
  int64_t tokens = 0;  // That were drawn.
  // Of the steps from which no token was drawn: which tokens of prompts they were for, and the time that they took.
  // Those that the program remembers are not computed, and the last ones of prompts are in the other steps.
  int64_t computed_prompt_tokens = 0;
  double prompt_seconds = 0;
  double seconds = 0;  // The time of the steps from which tokens were drawn.
};

struct GenerationSettings {
  Result<GenerationRecord> (*run)(const GenerateRequest& request) = nullptr;  // Null: the program does not generate.
  // Opens the tokenizer at `path`. `symbols`: how many tokens the model knows.
  Result<std::unique_ptr<Tokenizer>> (*open_tokenizer)(const std::string& path, int64_t symbols) = nullptr;
  // Opens the chat template of the tokenizer at `path`; null where the tokenizer is none that has one.
  Result<std::unique_ptr<ChatFormat>> (*open_chat)(const std::string& path) = nullptr;
  std::string tokenizer;  // The path; empty where it needs none.
  int64_t places = 0;     // Of a sequence.
};

// The program as the loop of generation sees it. All ranks call it together.
struct GenerateRequest {
  const GenerationSettings& settings;
  const std::vector<Flag>& flags;
  Comm& comm;
  Watch& watch;
  Observer& observer;              // Hands over the logits, f32[batch, places, symbols], on rank 0.
  std::vector<ModelInput> inputs;  // The tokens, i32[batch, places], and the numbers of their places, i32[places].
  std::function<void()> step;      // Computes the step of these inputs.
  uint64_t seed = 1;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TRAIN_GENERATION_H_
