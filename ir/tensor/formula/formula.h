// An index formula as in einsum: which name indexes which dimension of which tensor.
//
//   ParseFormula("b i k, b k j -> b i j")     // Two inputs of three dimensions.
//   ParseFormula("(h d) n, 1 n -> h d n")     // A dimension made of two indexes, one of size 1 without an index.
//   ParseFormula("..n k -> ..n k")            // `..n`: any number of dimensions, to be replaced before use.
//   ParseLetters("bik,bkj->bij")              // The first formula in compact form.
#ifndef CLEAVE_IR_TENSOR_FORMULA_FORMULA_H_
#define CLEAVE_IR_TENSOR_FORMULA_FORMULA_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace cleave::ir {

struct Formula {
  using Dimension = std::vector<std::string>;  // Names, major first; none for a dimension of size 1.
  using Term = std::vector<Dimension>;         // Empty for a scalar.

  std::vector<Term> inputs;
  Term output;

  // "b i k, b k j -> b i j"; "()" for a scalar.
  std::string ToString() const;

  bool operator==(const Formula&) const = default;
};

// Terms are separated by commas, names by spaces; `->` stands before the term of the output, which is empty for a
// scalar. An InvalidArgument error says what is wrong in the words of a user.
absl::StatusOr<Formula> ParseFormula(absl::string_view text);

// The same, except that a text without a space between two names is in compact form: each letter of it is a name.
absl::StatusOr<Formula> ParseLetters(absl::string_view text);

// A text that ParseLetters reads back as `formula`.
std::string LettersText(const Formula& formula);

// How many times `name` stands in the term.
int CountOf(const Formula::Term& term, const std::string& name);

// Every name, in the order in which the names first stand in the formula, the inputs before the output.
std::vector<std::string> NamesOf(const Formula& formula);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TENSOR_FORMULA_FORMULA_H_
