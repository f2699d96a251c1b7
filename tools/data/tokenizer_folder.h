// Private to tools/data: a tokenizer as Hugging Face keeps it: tokenizer.json, and beside it what a chat needs.
#ifndef CLEAVE_TOOLS_DATA_TOKENIZER_FOLDER_H_
#define CLEAVE_TOOLS_DATA_TOKENIZER_FOLDER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"
#include "runtime/digest/digest.h"
#include "runtime/tokenizer/bpe/tokenizer_json.h"

namespace cleave::tools {

struct TokenizerFolder {
  std::string path;  // As the user wrote it.
  std::unique_ptr<runtime::TextTokenizer> tokenizer;
  std::map<std::string, std::string> special_tokens;  // "eos_token": "</s>", as tokenizer_config.json has them.
  std::string digest;                                 // Of tokenizer.json.
  std::string template_path;                          // Of the chat template; empty: there is none.
  std::string template_text;

  // The special token that is called so, if the vocabulary has it.
  std::optional<int32_t> Special(const std::string& name) const;
};

// `path`: a folder, or a file tokenizer.json, to whose folder the other files belong. E0632 where something of it
// cannot be used. A folder without tokenizer_config.json or a chat template is one without these.
std::optional<Diagnostic> OpenTokenizerFolder(const std::string& path, TokenizerFolder& folder);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DATA_TOKENIZER_FOLDER_H_
