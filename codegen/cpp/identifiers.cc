#include "codegen/cpp/identifiers.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace cleave::codegen {
namespace {

// Sorted. Keywords of C++17 and C++20, names of the standard library's macros, and what generated programs declare.
constexpr absl::string_view kReserved[] = {
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "arena",
    "arena_bytes",
    "argc",
    "argv",
    "asm",
    "assert",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "cleave",
    "co_await",
    "co_return",
    "co_yield",
    "comm",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "context",
    "continue",
    "coordinates",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "errno",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "host_bytes",
    "i",
    "i386",
    "if",
    "index",
    "inline",
    "inputs",
    "int",
    "int16_t",
    "int32_t",
    "int64_t",
    "int8_t",
    "j",
    "k",
    "l",
    "l2",
    "l3",
    "l4",
    "layer",
    "linux",
    "long",
    "main",
    "major",
    "makedev",
    "mesh",
    "minor",
    "mutable",
    "n",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "numbers",
    "observer",
    "of_stage",
    "omp",
    "operator",
    "or",
    "or_eq",
    "parameters",
    "peak_bytes",
    "private",
    "protected",
    "public",
    "rank",
    "register",
    "reinterpret_cast",
    "requires",
    "results",
    "return",
    "scalars",
    "seed",
    "settings",
    "short",
    "signed",
    "size_t",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "std",
    "stderr",
    "stdin",
    "stdout",
    "step",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "totals",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "uint8_t",
    "union",
    "unix",
    "unsigned",
    "using",
    "values",
    "virtual",
    "void",
    "volatile",
    "watch",
    "wchar_t",
    "while",
    "with_gradients",
    "xor",
    "xor_eq",
};

bool IsOfIdentifier(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

}  // namespace

bool HasWord(absl::string_view text, absl::string_view word) {
  for (size_t at = text.find(word); at != absl::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool begins = at == 0 || !IsOfIdentifier(text[at - 1]);
    if (begins && (end == text.size() || !IsOfIdentifier(text[end]))) return true;
  }
  return false;
}

bool IsReserved(absl::string_view identifier) {
  // Names of constants: k256By4.
  if (identifier.size() > 1 && identifier[0] == 'k' &&
      !absl::ascii_islower(static_cast<unsigned char>(identifier[1])) && identifier[1] != '_') {
    return true;
  }
  return std::binary_search(std::begin(kReserved), std::end(kReserved), identifier);
}

std::string IdentifierText(absl::string_view name) {
  std::string text;
  for (const char c : name) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) {
      text.push_back(c);
    } else if (!text.empty() && text.back() != '_') {
      text.push_back('_');
    }
  }
  if (text.size() > Identifiers::kLongest) text.resize(Identifiers::kLongest);
  while (!text.empty() && text.back() == '_') text.pop_back();
  if (text.empty()) return "value";
  text[0] = absl::ascii_tolower(static_cast<unsigned char>(text[0]));
  if (absl::ascii_isdigit(static_cast<unsigned char>(text[0]))) text = absl::StrCat("v", text);
  return text;
}

std::string WithoutNumbers(absl::string_view name) {
  constexpr absl::string_view kDigits = "0123456789";
  std::vector<absl::string_view> kept;
  for (absl::string_view part : absl::StrSplit(name, '.')) {
    const size_t last = part.find_last_not_of(kDigits);
    if (last == absl::string_view::npos && !part.empty()) continue;
    if (last != absl::string_view::npos && last > 0 && part[last] == '_') part = part.substr(0, last);
    kept.push_back(part);
  }
  return absl::StrJoin(kept, ".");
}

std::string TypeName(absl::string_view name) {
  std::string text;
  bool upper = true;
  for (const char c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) {
      upper = true;
      continue;
    }
    text.push_back(upper ? absl::ascii_toupper(static_cast<unsigned char>(c)) : c);
    upper = false;
  }
  if (text.size() > Identifiers::kLongest) text.resize(Identifiers::kLongest);
  if (text.empty() || absl::ascii_isdigit(static_cast<unsigned char>(text[0]))) text = absl::StrCat("Model", text);
  return text;
}

std::string Identifiers::Unique(absl::string_view wish) {
  const std::string text = IdentifierText(without_numbers_ ? WithoutNumbers(wish) : std::string(wish));
  std::string candidate = IsReserved(text) ? absl::StrCat(text, "_") : text;
  for (int number = 2; taken_.count(candidate) > 0; ++number) {
    const std::string suffix = absl::StrCat("_", number);
    std::string stem = text.substr(0, std::min(text.size(), kLongest - suffix.size()));
    while (stem.back() == '_') stem.pop_back();
    candidate = absl::StrCat(stem, suffix);
  }
  Take(candidate);
  return candidate;
}

std::string Identifiers::Local(absl::string_view wish) {
  if (replayed_ != nullptr && next_ < replayed_->size()) return (*replayed_)[next_++];
  return locals_.emplace_back(Unique(wish));
}

}  // namespace cleave::codegen
