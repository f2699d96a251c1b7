// The words of a text by kind, for editors: what the lexer reads, without its types, also where the text has mistakes.
//
//   for (const Word& word : WordsOf(text)) Color(word.begin, word.end, word.kind);
#ifndef CLEAVE_DSL_PARSE_WORDS_H_
#define CLEAVE_DSL_PARSE_WORDS_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"

namespace cleave::dsl {

enum class WordKind { kName, kReserved, kNumber, kString, kComment, kSign };

// Bytes [begin, end) of the text. `.name` is one sign.
struct Word {
  WordKind kind = WordKind::kSign;
  int32_t begin = 0;
  int32_t end = 0;

  bool operator==(const Word&) const = default;
};

// In order. None of a text that cannot be read at all: bytes that are no UTF-8, or too many tokens.
std::vector<Word> WordsOf(absl::string_view text);

// `fn`, `let` and the other words that cannot be names.
bool IsReserved(absl::string_view word);

// Whether it can be a name of the language.
bool IsName(absl::string_view word);

}  // namespace cleave::dsl

#endif  // CLEAVE_DSL_PARSE_WORDS_H_
