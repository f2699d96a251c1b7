// Private to tools/data: the text of a conversation, and which of it the assistant says.
#ifndef CLEAVE_TOOLS_DATA_LEARNED_TEXT_H_
#define CLEAVE_TOOLS_DATA_LEARNED_TEXT_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/chat_template/chat_template.h"
#include "runtime/tokenizer/bpe/tokenizer_json.h"
#include "tools/data/conversation.h"

namespace cleave::tools {

struct LearnedText {
  runtime::MarkedText text;
  std::vector<runtime::TextRange> learned;  // In order; none is empty.
};

// Why a conversation has no such text.
struct RenderingProblem {
  std::optional<size_t> offset;  // In the template, where something of it is at fault.
  std::string message;
};

// What TemplateProblem is about, and all that a rendering needs besides the conversation.
struct RenderingSettings {
  const runtime::ChatTemplate* chat_template = nullptr;
  std::map<std::string, runtime::Value> variables;  // "bos_token" …
  std::vector<std::string> special_tokens;
  runtime::RenderOptions options;
  // Of all renderings of a conversation together, each of which may take as many as `options` allow.
  int64_t most_steps = 25 * runtime::kMostTemplateSteps;
};

// What stands in `{% generation %}` behind the messages that are given is learned. A template without: for each other
// message of the assistant what follows the text that asks for it (the messages before, with add_generation_prompt;
// white space at its end may be missing), up to where the text goes on with what depends on later messages: the end of
// the longest common beginning of the whole text and the text up to this message, behind the message's own bytes, which
// does not end within a special token. White space behind the last special token of it is the template's, and is not
// learned.
std::optional<RenderingProblem> RenderLearned(const Conversation& conversation, const RenderingSettings& settings,
                                              LearnedText& result);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DATA_LEARNED_TEXT_H_
