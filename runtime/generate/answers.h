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
  bool is_wanted = true;      // Still: else it ends before the next step.
  bool is_cut_short = false;  // No token and no stop word has ended it.
};

// The sequence of a prompt, which has the flags' settings and goes on for at most `length` tokens, nullopt: to the end
// of the model's places. An Error with exit code 2 where it has no tokens, or no place is left.
Result<Sequence> SequenceOf(const Session& session, std::vector<int32_t> prompt, std::optional<int64_t> length);

// Who asks for texts, and is told of them.
struct Asker {
  // The next answer that begins, which stays where it is until it is done; null where none is asked for now.
  std::function<TextAnswer*()> next;
  // Told of each further piece of an answer's text, which is never empty.
  std::function<void(const TextAnswer& answer, const std::string& piece)> show;
  std::function<void(TextAnswer& answer)> done;
};

// Continues texts until none is asked for: one that is done makes room for the next, while the others go on.
std::optional<Error> Continue(Session& session, const Asker& asker);

// Continues these. `done` is told of them in their order.
std::optional<Error> ContinueAll(Session& session, std::vector<TextAnswer>& answers,
                                 const std::function<void(const std::string& piece)>& show,
                                 const std::function<void(size_t answer)>& done);

// The conversation at the terminal, until standard input ends.
std::optional<Error> ChatAtTerminal(Session& session);

// The requests of --chat-file.
std::optional<Error> AnswerRequests(Session& session);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_GENERATE_ANSWERS_H_
