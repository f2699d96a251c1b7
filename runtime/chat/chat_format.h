// How a conversation becomes the tokens behind which a model answers.
//
// A ChatFormat does not change but for what it remembers of texts: one thread uses it.
#ifndef CLEAVE_RUNTIME_CHAT_CHAT_FORMAT_H_
#define CLEAVE_RUNTIME_CHAT_CHAT_FORMAT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/json/json.h"

namespace cleave::runtime {

struct ChatMessage {
  std::string role;  // "system", "user", "assistant" …
  std::string content;
};

class ChatFormat {
 public:
  virtual ~ChatFormat() = default;

  // The tokens of the conversation and of what asks for the assistant's next message. An Error where the template does
  // not take it, such as an assistant's message that follows none of a user.
  virtual Result<std::vector<int32_t>> Encode(const std::vector<ChatMessage>& messages) = 0;

  // The same of messages as `messages` of a JSON object has them, with all members that a template may read; its other
  // members are variables of the template. An Error is the end of a sentence that begins with what has them: "has no
  // `role` in message 2".
  virtual Result<std::vector<int32_t>> Encode(const Json& conversation) = 0;

  // Tokens that end an answer: those of generation_config.json, and eos_token of tokenizer_config.json.
  virtual std::vector<int32_t> Ends() const = 0;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_CHAT_CHAT_FORMAT_H_
