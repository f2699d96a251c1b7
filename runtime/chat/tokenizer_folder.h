// A tokenizer as Hugging Face keeps it: tokenizer.json, and beside it what a chat needs.
#ifndef CLEAVE_RUNTIME_CHAT_TOKENIZER_FOLDER_H_
#define CLEAVE_RUNTIME_CHAT_TOKENIZER_FOLDER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/tokenizer/bpe/tokenizer_json.h"

namespace cleave::runtime {

struct TokenizerFolder {
  std::string path;  // As the user wrote it.
  std::string file;  // Its tokenizer.json.
  std::unique_ptr<TextTokenizer> tokenizer;
  std::map<std::string, std::string> special_tokens;  // "eos_token": "</s>", as tokenizer_config.json has them.
  std::vector<int32_t> ends;                          // `eos_token_id` of generation_config.json, if it has one.
  std::string template_path;                          // Of the chat template; empty: there is none.
  std::string template_text;                          // UTF-8, with "\n" alone at the ends of lines.

  // The special token that is called so, if the vocabulary has it.
  std::optional<int32_t> Special(const std::string& name) const;
};

// `path`: a folder, or a file tokenizer.json, to whose folder the other files belong. An Error with exit code 3 where
// something of it cannot be used. A folder without tokenizer_config.json or a chat template is one without these.
Result<TokenizerFolder> OpenTokenizerFolder(const std::string& path);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_CHAT_TOKENIZER_FOLDER_H_
