// A list of what is allowed, not of what is forbidden: both libraries know far more than tokenizers use.
#include "runtime/tokenizer/pcre2/dialect.h"

#include <cctype>
#include <string_view>

namespace cleave::runtime {
namespace {

class Translation {
 public:
  explicit Translation(const std::string& expression) : from_(expression) {}

  Result<std::string> Run() {
    while (at_ < from_.size()) {
      const bool known = is_in_class_ ? ClassMember() : Atom();
      if (known) continue;
      return Error{ExitCode::kInput,
                   Format("has the regular expression `%s`, of which `%s`, at byte %zu, is not supported",
                          from_.c_str(), part_.c_str(), at_)};
    }
    return to_;
  }

 private:
  bool StartsWith(const char* text) const {
    return from_.compare(at_, std::char_traits<char>::length(text), text) == 0;
  }

  bool Refuse(size_t bytes) {
    part_ = from_.substr(at_, bytes);
    return false;
  }

  void Copy(size_t bytes) {
    to_ += from_.substr(at_, bytes);
    at_ += bytes;
  }

  bool Atom() {
    switch (from_[at_]) {
      case '\\':
        return Escape();
      case '[':
        is_in_class_ = true;
        Copy(StartsWith("[^") ? 2 : 1);
        return true;
      case '(':
        return Group();
      case '}':
        // After {1,3}, a plus means "once or more" to one of them, and "possessively" to the other.
        if (StartsWith("}+")) return Refuse(2);
        break;
      case '{':
        // Up to three times, or these four characters.
        if (StartsWith("{,")) return Refuse(2);
        break;
      case '.':
      case '^':
      case '$':
        return Refuse(1);
      default:
        break;
    }
    Copy(1);
    return true;
  }

  // Nested classes and intersections are Oniguruma's alone.
  bool ClassMember() {
    if (StartsWith("&&")) return Refuse(2);
    if (StartsWith("[")) return Refuse(1);
    if (StartsWith("\\")) return Escape();
    if (StartsWith("]")) is_in_class_ = false;
    Copy(1);
    return true;
  }

  bool Group() {
    if (StartsWith("(*")) return Refuse(2);
    if (!StartsWith("(?")) {
      Copy(1);
      return true;
    }
    for (const char* opening : {"(?:", "(?i:", "(?=", "(?!", "(?<=", "(?<!", "(?>"}) {
      if (!StartsWith(opening)) continue;
      Copy(std::char_traits<char>::length(opening));
      return true;
    }
    return Refuse(3);
  }

  // PCRE2's \s also has U+180E, which is no white space since Unicode 6.3.
  bool Escape() {
    if (at_ + 1 == from_.size()) return Refuse(1);
    const char name = from_[at_ + 1];
    if (name == 's' || name == 'S') {
      to_ += name == 's' ? "\\p{White_Space}" : "\\P{White_Space}";
      at_ += 2;
      return true;
    }
    if ((name == 'p' || name == 'P') && at_ + 2 < from_.size() && from_[at_ + 2] == '{') return Property();
    const bool is_letter_or_digit = std::isalnum(static_cast<unsigned char>(name)) != 0;
    const bool is_known =
        std::string_view("dDnrt").find(name) != std::string_view::npos || (name == 'X' && !is_in_class_);
    if (is_letter_or_digit && !is_known) return Refuse(2);
    Copy(2);
    return true;
  }

  // Categories (L, Lu) and scripts (Han); their names mean the same to both.
  bool Property() {
    const size_t end = from_.find('}', at_);
    if (end == std::string::npos) return Refuse(3);
    Copy(end + 1 - at_);
    return true;
  }

  const std::string& from_;
  std::string to_;
  size_t at_ = 0;
  bool is_in_class_ = false;
  std::string part_;  // What was refused.
};

}  // namespace

Result<std::string> ForPcre2(const std::string& expression) { return Translation(expression).Run(); }

}  // namespace cleave::runtime
