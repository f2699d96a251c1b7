// Regular expressions as files of tokenizers write them, matched as characters of Unicode.
//
//   Result<Regex> word = Regex::Compile("\\p{L}+");
//   if (!word.ok()) return word.error();
//   Result<std::vector<Regex::Match>> words = word.value().FindAll("to be");
//
// A Regex does not change: all of it is thread-safe. Messages are the ends of sentences that begin with what the
// expression belongs to; every Error has exit code 3.
#ifndef CLEAVE_RUNTIME_TOKENIZER_PCRE2_REGEX_H_
#define CLEAVE_RUNTIME_TOKENIZER_PCRE2_REGEX_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "runtime/error/error.h"

namespace cleave::runtime {

class Regex {
 public:
  // An Error where the expression is wrong, or has something that Oniguruma, for which such files are written, reads
  // otherwise. REQUIRES: it is UTF-8.
  static Result<Regex> Compile(const std::string& expression);

  // Matches these characters as they are.
  static Result<Regex> Literal(const std::string& text);

  struct Match {
    size_t begin;
    size_t end;
  };

  // All matches from left to right; none overlaps another, and none is empty. An Error where PCRE2 gives up, as it does
  // after some ten million steps of one match. REQUIRES: the text is UTF-8.
  Result<std::vector<Match>> FindAll(const std::string& text) const;

 private:
  // What PCRE2 makes of an expression.
  struct Compiled;

  explicit Regex(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}

  static Result<Regex> CompileAs(const std::string& expression, bool is_literal);

  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TOKENIZER_PCRE2_REGEX_H_
