// A vocabulary, and the rules by which text becomes its tokens and tokens become text.
//
//   Result<std::unique_ptr<Tokenizer>> tokenizer = OpenTokenizerJson(path);  // Or OpenByteTokenizer.
//   Result<std::vector<int32_t>> prompt = tokenizer.value()->Encode("To be");
//
//   Detokenizer text(*tokenizer.value());
//   Result<std::string> bytes = text.Next(token);  // For each token as it comes.
//
// A Tokenizer does not change: all of it is thread-safe. Every mistake is an Error with exit code 3.
#ifndef CLEAVE_RUNTIME_TOKENIZER_TOKENIZER_H_
#define CLEAVE_RUNTIME_TOKENIZER_TOKENIZER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/error/error.h"

namespace cleave::runtime {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Tokens are in [0, size()). Not every number in it need be a token.
  virtual int64_t size() const = 0;

  // The tokens of a text, behind those that stand before every text. An Error where the text has something that no
  // token stands for.
  virtual Result<std::vector<int32_t>> Encode(const std::string& text) const = 0;

  // The bytes that a token adds to a text; they may end in the middle of a character. Some tokens have other bytes
  // where they are the first of a text. An Error where there is no such token.
  virtual Result<std::string> Bytes(int32_t token, bool is_first) const = 0;

  // Whether the token is a mark for the model, such as the end of a text, which has no bytes. False where there is no
  // such token.
  virtual bool IsSpecial(int32_t token) const = 0;

  // The token with this name, such as "</s>", as the vocabulary writes it.
  virtual std::optional<int32_t> Find(const std::string& name) const = 0;
};

// Turns tokens into text as they come.
class Detokenizer {
 public:
  // REQUIRES: the tokenizer outlives this.
  explicit Detokenizer(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  // The bytes of the next token.
  Result<std::string> Next(int32_t token);

 private:
  const Tokenizer& tokenizer_;
  bool is_first_ = true;
};

// The text of all these tokens.
Result<std::string> Decode(const Tokenizer& tokenizer, const std::vector<int32_t>& tokens);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TOKENIZER_TOKENIZER_H_
