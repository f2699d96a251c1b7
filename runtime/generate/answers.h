// Private to runtime/generate: texts that are continued, from tokens to what a user sees. On rank 0.
#ifndef CLEAVE_RUNTIME_GENERATE_ANSWERS_H_
#define CLEAVE_RUNTIME_GENERATE_ANSWERS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/chat/chat_format.h"
#include "runtime/error/error.h"
#include "runtime/generate/continuation.h"
#include "runtime/generate/generate.h"
#include "runtime/generate/text_stream.h"
#include "runtime/tokenizer/tokenizer.h"

namespace cleave::runtime {

// What all ways to say what is continued have in common.
struct Session {
  const GenerateRequest& request;
  const GenerationOptions& options;
  const Tokenizer& tokenizer;
  ChatFormat* chat;           // Null where the program has none, or needs none.
  std::vector<int32_t> ends;  // Tokens that end a text.
  Continuation& continuation;

  int64_t places() const { return request.settings.places; }
};

struct TextAnswer {
  TextAnswer(Sequence what, const Tokenizer& tokenizer, std::vector<std::string> stops)
      : sequence(std::move(what)), stream(tokenizer, std::move(stops)) {}

  Sequence sequence;
  TextStream stream;
  std::string text;           // Of the continuation.
  bool is_wanted = true;      // Still: else it ends with the next token.
  bool is_cut_short = false;  // No token and no stop word has ended it.
};

// Told of each further piece of an answer's text, which is never empty.
using ShowText = std::function<void(size_t answer, const std::string& piece)>;

// The sequence of a prompt, which has the flags' settings and goes on for at most `length` tokens, nullopt: to the end
// of the model's places. An Error with exit code 2 where it has no tokens, or no place is left.
Result<Sequence> SequenceOf(const Session& session, std::vector<int32_t> prompt, std::optional<int64_t> length);

// Continues at most a batch of them until all have ended.
std::optional<Error> ContinueTogether(Session& session, const std::vector<TextAnswer*>& answers, const ShowText& show);

// Continues any number: in batches of those whose prompts are about as long, as a batch takes as long as its longest.
// `done` is told of them in the order in which they are given.
std::optional<Error> ContinueAll(Session& session, std::vector<TextAnswer>& answers, const ShowText& show,
                                 const std::function<void(size_t answer)>& done);

// The conversation at the terminal, until standard input ends.
std::optional<Error> ChatAtTerminal(Session& session);

// The requests of --chat-file.
std::optional<Error> AnswerRequests(Session& session);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_GENERATE_ANSWERS_H_
