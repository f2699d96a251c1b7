// C++ identifiers for the names of a model.
//
//   Identifiers identifiers;
//   identifiers.Unique("h1.weight") == "h1_weight"
//   identifiers.Unique("h1_weight") == "h1_weight_2"
//   identifiers.Unique("class") == "class_"
//
// Every identifier is in [A-Za-z0-9_], starts with a small letter, has no double or final underscore that C++ reserves
// (except the one that distinguishes it from a keyword), is at most kLongest characters long, and is given only once.
// Names that generated programs use for themselves are taken from the start.
#ifndef CLEAVE_CODEGEN_EMIT_IDENTIFIERS_H_
#define CLEAVE_CODEGEN_EMIT_IDENTIFIERS_H_

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace cleave::codegen {

class Identifiers {
 public:
  static constexpr size_t kLongest = 40;

  // An identifier like `wish` that was not given before.
  std::string Unique(absl::string_view wish);

  // Marks `identifier` as taken.
  void Reserve(absl::string_view identifier) { taken_.insert(std::string(identifier)); }

  // The same; returns false if it was taken before.
  bool Take(absl::string_view identifier) {
    const bool is_free = taken_.insert(std::string(identifier)).second;
    if (is_free) order_.emplace_back(identifier);
    return is_free;
  }

  // How many identifiers were given so far, and the return to a time when it were so many: for text that is written
  // on trial.
  size_t given() const { return order_.size(); }
  void ReturnTo(size_t given);

 private:
  std::set<std::string> taken_;
  std::vector<std::string> order_;  // Those that were given or taken, but for reserved ones.
};

// `name` with a small first letter and single underscores for everything outside [A-Za-z0-9]; "value" if nothing is
// left.
std::string IdentifierText(absl::string_view name);

// The name of a C++ type: "tiny_gpt" becomes "TinyGpt".
std::string TypeName(absl::string_view name);

// Whether the word is a keyword of C++, or a word that generated programs use for themselves.
bool IsReserved(absl::string_view identifier);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_EMIT_IDENTIFIERS_H_
