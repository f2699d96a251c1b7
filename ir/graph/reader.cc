#include "ir/graph/reader.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/match/match.h"
#include "base/status/status_macros.h"
#include "base/text/text.h"

namespace cleave::ir {
namespace {

bool IsWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

bool IsNumberCharacter(char c) { return IsWordCharacter(c) || c == '-' || c == '+'; }

}  // namespace

void TextReader::SkipSpace() {
  while (position_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[position_])) != 0) ++position_;
}

bool TextReader::Take(absl::string_view token) {
  SkipSpace();
  if (text_.substr(position_, token.size()) != token) return false;
  // A word must end where the token ends.
  const size_t end = position_ + token.size();
  if (IsWordCharacter(token.back()) && end < text_.size() && IsWordCharacter(text_[end])) return false;
  position_ = end;
  return true;
}

absl::Status TextReader::Expect(absl::string_view token) {
  if (Take(token)) return absl::OkStatus();
  return Error(absl::StrCat("`", token, "`"));
}

bool TextReader::AtEnd() {
  SkipSpace();
  return position_ >= text_.size();
}

bool TextReader::NextIsWord() {
  SkipSpace();
  return position_ < text_.size() && IsWordCharacter(text_[position_]);
}

absl::StatusOr<std::string> TextReader::Word() {
  if (!NextIsWord()) return Error("a name");
  const size_t begin = position_;
  while (position_ < text_.size() && IsWordCharacter(text_[position_])) ++position_;
  return std::string(text_.substr(begin, position_ - begin));
}

absl::StatusOr<int64_t> TextReader::Id() {
  SkipSpace();
  const size_t begin = position_;
  if (position_ < text_.size() && text_[position_] == '%') {
    ++position_;
    const size_t digits = position_;
    while (position_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[position_])) != 0) ++position_;
    int32_t id = 0;
    if (absl::SimpleAtoi(text_.substr(digits, position_ - digits), &id)) return id;
  }
  position_ = begin;
  return Error("an id such as `%4`");
}

absl::StatusOr<int64_t> TextReader::Integer() {
  SkipSpace();
  const size_t begin = position_;
  while (position_ < text_.size() && IsNumberCharacter(text_[position_])) ++position_;
  int64_t value = 0;
  if (absl::SimpleAtoi(text_.substr(begin, position_ - begin), &value)) return value;
  position_ = begin;
  return Error("an integer");
}

absl::StatusOr<std::string> TextReader::String() {
  SkipSpace();
  const size_t start = position_;
  if (!Take("\"")) return Error("a string in quotes");
  std::string value;
  while (position_ < text_.size() && text_[position_] != '"' && text_[position_] != '\n') {
    char c = text_[position_++];
    if (c == '\\' && position_ < text_.size()) {
      c = text_[position_++];
      if (c == 'n') c = '\n';
      if (c == 't') c = '\t';
    }
    value.push_back(c);
  }
  if (position_ < text_.size() && text_[position_] == '"') {
    ++position_;
    return value;
  }
  position_ = start;
  return Error("a string that ends on its line");
}

absl::StatusOr<std::vector<int64_t>> TextReader::Integers() {
  std::vector<int64_t> values;
  CLEAVE_RETURN_IF_ERROR(Expect("("));
  if (Take(")")) return values;
  do {
    CLEAVE_ASSIGN_OR_RETURN(int64_t value, Integer());
    values.push_back(value);
  } while (Take(","));
  CLEAVE_RETURN_IF_ERROR(Expect(")"));
  return values;
}

absl::StatusOr<double> TextReader::Number() {
  SkipSpace();
  const size_t begin = position_;
  while (position_ < text_.size() && IsNumberCharacter(text_[position_])) ++position_;
  double value = 0;
  if (absl::SimpleAtod(text_.substr(begin, position_ - begin), &value)) return value;
  position_ = begin;
  return Error("a number");
}

absl::StatusOr<std::vector<double>> TextReader::Numbers() {
  std::vector<double> values;
  CLEAVE_RETURN_IF_ERROR(Expect("["));
  if (Take("]")) return values;
  do {
    CLEAVE_ASSIGN_OR_RETURN(double value, Number());
    values.push_back(value);
  } while (Take(","));
  CLEAVE_RETURN_IF_ERROR(Expect("]"));
  return values;
}

absl::StatusOr<std::vector<int64_t>> TextReader::Ids() {
  std::vector<int64_t> values;
  CLEAVE_RETURN_IF_ERROR(Expect("("));
  if (Take(")")) return values;
  do {
    CLEAVE_ASSIGN_OR_RETURN(int64_t value, Id());
    values.push_back(value);
  } while (Take(","));
  CLEAVE_RETURN_IF_ERROR(Expect(")"));
  return values;
}

absl::StatusOr<OpKind> TextReader::Kind() {
  SkipSpace();
  const size_t begin = position_;
  CLEAVE_ASSIGN_OR_RETURN(std::string name, Word());
  const std::optional<OpKind> kind = ParseOpKind(name);
  if (kind.has_value()) return *kind;
  position_ = begin;
  return Error("the name of an op");
}

absl::StatusOr<TensorType> TextReader::Type() {
  SkipSpace();
  const size_t begin = position_;
  CLEAVE_ASSIGN_OR_RETURN(std::string name, Word());
  const std::optional<DType> dtype = ParseDType(name);
  if (!dtype.has_value()) {
    position_ = begin;
    return Error("a type such as `f32[2, 3]`");
  }
  TensorType type{.dtype = *dtype, .shape = {}};
  CLEAVE_RETURN_IF_ERROR(Expect("["));
  if (Take("]")) return type;
  do {
    CLEAVE_ASSIGN_OR_RETURN(int64_t size, Integer());
    type.shape.push_back(size);
  } while (Take(","));
  CLEAVE_RETURN_IF_ERROR(Expect("]"));
  return type;
}

absl::StatusOr<AttributeValue> TextReader::ReadAttributeValue() {
  SkipSpace();
  const char next = position_ < text_.size() ? text_[position_] : '\0';
  if (next == '"') {
    CLEAVE_ASSIGN_OR_RETURN(std::string value, String());
    return AttributeValue(std::move(value));
  }
  if (next == '(') {
    CLEAVE_ASSIGN_OR_RETURN(std::vector<int64_t> value, Integers());
    return AttributeValue(std::move(value));
  }
  if (next == '[') {
    CLEAVE_ASSIGN_OR_RETURN(std::vector<double> value, Numbers());
    return AttributeValue(std::move(value));
  }
  if (Take("true")) return AttributeValue(true);
  if (Take("false")) return AttributeValue(false);
  const size_t begin = position_;
  size_t end = begin;
  while (end < text_.size() && IsNumberCharacter(text_[end])) ++end;
  const absl::string_view token = text_.substr(begin, end - begin);
  int64_t integer = 0;
  double number = 0;
  if (absl::SimpleAtoi(token, &integer)) {
    position_ = end;
    return AttributeValue(integer);
  }
  if (absl::SimpleAtod(token, &number)) {
    position_ = end;
    return AttributeValue(number);
  }
  return Error("a value: true, 1, 0.5, \"text\", (1, 2) or [0.5, 1.0]");
}

absl::StatusOr<Attributes> TextReader::ReadAttributes() {
  Attributes::Values values;
  if (!Take("{") || Take("}")) return Attributes();
  do {
    CLEAVE_ASSIGN_OR_RETURN(std::string name, Word());
    CLEAVE_RETURN_IF_ERROR(Expect("="));
    CLEAVE_ASSIGN_OR_RETURN(AttributeValue value, ReadAttributeValue());
    if (!values.emplace(name, std::move(value)).second) {
      return Error(absl::StrCat("attribute `", name, "` only once"));
    }
  } while (Take(","));
  CLEAVE_RETURN_IF_ERROR(Expect("}"));
  return Attributes(std::move(values));
}

absl::Status TextReader::SkipParentheses() {
  CLEAVE_RETURN_IF_ERROR(Expect("("));
  int depth = 1;
  while (position_ < text_.size() && depth > 0) {
    const char c = text_[position_++];
    if (c == '(') ++depth;
    if (c == ')') --depth;
  }
  return depth == 0 ? absl::OkStatus() : Error("`)`");
}

std::string TextReader::Comment() {
  size_t begin = position_;
  while (begin < text_.size() && (text_[begin] == ' ' || text_[begin] == '\t')) ++begin;
  if (text_.substr(begin, 2) != "//") return "";
  begin += 2;
  if (begin < text_.size() && text_[begin] == ' ') ++begin;
  const size_t end = std::min(text_.find('\n', begin), text_.size());
  position_ = end;
  return std::string(text_.substr(begin, end - begin));
}

absl::Status TextReader::Error(absl::string_view expected) {
  SkipSpace();
  const absl::string_view before = text_.substr(0, position_);
  const size_t newline = before.rfind('\n');
  const int64_t line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t column = position_ - (newline == absl::string_view::npos ? 0 : newline + 1) + 1;
  std::string found = "the end of the text";
  if (position_ < text_.size()) {
    size_t end = position_ + 1;
    if (IsWordCharacter(text_[position_])) {
      while (end < text_.size() && IsWordCharacter(text_[end])) ++end;
    }
    found = absl::StrCat("`", text_.substr(position_, end - position_), "`");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("line ", line, ", column ", column, ": expected ", expected, ", found ", found));
}

std::string QuotedText(absl::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    switch (c) {
      case '"':
      case '\\':
        quoted.push_back('\\');
        quoted.push_back(c);
        break;
      case '\n':
        quoted += "\\n";
        break;
      case '\t':
        quoted += "\\t";
        break;
      default:
        quoted.push_back(c);
    }
  }
  quoted.push_back('"');
  return quoted;
}

namespace {

std::string NumbersText(const std::vector<double>& numbers) {
  return absl::StrCat(
      "[",
      absl::StrJoin(numbers, ", ", [](std::string* out, double number) { absl::StrAppend(out, FormatDouble(number)); }),
      "]");
}

}  // namespace

std::string AttributesText(const Attributes& attributes) {
  if (attributes.values().empty()) return "";
  std::vector<std::string> parts;
  for (const auto& [name, value] : attributes.values()) {
    const std::string text = Match(
        value, [](bool flag) { return std::string(flag ? "true" : "false"); },
        [](int64_t number) { return absl::StrCat(number); }, [](double number) { return FormatDouble(number); },
        [](const std::string& string) { return QuotedText(string); },
        [](const std::vector<int64_t>& numbers) { return absl::StrCat("(", absl::StrJoin(numbers, ", "), ")"); },
        [](const std::vector<double>& numbers) { return NumbersText(numbers); });
    parts.push_back(absl::StrCat(name, " = ", text));
  }
  return absl::StrCat(" {", absl::StrJoin(parts, ", "), "}");
}

}  // namespace cleave::ir
