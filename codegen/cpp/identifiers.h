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
#ifndef CLEAVE_CODEGEN_CPP_IDENTIFIERS_H_
#define CLEAVE_CODEGEN_CPP_IDENTIFIERS_H_

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace cleave::codegen {

class Identifiers {
 public:
  static constexpr size_t kLongest = 40;

  Identifiers() = default;
  // For a program that several stages of a pipeline run: identifiers are made of WithoutNumbers(wish).
  explicit Identifiers(bool without_numbers) : without_numbers_(without_numbers) {}

  // Others of the same kind, none of them taken.
  Identifiers Fresh() const { return Identifiers(without_numbers_); }

  // An identifier like `wish` that was not given before.
  std::string Unique(absl::string_view wish);

  // Marks `identifier` as taken.
  void Reserve(absl::string_view identifier) { taken_.insert(std::string(identifier)); }

  // The same; returns false if it was taken before.
  bool Take(absl::string_view identifier) { return taken_.insert(std::string(identifier)).second; }

  // An identifier like `wish` for what only one function knows.
  std::string Local(absl::string_view wish);

  // While a Replay exists, Local gives these names again, in their order: those of a function that is written once
  // more. Those that Local has given since `from` are Locals(from).
  size_t local_count() const { return locals_.size(); }
  std::vector<std::string> Locals(size_t from) const {
    return {locals_.begin() + static_cast<std::ptrdiff_t>(from), locals_.end()};
  }
  class Replay {
   public:
    Replay(Identifiers& identifiers, const std::vector<std::string>& locals) : identifiers_(identifiers) {
      identifiers_.replayed_ = &locals;
      identifiers_.next_ = 0;
    }
    Replay(const Replay&) = delete;
    Replay& operator=(const Replay&) = delete;
    ~Replay() { identifiers_.replayed_ = nullptr; }

   private:
    Identifiers& identifiers_;
  };

 private:
  bool without_numbers_ = false;
  std::set<std::string> taken_;
  std::vector<std::string> locals_;  // Those that Local has given.
  const std::vector<std::string>* replayed_ = nullptr;
  size_t next_ = 0;
};

// `name` with a small first letter and single underscores for everything outside [A-Za-z0-9]; "value" if nothing is
// left.
std::string IdentifierText(absl::string_view name);

// A name without numbers between its dots and behind the words there: "x.27.middle.add.stage_9" becomes
// "x.middle.add.stage".
std::string WithoutNumbers(absl::string_view name);

// The name of a C++ type: "tiny_gpt" becomes "TinyGpt".
std::string TypeName(absl::string_view name);

// Whether the word stands in the text, neither behind nor before a character of an identifier.
bool HasWord(absl::string_view text, absl::string_view word);

// Whether the word is a keyword of C++, or a word that generated programs use for themselves.
bool IsReserved(absl::string_view identifier);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_CPP_IDENTIFIERS_H_
