// Private to runtime/chat_template: letters, digits and white space as a template in ASCII has them, whatever the
// locale is, numbers that texts stand for, and texts put together.
#ifndef CLEAVE_RUNTIME_CHAT_TEMPLATE_ASCII_H_
#define CLEAVE_RUNTIME_CHAT_TEMPLATE_ASCII_H_

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace cleave::runtime {

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }
inline bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
inline bool IsLetterOrDigit(char c) { return IsLetter(c) || IsDigit(c); }
inline bool IsHexDigit(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
inline bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
inline char ToLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }
inline char ToUpper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c; }

inline std::string InLowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), ToLower);
  return text;
}

inline bool BeginsWith(std::string_view text, std::string_view part) { return text.substr(0, part.size()) == part; }
inline bool EndsWith(std::string_view text, std::string_view part) {
  return text.size() >= part.size() && text.substr(text.size() - part.size()) == part;
}

// The number that the whole text is, white space around it left out; false, and nothing changed, where it is none that
// fits.
template <typename Number>
bool ReadNumber(std::string_view text, Number& number) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  Number read = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), read);
  if (problem != std::errc() || end != text.data() + text.size()) return false;
  number = read;
  return true;
}

inline void AppendPiece(std::string& text, std::string_view piece) { text.append(piece.data(), piece.size()); }
inline void AppendPiece(std::string& text, const std::string& piece) { text += piece; }
inline void AppendPiece(std::string& text, const char* piece) { text += piece; }
template <typename Number>
void AppendPiece(std::string& text, const Number& number) {
  text += std::to_string(number);
}

// Texts and whole numbers as one text.
template <typename... Pieces>
std::string Concat(const Pieces&... pieces) {
  std::string text;
  (AppendPiece(text, pieces), ...);
  return text;
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_CHAT_TEMPLATE_ASCII_H_
