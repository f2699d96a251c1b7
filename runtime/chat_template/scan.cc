// Reading guide: `Scanner::Run` goes from tag to tag. `Text` takes away the white space that the tags around a text ask
// for: `-` all of it; without a sign, a tag `{%` or `{#` that stands alone on its line takes the spaces before it
// (lstrip_blocks) and the end of the line behind it (trim_blocks); `+` none.
#include "runtime/chat_template/scan.h"

#include <algorithm>
#include <cstring>

#include "runtime/chat_template/ascii.h"
#include "runtime/utf8/utf8.h"

namespace cleave::runtime {
namespace {

using Kind = TemplateToken::Kind;

constexpr const char* kSigns[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
                                  "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};

bool IsNameStart(char c) { return IsLetter(c) || c == '_'; }
bool IsNamePart(char c) { return IsLetterOrDigit(c) || c == '_'; }

class Scanner {
 public:
  Scanner(const std::string& text, std::vector<TemplateToken>& tokens) : text_(text), tokens_(tokens) {
    // Jinja leaves out one end of line at the end of a template.
    end_ = text_.size();
    if (end_ > 0 && text_[end_ - 1] == '\n') --end_;
  }

  std::optional<TemplateProblem> Run() {
    while (at_ < end_ && !problem_.has_value()) {
      const size_t tag = FindTag();
      Text(tag);
      if (at_ >= end_) break;
      const char kind = text_[at_ + 1];
      const size_t begin = at_;
      at_ += 2;
      if (at_ < end_ && (text_[at_] == '-' || text_[at_] == '+')) ++at_;
      if (kind == '#') {
        Comment(begin);
      } else {
        Tag(begin, kind == '%');
      }
    }
    tokens_.push_back({Kind::kEnd, end_, ""});
    return problem_;
  }

 private:
  void Fail(size_t offset, const std::string& message) {
    if (!problem_.has_value()) problem_ = TemplateProblem{offset, message};
  }

  // Where the next tag begins, or the end.
  size_t FindTag() const {
    for (size_t at = at_; at + 1 < end_; ++at) {
      if (text_[at] == '{' && std::strchr("{%#", text_[at + 1]) != nullptr) return at;
    }
    return end_;
  }

  // The text up to the tag.
  void Text(size_t tag) {
    const size_t begin = at_;
    size_t end = tag;
    const char sign = tag + 2 < end_ ? text_[tag + 2] : '\0';
    if (tag < end_ && sign == '-') {
      while (end > begin && IsSpace(text_[end - 1])) --end;
    } else if (tag < end_ && sign != '+' && text_[tag + 1] != '{') {
      size_t line = end;
      while (line > begin && text_[line - 1] != '\n') --line;
      const bool is_at_line_start = line > begin || is_line_start_;
      if (is_at_line_start && std::all_of(text_.begin() + static_cast<ptrdiff_t>(line),
                                          text_.begin() + static_cast<ptrdiff_t>(end), IsSpace)) {
        end = line;
      }
    }
    if (end > begin) tokens_.push_back({Kind::kText, begin, text_.substr(begin, end - begin)});
    at_ = tag;
  }

  // Moves behind a tag of which `at_` is the closing sign, if it has one, and then its two characters.
  void Close(bool takes_line) {
    const bool takes_all = text_[at_] == '-', takes_none = text_[at_] == '+';
    at_ += takes_all || takes_none ? 3 : 2;
    if (takes_all) {
      while (at_ < end_ && IsSpace(text_[at_])) ++at_;
    } else if (takes_line && !takes_none && at_ < end_ && text_[at_] == '\n') {
      ++at_;
    }
    is_line_start_ = text_[at_ - 1] == '\n';
  }

  // Whether the tag closes here, with these two characters.
  bool IsClosedBy(const char* signs) const {
    const size_t at = at_ + ((text_[at_] == '-' || (text_[at_] == '+' && signs[0] != '}')) ? 1 : 0);
    return at + 1 < end_ && text_.compare(at, 2, signs) == 0;
  }

  void Comment(size_t begin) {
    while (at_ < end_ && !IsClosedBy("#}")) ++at_;
    if (at_ >= end_) return Fail(begin, "the comment `{#` is not closed by `#}`");
    Close(/*takes_line=*/true);
  }

  void Tag(size_t begin, bool is_block) {
    tokens_.push_back({is_block ? Kind::kBeginBlock : Kind::kBeginOutput, begin, ""});
    const char* const close = is_block ? "%}" : "}}";
    std::string open;  // Brackets.
    while (!problem_.has_value()) {
      while (at_ < end_ && IsSpace(text_[at_])) ++at_;
      if (at_ >= end_) return Fail(begin, Concat("the tag is not closed by `", close, "`"));
      if (open.empty() && IsClosedBy(close)) {
        tokens_.push_back({is_block ? Kind::kEndBlock : Kind::kEndOutput, at_, ""});
        return Close(is_block);
      }
      Word(open);
    }
  }

  void Word(std::string& open) {
    const size_t begin = at_;
    const char c = text_[at_];
    if (IsNameStart(c)) {
      while (at_ < end_ && IsNamePart(text_[at_])) ++at_;
      tokens_.push_back({Kind::kName, begin, text_.substr(begin, at_ - begin)});
    } else if (IsDigit(c)) {
      Number();
    } else if (c == '\'' || c == '"') {
      String(c);
    } else {
      Sign(open);
    }
  }

  void Number() {
    const size_t begin = at_;
    const auto digits = [&] {
      while (at_ < end_ && IsDigit(text_[at_])) ++at_;
    };
    digits();
    const bool is_float = at_ + 1 < end_ && text_[at_] == '.' && IsDigit(text_[at_ + 1]);
    if (is_float) {
      ++at_;
      digits();
    }
    if (at_ < end_ && IsNamePart(text_[at_])) return Fail(begin, "this way to write a number is not supported");
    tokens_.push_back({is_float ? Kind::kFloat : Kind::kWhole, begin, text_.substr(begin, at_ - begin)});
  }

  // The character of an escape of `digits` hexadecimal digits.
  void CodePoint(size_t begin, int digits, std::string& content) {
    uint32_t point = 0;
    for (int i = 0; i < digits; ++i, ++at_) {
      if (at_ >= end_ || !IsHexDigit(text_[at_])) return Fail(begin, "an escape of this string is too short");
      const char digit = ToLower(text_[at_]);
      point = point * 16 + static_cast<uint32_t>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    }
    if (point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) {
      return Fail(begin, "an escape of this string is no character");
    }
    AppendUtf8(point, content);
  }

  void String(char quote) {
    const size_t begin = at_++;
    std::string content;
    while (at_ < end_ && text_[at_] != quote && !problem_.has_value()) {
      const char c = text_[at_++];
      if (c != '\\') {
        content += c;
        continue;
      }
      if (at_ >= end_) break;
      const char escaped = text_[at_++];
      static constexpr char kNames[] = "\\'\"abfnrtv";
      static constexpr char kMeanings[] = "\\'\"\a\b\f\n\r\t\v";
      const char* const known = escaped == '\0' ? nullptr : std::strchr(kNames, escaped);
      if (known != nullptr) {
        content += kMeanings[known - kNames];
      } else if (escaped == 'x' || escaped == 'u' || escaped == 'U') {
        CodePoint(begin, escaped == 'x' ? 2 : escaped == 'u' ? 4 : 8, content);
      } else if (escaped != '\n') {  // Which Python leaves out.
        if (IsDigit(escaped) || escaped == 'N') {
          return Fail(begin, Concat("the escape `\\", std::string(1, escaped), "` is not supported"));
        }
        content += c;
        content += escaped;
      }
    }
    if (problem_.has_value()) return;
    if (at_ >= end_) return Fail(begin, "the string is not closed");
    ++at_;
    tokens_.push_back({Kind::kString, begin, content});
  }

  void Sign(std::string& open) {
    const auto is_here = [&](const char* sign) { return text_.compare(at_, std::strlen(sign), sign) == 0; };
    const auto sign = std::find_if(std::begin(kSigns), std::end(kSigns), is_here);
    if (sign == std::end(kSigns)) {
      size_t end = at_;
      ReadUtf8(text_, end);
      return Fail(at_, Concat("unexpected `", text_.substr(at_, end - at_), "`"));
    }
    const char c = **sign;
    if (std::strchr("([{", c) != nullptr) {
      open += c;
    } else if (std::strchr(")]}", c) != nullptr) {
      const char opening = c == ')' ? '(' : c == ']' ? '[' : '{';
      if (open.empty() || open.back() != opening) return Fail(at_, Concat("unexpected `", *sign, "`"));
      open.pop_back();
    }
    tokens_.push_back({Kind::kSign, at_, *sign});
    at_ += std::strlen(*sign);
  }

  const std::string& text_;
  std::vector<TemplateToken>& tokens_;
  std::optional<TemplateProblem> problem_;
  size_t at_ = 0;
  size_t end_ = 0;
  bool is_line_start_ = true;
};

}  // namespace

std::optional<TemplateProblem> ScanTemplate(const std::string& text, std::vector<TemplateToken>& tokens) {
  return Scanner(text, tokens).Run();
}

}  // namespace cleave::runtime
