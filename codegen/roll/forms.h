// What differs between the passes of a loop, as a formula of the pass.
//
//   FormOf({{0, 64}, {1, 192}, {2, 320}}).At(2) == 320      // 64 + i * 128
//
// A form is a value: it can be evaluated, which `unroll.h` does for every pass, and it is written as an expression
// (codegen/source/layered_text.cc).
#ifndef CLEAVE_CODEGEN_ROLL_FORMS_H_
#define CLEAVE_CODEGEN_ROLL_FORMS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cleave::codegen {

// A number in each pass.
struct NumberForm {
  enum class Kind {
    kLine,   // base + i * stride, but for at most two exceptions.
    kTurns,  // base + i % 2 * stride.
    kTable,  // table[i - least].
  };
  Kind kind = Kind::kLine;
  int64_t base = 0;
  int64_t stride = 0;
  std::map<int64_t, int64_t> exceptions = {};  // By pass.
  std::vector<int64_t> table = {};
  // The first and the last pass that have the number. Passes between them that lack it do not read it; the form has
  // some number there.
  int64_t least = 0;
  int64_t greatest = 0;

  // REQUIRES: least <= i <= greatest.
  int64_t At(int64_t i) const;

  bool operator==(const NumberForm&) const = default;
};

// The shortest form with these numbers, by pass. REQUIRES: there are some.
NumberForm FormOf(const std::map<int64_t, int64_t>& numbers);

// A name in each pass, with its line of the model: `text` with '#' for the number of the pass plus `shift`, but for a
// few exceptions.
struct NameForm {
  std::string text;  // "x.#.norm1.layer_norm"
  int64_t shift = 0;
  std::map<int64_t, std::string> exceptions = {};  // By pass.
  int line = 0;
  std::map<int64_t, int> other_lines = {};  // By pass.

  std::string NameAt(int64_t i) const;
  int LineAt(int64_t i) const;

  bool operator==(const NameForm&) const = default;
};

struct NamedPass {
  std::string name;
  int line = 0;
  std::optional<int64_t> number;  // Of the pass to which the name itself belongs; it stands between two of its dots.
};

// nullopt where more than two names, or more than two lines, are exceptions.
std::optional<NameForm> FormOf(const std::map<int64_t, NamedPass>& names);

// A name without the number of its pass: "x." and "norm" of "x.3.norm" and 3; nothing where it does not have the
// number between its dots. Of several places where it stands, the first one behind `before` if that begins the name.
struct SplitName {
  std::string before;
  std::string behind;

  auto operator<=>(const SplitName&) const = default;
};
std::optional<SplitName> Split(const std::string& name, int64_t number, const std::string& before = "");

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_ROLL_FORMS_H_
