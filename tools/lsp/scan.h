// What surrounds a place among the words of a text: what an editor needs while a line is not finished.
//
//   const std::vector<Word> words = dsl::WordsOf(text);
//   const Surroundings around = SurroundingsAt(words, text, offset);
//   around.calls.back().callee   // "dense", of `dense(x, |`
#ifndef CLEAVE_TOOLS_LSP_SCAN_H_
#define CLEAVE_TOOLS_LSP_SCAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "dsl/parse/words.h"

namespace cleave::tools {

using dsl::IsName;
using dsl::IsReserved;
using dsl::Word;
using dsl::WordKind;

// A call whose arguments a place is among.
struct OpenCall {
  std::string callee;
  int32_t name = 0;                // Where the callee begins.
  int argument = 0;                // The number of the argument.
  std::string argument_name = {};  // `units` of `units = |`.
};

struct Surroundings {
  bool in_comment = false;
  bool in_string = false;
  std::string string_before = {};    // Of a string up to the place, without its quote.
  std::string item = {};             // The word that begins the item: "model", "train"; empty outside of items.
  std::string setting = {};          // `optimizer` of `optimizer = |`, in a block of settings.
  bool begins_statement = false;     // Nothing stands between the place and the statement or item before.
  bool in_attribute = false;         // Within `#[ ]`.
  std::string before = {};           // The word or sign in front of the word at the place.
  std::string before_that = {};      // And in front of that.
  int32_t word_begin = 0;            // Of the word that ends at the place; the place itself where there is none.
  std::vector<OpenCall> calls = {};  // Outermost first.

  bool in_settings() const { return item == "train" || item == "parallel"; }
};

// REQUIRES: words are those of the text.
Surroundings SurroundingsAt(const std::vector<Word>& words, absl::string_view text, int32_t offset);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_LSP_SCAN_H_
