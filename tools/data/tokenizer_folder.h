// Private to tools/data: a tokenizer as Hugging Face keeps it (runtime/chat), and what tells it from others.
#ifndef CLEAVE_TOOLS_DATA_TOKENIZER_FOLDER_H_
#define CLEAVE_TOOLS_DATA_TOKENIZER_FOLDER_H_

#include <optional>
#include <string>

#include "base/diagnostic/diagnostic.h"
#include "runtime/chat/tokenizer_folder.h"

namespace cleave::tools {

struct TokenizerFolder : runtime::TokenizerFolder {
  std::string digest;  // Of tokenizer.json.
};

// `path`: as runtime::OpenTokenizerFolder takes it, whose errors are E0632.
std::optional<Diagnostic> OpenTokenizerFolder(const std::string& path, TokenizerFolder& folder);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DATA_TOKENIZER_FOLDER_H_
