#include "tools/lsp/reading.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/check/check.h"
#include "dsl/parse/parse.h"
#include "frontend/prelude/prelude.h"
#include "frontend/report/report.h"

namespace cleave::tools {
namespace {

// In every set of sources it is the first file.
FileId AddPrelude(SourceSet& sources) {
  return sources.Add("prelude.model", std::string(frontend::PreludeText()), TextOrigin::kBuiltIn);
}

const dsl::syntax::File& Prelude() {
  static const auto& prelude = *[] {
    SourceSet sources;
    Diagnostics mistakes;
    return new dsl::syntax::File(dsl::ParseWhatFits(AddPrelude(sources), sources, mistakes));
  }();
  return prelude;
}

template <typename T, typename SpanOf>
const T* Covering(const std::vector<T>& all, int32_t offset, const SpanOf& span_of) {
  for (const T& each : all) {
    const Span span = span_of(each);
    if (span.begin <= offset && offset <= span.end && span.begin < span.end) return &each;
  }
  return nullptr;
}

}  // namespace

Reading::Reading(const std::string& path, const std::string& text, const frontend::OpenTexts& open) : text_(text) {
  CLEAVE_CHECK(AddPrelude(sources_) == *Prelude().items.front().span.file);
  Diagnostics mistakes, of_imports;
  const std::optional<FileId> id = dsl::AddSource(path, text, sources_, mistakes);
  file_.file = id.has_value() ? *id : sources_.Add(path, "");
  if (id.has_value()) {
    file_ = dsl::ParseWhatFits(*id, sources_, mistakes);
    words_ = dsl::WordsOf(text_);
  }
  is_whole_ = !mistakes.has_errors();
  frontend::Reporter reporter(sources_, of_imports);
  imports_ = frontend::LoadImports(file_, sources_, reporter, &open);
  functions_ = std::make_unique<frontend::FunctionTable>(file_, imports_, Prelude(), reporter);
  names_ = frontend::NamesIn(file_, sources_.file(file_.file).text(), *functions_);
}

std::optional<FileRange> Reading::RangeOf(Span span) const {
  if (!sources_.IsIn(TextOrigin::kFile, span)) return std::nullopt;
  return FileRange{
      .path = frontend::IdentityOf(sources_.file(*span.file).path()), .begin = span.begin, .end = span.end};
}

bool Reading::IsOfPrelude(Span span) const {
  return span.is_somewhere() && *span.file == *Prelude().items.front().span.file;
}

absl::string_view Reading::TextAt(Span span) const {
  if (!span.is_somewhere()) return "";
  return sources_.file(*span.file)
      .text()
      .substr(static_cast<size_t>(span.begin), static_cast<size_t>(span.end - span.begin));
}

std::string Reading::CommentBefore(Span declared) const {
  if (!declared.is_somewhere()) return "";
  const SourceFile& file = sources_.file(*declared.file);
  int line = file.Locate(declared.begin).line - 1;
  std::vector<std::string> lines;
  while (line > 0 && absl::StartsWith(absl::StripLeadingAsciiWhitespace(file.Line(line)), "#[")) --line;
  for (; line > 0; --line) {
    absl::string_view own = absl::StripAsciiWhitespace(file.Line(line));
    if (!absl::ConsumePrefix(&own, "//")) break;
    lines.emplace_back(absl::StripAsciiWhitespace(own));
  }
  std::string text;
  for (auto own = lines.rbegin(); own != lines.rend(); ++own) absl::StrAppend(&text, text.empty() ? "" : "\n", *own);
  return text;
}

const frontend::TextUse* Reading::UseAt(int32_t offset) const {
  return Covering(names_.uses, offset, [](const frontend::TextUse& use) { return use.span; });
}

const frontend::TextDefinition* Reading::DefinitionAt(int32_t offset) const {
  return Covering(names_.definitions, offset,
                  [](const frontend::TextDefinition& definition) { return definition.name.span; });
}

const frontend::TextField* Reading::FieldAt(int32_t offset) const {
  return Covering(names_.fields, offset, [](const frontend::TextField& field) { return field.name.span; });
}

}  // namespace cleave::tools
