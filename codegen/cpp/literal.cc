#include "codegen/cpp/literal.h"

#include <cmath>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

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

}  // namespace cleave::codegen
