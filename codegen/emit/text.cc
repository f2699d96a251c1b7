#include "codegen/emit/text.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/check/check.h"

namespace cleave::codegen {

std::string StringLiteral(absl::string_view text) {
  std::string literal = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      absl::StrAppend(&literal, "\\", absl::string_view(&c, 1));
    } else if (absl::ascii_isprint(static_cast<unsigned char>(c)) && c != '?') {
      literal.push_back(c);
    } else if (c == '?') {
      // Two question marks could begin a trigraph.
      absl::StrAppend(&literal, literal.back() == '?' ? "\\?" : "?");
    } else {
      absl::StrAppendFormat(&literal, "\\%03o", static_cast<unsigned char>(c));
    }
  }
  literal.push_back('"');
  return literal;
}

std::string CommentText(absl::string_view text) {
  std::string comment;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == '\t') {
      comment.push_back(' ');
    } else {
      const auto byte = static_cast<unsigned char>(c);
      // A character of several bytes is shown once, for its first byte.
      if ((byte & 0xC0) == 0x80) continue;
      comment.push_back(absl::ascii_isprint(byte) ? c : '?');
    }
  }
  comment = std::string(absl::StripAsciiWhitespace(comment));
  if (!comment.empty() && (comment.back() == '\\' || absl::EndsWith(comment, "?\?/"))) comment.push_back('.');
  return comment;
}

std::string FloatLiteral(double value) {
  const float narrowed = static_cast<float>(value);
  if (std::isnan(narrowed)) return "NAN";
  if (std::isinf(narrowed)) return narrowed > 0 ? "INFINITY" : "-INFINITY";
  if (narrowed == 0) return std::signbit(narrowed) ? "-0.0f" : "0.0f";
  // The fewest digits that read back as this float; nine are always enough.
  std::string text;
  for (int digits = 1; digits <= 9; ++digits) {
    text = absl::StrFormat("%.*g", digits, narrowed);
    if (std::strtof(text.c_str(), nullptr) == narrowed) break;
  }
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return absl::StrCat(text, "f");
}

void SourceWriter::Line(absl::string_view line) {
  if (!line.empty()) absl::StrAppend(&text_, std::string(static_cast<size_t>(indent_), ' '), line);
  text_.push_back('\n');
}

void SourceWriter::Unindented(absl::string_view line) { absl::StrAppend(&text_, line, "\n"); }

void SourceWriter::Comment(absl::string_view text) {
  const size_t room = static_cast<size_t>(kColumns - indent_ - 3);
  std::string line;
  for (const absl::string_view word : absl::StrSplit(CommentText(text), ' ', absl::SkipEmpty())) {
    if (!line.empty() && line.size() + 1 + word.size() > room) {
      Line(absl::StrCat("// ", line));
      line.clear();
    }
    absl::StrAppend(&line, line.empty() ? "" : " ", word);
  }
  if (!line.empty()) Line(absl::StrCat("// ", line));
}

void SourceWriter::Open(absl::string_view line) {
  Line(line);
  indent_ += 2;
}

void SourceWriter::Close(absl::string_view line) {
  indent_ -= 2;
  CLEAVE_CHECK(indent_ >= 0) << "a block is closed that was not opened";
  Line(line);
}

namespace {

// `head`, then as many arguments on each line as fit; the following lines are indented by `margin` spaces. `room` is
// the number of columns of a line.
std::vector<std::string> FilledLines(std::string line, size_t margin, const std::vector<std::string>& arguments,
                                     absl::string_view tail, size_t room) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool last = i + 1 == arguments.size();
    const size_t needed = arguments[i].size() + (last ? tail.size() : 1);
    if (i > 0 && line.size() + 1 + needed > room) {
      lines.push_back(line);
      line = std::string(margin, ' ');
    } else if (i > 0) {
      line.push_back(' ');
    }
    absl::StrAppend(&line, arguments[i], last ? "" : ",");
  }
  lines.push_back(absl::StrCat(line, tail));
  return lines;
}

}  // namespace

// clang-format chooses the layout with the fewest lines: arguments aligned behind the parenthesis, or below it with
// four spaces. In an assignment the whole call may stand on the next line.
void SourceWriter::Call(absl::string_view head, const std::vector<std::string>& arguments, absl::string_view tail) {
  const size_t room = static_cast<size_t>(kColumns - indent_);
  std::vector<std::string> lines = FilledLines(std::string(head), head.size(), arguments, tail, room);
  const size_t equals = head.find(" = ");
  if (lines.size() > 1 && equals != absl::string_view::npos) {
    const std::string call = absl::StrCat("    ", head.substr(equals + 3));
    const std::vector<std::string> whole_call = FilledLines(call, call.size(), arguments, tail, room);
    const std::vector<std::string> arguments_alone = FilledLines("    ", 4, arguments, tail, room);
    if (arguments_alone.size() < whole_call.size() && arguments_alone.size() + 1 < lines.size()) {
      lines = arguments_alone;
      lines.insert(lines.begin(), std::string(head));
    } else if (whole_call.size() < lines.size()) {
      lines = whole_call;
      lines.insert(lines.begin(), std::string(head.substr(0, equals + 2)));
    }
  } else if (lines.size() > 1) {
    const bool fits = std::all_of(lines.begin(), lines.end(), [&](const std::string& l) { return l.size() <= room; });
    std::vector<std::string> below = FilledLines("    ", 4, arguments, tail, room);
    if (!fits || below.size() + 1 < lines.size()) {
      lines = std::move(below);
      lines.insert(lines.begin(), std::string(head));
    }
  }
  for (const std::string& line : lines) Line(line);
}

void SourceWriter::Function(absl::string_view head, const std::vector<std::string>& parameters,
                            absl::string_view tail) {
  const size_t room = static_cast<size_t>(kColumns - indent_);
  std::vector<std::string> lines = FilledLines(std::string(head), head.size(), parameters, tail, room);
  if (std::any_of(lines.begin(), lines.end(), [&](const std::string& line) { return line.size() > room; })) {
    lines = FilledLines("    ", 4, parameters, tail, room);
    lines.insert(lines.begin(), std::string(head));
  }
  for (const std::string& line : lines) Line(line);
}

void SourceWriter::Assign(absl::string_view target, absl::string_view value, absl::string_view symbol) {
  const std::string whole = absl::StrCat(target, " ", symbol, " ", value, ";");
  if (indent_ + static_cast<int>(whole.size()) <= kColumns) return Line(whole);
  Line(absl::StrCat(target, " ", symbol));
  Line(absl::StrCat("    ", value, ";"));
}

void SourceWriter::Table(const std::vector<Commented>& rows) {
  // A row without a comment ends a column of comments.
  for (size_t begin = 0; begin < rows.size();) {
    if (rows[begin].comment.empty()) {
      Line(rows[begin++].code);
      continue;
    }
    size_t end = begin;
    size_t width = 0;
    while (end < rows.size() && !rows[end].comment.empty()) width = std::max(width, rows[end++].code.size());
    const size_t column = static_cast<size_t>(indent_) + width + 5;
    for (; begin < end; ++begin) {
      std::string comment = CommentText(rows[begin].comment);
      if (column + comment.size() > kColumns) {
        comment.resize(column + 3 < kColumns ? kColumns - column - 3 : 0);
        absl::StrAppend(&comment, "...");
      }
      Line(absl::StrCat(rows[begin].code, std::string(width - rows[begin].code.size() + 2, ' '), "// ", comment));
    }
  }
}

void SourceWriter::Gap() {
  if (text_.empty() || absl::EndsWith(text_, "\n\n") || absl::EndsWith(text_, "{\n")) return;
  text_.push_back('\n');
}

}  // namespace cleave::codegen
