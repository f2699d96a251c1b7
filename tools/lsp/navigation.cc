#include "tools/lsp/navigation.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tools/lsp/scan.h"

namespace cleave::tools {
namespace {

// What a use stands for: as its value tells, else as its text does.
std::optional<FileRange> DeclarationOf(const frontend::TextUse& use, const Reading& reading,
                                       const Knowledge& knowledge) {
  // An own name is where the text says, whatever a value that is called stands for.
  if (use.definition.has_value()) {
    return reading.RangeOf(reading.names().definitions[*use.definition].name.span);
  }
  if (use.elsewhere.has_value()) return reading.RangeOf(*use.elsewhere);
  return knowledge.MeaningOf(use.span.begin, use.span.end);
}

const frontend::TextDefinition* DefinitionOf(const FileRange& declaration, const Reading& reading) {
  for (const frontend::TextDefinition& definition : reading.names().definitions) {
    if (reading.RangeOf(definition.name.span) == declaration) return &definition;
  }
  return nullptr;
}

// The first part of a pin's name, `h1` of `pin "h1.weight"`, and what of the model it names.
struct PinnedName {
  Span span;
  const frontend::TextDefinition* definition;
};

std::vector<PinnedName> PinnedNames(const Reading& reading) {
  std::vector<PinnedName> pinned;
  const std::vector<const frontend::TextDefinition*> named = NamesOfOps(reading);
  for (const dsl::syntax::Item& item : reading.file().items) {
    const auto* parallel = std::get_if<dsl::syntax::Parallel>(&item.kind);
    if (parallel == nullptr) continue;
    for (const dsl::syntax::Pin& pin : parallel->pins) {
      const std::string first = pin.target.value.substr(0, pin.target.value.find('.'));
      Span span = pin.target_span;
      ++span.begin;  // The quote.
      span.end = span.begin + static_cast<int32_t>(first.size());
      for (const frontend::TextDefinition* definition : named) {
        if (definition->name.text == first) pinned.push_back({.span = span, .definition = definition});
      }
    }
  }
  return pinned;
}

bool Overlap(Span a, Span b) { return a.begin < b.end && b.begin < a.end; }

}  // namespace

std::vector<const frontend::TextDefinition*> NamesOfOps(const Reading& reading) {
  std::vector<const frontend::TextDefinition*> named;
  for (const dsl::syntax::Item& item : reading.file().items) {
    if (!std::holds_alternative<dsl::syntax::Model>(item.kind)) continue;
    for (const frontend::TextDefinition& definition : reading.names().definitions) {
      const Span& own = definition.name.span;
      const bool names_ops = definition.kind == frontend::NameKind::kLet ||
                             definition.kind == frontend::NameKind::kParameter ||
                             definition.kind == frontend::NameKind::kInput;
      if (names_ops && item.span.begin <= own.begin && own.end <= item.span.end) named.push_back(&definition);
    }
  }
  return named;
}

std::optional<Declared> DeclaredAt(const Reading& reading, const Knowledge& knowledge, int32_t offset) {
  const auto declared = [&](Span here, std::optional<FileRange> declaration) -> std::optional<Declared> {
    const std::optional<FileRange> own = reading.RangeOf(here);
    if (!own.has_value() || !declaration.has_value()) return std::nullopt;
    return Declared{.declaration = *std::move(declaration), .here = *own};
  };
  if (const frontend::TextField* field = reading.FieldAt(offset)) {
    return declared(field->name.span, knowledge.MeaningOf(field->name.span.begin, field->name.span.end));
  }
  if (const frontend::TextUse* use = reading.UseAt(offset)) {
    return declared(use->span, DeclarationOf(*use, reading, knowledge));
  }
  if (const frontend::TextDefinition* definition = reading.DefinitionAt(offset)) {
    return declared(definition->name.span, reading.RangeOf(definition->name.span));
  }
  for (const PinnedName& pin : PinnedNames(reading)) {
    if (pin.span.begin > offset || offset > pin.span.end) continue;
    return declared(pin.span, reading.RangeOf(pin.definition->name.span));
  }
  // The name of an argument of a layer, which only a value tells.
  for (const Word& word : reading.words()) {
    if (word.kind != WordKind::kName || offset < word.begin || offset > word.end) continue;
    const Span span{.file = reading.file().file, .begin = word.begin, .end = word.end};
    return declared(span, knowledge.MeaningOf(word.begin, word.end));
  }
  return std::nullopt;
}

std::vector<FileRange> PlacesOf(const FileRange& declaration, const Reading& reading, const Knowledge& knowledge) {
  std::vector<FileRange> places;
  const auto add = [&](Span span) {
    if (const auto range = reading.RangeOf(span)) places.push_back(*range);
  };
  if (const frontend::TextDefinition* definition = DefinitionOf(declaration, reading)) add(definition->name.span);
  for (const frontend::TextUse& use : reading.names().uses) {
    if (DeclarationOf(use, reading, knowledge) == declaration) add(use.span);
  }
  for (const PinnedName& pin : PinnedNames(reading)) {
    if (reading.RangeOf(pin.definition->name.span) == declaration) add(pin.span);
  }
  // Fields, and names of arguments that only a value tells.
  for (const Word& word : reading.words()) {
    const absl::string_view own =
        absl::string_view(reading.text())
            .substr(static_cast<size_t>(word.begin), static_cast<size_t>(word.end - word.begin));
    const bool is_part = absl::StartsWith(own, ".") && own.size() > 1 && own[1] != '.';
    if (word.kind != WordKind::kName && !is_part) continue;
    const int32_t begin = word.begin + (is_part ? 1 : 0);
    if (knowledge.MeaningOf(begin, word.end) != declaration) continue;
    add({.file = reading.file().file, .begin = begin, .end = word.end});
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  // A callee that is a value is named by the text, and means the function that it has: only one of these is a place.
  places.erase(std::remove_if(places.begin(), places.end(),
                              [&](const FileRange& place) {
                                const frontend::TextUse* use = reading.UseAt(place.begin);
                                return use != nullptr && use->span.begin == place.begin &&
                                       DeclarationOf(*use, reading, knowledge) != declaration;
                              }),
               places.end());
  return places;
}

absl::Status CanRename(const FileRange& declaration, const std::string& name, const Reading& reading,
                       const Knowledge& knowledge) {
  if (!IsName(name)) return absl::InvalidArgumentError(absl::StrCat("`", name, "` is no name of the language"));
  if (!reading.is_whole()) {
    return absl::FailedPreconditionError("a file has mistakes of syntax, so that not all places of the name are known");
  }
  const std::vector<FileRange> places = PlacesOf(declaration, reading, knowledge);
  if (places.empty()) return absl::OkStatus();
  const frontend::TextDefinition* const own = DefinitionOf(declaration, reading);
  for (const frontend::TextDefinition& other : reading.names().definitions) {
    if (other.name.text != name) continue;
    const bool is_field = own != nullptr && own->kind == frontend::NameKind::kField;
    if ((other.kind == frontend::NameKind::kField) != is_field) continue;
    const bool is_hidden = own != nullptr && !Overlap(own->visible, other.visible);
    if (!is_hidden) return absl::AlreadyExistsError(absl::StrCat("`", name, "` is the name of something else here"));
  }
  // What names the function or op of the new name now would name this.
  for (const frontend::TextUse& use : reading.names().uses) {
    if (use.text != name || use.is_argument_name) continue;
    if (own == nullptr || Overlap(own->visible, use.span)) {
      return absl::AlreadyExistsError(absl::StrCat("`", name, "` names something else where the name can be used"));
    }
  }
  // Fields whose record is not known, in functions that nothing calls.
  const std::string before(reading.text().substr(static_cast<size_t>(places[0].begin),
                                                 static_cast<size_t>(places[0].end - places[0].begin)));
  const bool is_field = own == nullptr || own->kind == frontend::NameKind::kField;
  for (const frontend::TextField& field : reading.names().fields) {
    if (!is_field || field.name.text != before) continue;
    if (!knowledge.MeaningOf(field.name.span.begin, field.name.span.end).has_value()) {
      return absl::FailedPreconditionError(
          absl::StrCat("it is not known which record `.", before, "` is of where nothing calls the function"));
    }
  }
  return absl::OkStatus();
}

}  // namespace cleave::tools
