// Private to runtime/generate: the text of a continuation, in pieces that can be shown.
//
//   TextStream text(tokenizer, {"\nUser:"});
//   Show(text.Add(token));                  // For each token as it comes, until text.has_stopped().
//   Show(text.Rest());
#ifndef CLEAVE_RUNTIME_GENERATE_TEXT_STREAM_H_
#define CLEAVE_RUNTIME_GENERATE_TEXT_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/tokenizer/tokenizer.h"

namespace cleave::runtime {

// A piece ends between two characters of UTF-8, and with nothing that may be the beginning of a stop word. Bytes that
// are no UTF-8 stay as they are.
class TextStream {
 public:
  // `stops`: the first of these texts that the continuation has ends it, and is not shown. None is empty. REQUIRES: the
  // tokenizer outlives this.
  TextStream(const Tokenizer& tokenizer, std::vector<std::string> stops) : text_(tokenizer), stops_(std::move(stops)) {}

  // The text of what is continued, which is none of the continuation. Called before Add, if at all: without it, the
  // continuation is a text of its own, of which some tokenizers leave out a space at its beginning.
  std::string Begin(const std::vector<int32_t>& prompt);

  // What can be shown now that this token has come. A token that the tokenizer does not have has no text.
  std::string Add(int32_t token);

  bool has_stopped() const { return has_stopped_; }

  // What was held back; nothing of a character whose last bytes have not come.
  std::string Rest();

 private:
  Detokenizer text_;
  const std::vector<std::string> stops_;
  std::string held_;
  bool has_stopped_ = false;
};

// Where the last character of the text begins if bytes of it are missing, else the size of the text.
size_t EndOfWholeCharacters(const std::string& text);

// The text with U+FFFD in place of bytes that are no UTF-8.
std::string ValidUtf8(std::string text);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_GENERATE_TEXT_STREAM_H_
