// Conversations written by the chat template of a tokenizer's folder (tokenizer_folder.h).
#ifndef CLEAVE_RUNTIME_CHAT_TEMPLATE_CHAT_H_
#define CLEAVE_RUNTIME_CHAT_TEMPLATE_CHAT_H_

#include <memory>
#include <string>

#include "runtime/chat/chat_format.h"
#include "runtime/error/error.h"

namespace cleave::runtime {

// `path`: a folder, or a tokenizer.json in it. An Error with exit code 3 where it has no chat template, or one that
// cannot be used.
//
// A text of a special token in a message is text, as in training data (docs/data.md). A template that writes the date
// gets today's.
Result<std::unique_ptr<ChatFormat>> OpenTemplateChat(const std::string& path);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_CHAT_TEMPLATE_CHAT_H_
