// Private to tools/data: a line of a file as a conversation, whatever of the known forms it has.
//
//   {"messages": [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "4"}]}
//   {"conversations": [{"from": "human", "value": "2 + 2?"}, {"from": "gpt", "value": "4"}]}
//   {"prompt": "2 + 2?", "completion": "4"}
//   {"instruction": "Add.", "input": "2 + 2", "output": "4"}
//
// Two answers to the same, of which one was preferred, are two conversations that begin alike:
//
//   {"prompt": "2 + 2?", "chosen": "4", "rejected": "5"}
//   {"prompt": [{"role": "user", "content": "2 + 2?"}], "chosen": [{"role": "assistant", …}], "rejected": […]}
//   {"chosen": [{"role": "user", …}, {"role": "assistant", …}], "rejected": […]}
#ifndef CLEAVE_TOOLS_DATA_CONVERSATION_H_
#define CLEAVE_TOOLS_DATA_CONVERSATION_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/chat_template/chat_template.h"
#include "runtime/chat_template/value.h"
#include "runtime/error/error.h"

namespace cleave::tools {

struct Message {
  std::string role;        // "system", "developer", "user", "assistant" or "tool".
  runtime::Value value;    // As a template reads it. Its texts have the mark MarkOf.
  bool has_words = false;  // Its content is a text with more than white space.
};

struct Conversation {
  std::vector<Message> messages;
  std::map<std::string, runtime::Value> variables;  // Others that a template reads: "tools".
  size_t given = 0;                                 // Of the first so many messages nothing is learned.
};

struct ConversationPair {
  Conversation chosen, rejected;
};

// The mark of the texts of a message; that of other variables is negative.
inline int32_t MarkOf(size_t message) { return static_cast<int32_t>(message) + 1; }

// `chat_template`: what it does not read is no key beside `messages` or of a message. `ignored`: keys that are passed
// over. The Error is the end of a sentence that begins with the line: "has no `content` in message 2".
runtime::Result<Conversation> ReadConversation(const std::string& line, const runtime::ChatTemplate& chat_template,
                                               const std::set<std::string>& ignored);

// The same of two answers. Without `prompt` it is the messages with which both begin.
runtime::Result<ConversationPair> ReadPair(const std::string& line, const runtime::ChatTemplate& chat_template,
                                           const std::set<std::string>& ignored);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DATA_CONVERSATION_H_
