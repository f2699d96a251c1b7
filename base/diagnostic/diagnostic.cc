#include "base/diagnostic/diagnostic.h"

#include <algorithm>
#include <utility>

#include "base/check/check.h"

namespace cleave {

absl::string_view CodeName(Code code) {
  switch (code) {
#define CLEAVE_CODE(code, title) \
  case Code::k##code:            \
    return #code;
#include "base/diagnostic/codes.def"
#undef CLEAVE_CODE
  }
  CLEAVE_UNREACHABLE();
}

absl::string_view CodeTitle(Code code) {
  switch (code) {
#define CLEAVE_CODE(code, title) \
  case Code::k##code:            \
    return title;
#include "base/diagnostic/codes.def"
#undef CLEAVE_CODE
  }
  CLEAVE_UNREACHABLE();
}

absl::Span<const Code> AllCodes() {
  static constexpr Code kCodes[] = {
#define CLEAVE_CODE(code, title) Code::k##code,
#include "base/diagnostic/codes.def"
#undef CLEAVE_CODE
  };
  return kCodes;
}

Diagnostic&& Diagnostic::At(Span span, std::string text) && {
  if (span.is_somewhere()) labels.push_back({.span = span, .text = std::move(text)});
  return std::move(*this);
}

Diagnostic&& Diagnostic::Note(std::string text) && {
  notes.push_back(std::move(text));
  return std::move(*this);
}

Diagnostic&& Diagnostic::Help(std::string text) && {
  help.push_back(std::move(text));
  return std::move(*this);
}

namespace {

Diagnostic Make(Severity severity, Code code, std::string message) {
  Diagnostic diagnostic;
  diagnostic.severity = severity;
  diagnostic.code = code;
  diagnostic.message = std::move(message);
  return diagnostic;
}

}  // namespace

Diagnostic Error(Code code, std::string message) { return Make(Severity::kError, code, std::move(message)); }
Diagnostic Warning(Code code, std::string message) { return Make(Severity::kWarning, code, std::move(message)); }

void Diagnostics::Add(Diagnostic diagnostic) {
  constexpr int kMostErrors = 20;
  if (diagnostic.severity == Severity::kError) {
    if (++error_count_ > kMostErrors) return;
  } else if (std::find(items_.begin(), items_.end(), diagnostic) != items_.end()) {
    return;
  }
  items_.push_back(std::move(diagnostic));
}

void Diagnostics::AddAll(const Diagnostics& others) {
  for (const Diagnostic& diagnostic : others.items_) Add(diagnostic);
}

}  // namespace cleave
