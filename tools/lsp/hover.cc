#include "tools/lsp/hover.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/match/match.h"
#include "frontend/initializers/initializers.h"
#include "frontend/manual/primitives.h"
#include "tools/lsp/pages.h"

namespace cleave::tools {
namespace {

std::string Joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (!part.empty()) absl::StrAppend(&text, text.empty() ? "" : "\n\n", part);
  }
  return text;
}

std::string Fenced(const std::string& text) { return text.empty() ? "" : absl::StrCat("```cleave\n", text, "\n```"); }

std::string PlanPart(const std::optional<KnownValue>& known) {
  if (!known.has_value() || known->value.plan.empty()) return "";
  return absl::StrCat(known->is_old_plan ? "*The plan of the text before the last changes:*\n\n" : "",
                      known->value.plan);
}

std::string TypePart(const std::string& name, const std::optional<KnownValue>& known) {
  if (!known.has_value() || known->value.types.empty()) return "";
  return absl::StrCat(name, name.empty() ? "" : ": ", TypeText(known->value));
}

// "let h" and "f32[8]" are "let h: f32[8]"; a declaration that has a type is shown before the one that was found.
std::string WithType(const std::string& declaration, const std::string& name, const std::optional<KnownValue>& known) {
  const std::string type = TypePart("", known);
  if (type.empty()) return declaration;
  if (declaration.find(": ") == std::string::npos && declaration.find('(') == std::string::npos) {
    return absl::StrCat(declaration, ": ", type);
  }
  return absl::StrCat(declaration, "\n", name, ": ", type);
}

std::string CalleeText(const frontend::Callee& callee) {
  return Match(
      callee, [](std::monostate) { return std::string(); },
      [](const frontend::Function* function) {
        return absl::StrCat(function->record != nullptr ? "record " : "fn ",
                            frontend::SignatureOf(*function->syntax).ToString());
      },
      [](const ir::OpDefinition* op) { return absl::StrCat("op ", frontend::SignatureOf(*op).ToString()); },
      [](const dsl::syntax::OpDefinition* op) { return absl::StrCat("op ", op->name.text); });
}

std::string PageOfCallee(const Reading& reading, const frontend::Callee& callee, const std::string& name) {
  if (const auto* function = std::get_if<const frontend::Function*>(&callee)) {
    const std::string comment = reading.CommentBefore((*function)->syntax->name.span);
    return Joined({comment, (*function)->of_prelude ? PageOf(name) : ""});
  }
  if (const auto* own = std::get_if<const dsl::syntax::OpDefinition*>(&callee)) {
    return reading.CommentBefore((*own)->name.span);
  }
  return PageOf(name);
}

Shown ShownAt(Span span, std::string markdown) {
  return {.markdown = std::move(markdown), .begin = span.begin, .end = span.end};
}

Shown HoverOfUse(const Reading& reading, const Knowledge& knowledge, const frontend::TextUse& use) {
  const std::optional<KnownValue> own = knowledge.At(use.span.begin, use.span.end);
  if (use.definition.has_value() && use.callee.index() == 0) {
    const frontend::TextDefinition& definition = reading.names().definitions[*use.definition];
    return ShownAt(use.span, Joined({Fenced(WithType(definition.detail, use.text, own)), PlanPart(own)}));
  }
  // The value of a call is known at the place of the call, which begins with its callee.
  std::optional<KnownValue> called = knowledge.Around(use.span.begin, use.span.end + 1);
  if (own.has_value() || (called.has_value() && called->begin != use.span.begin)) called = std::nullopt;
  const std::string head = use.callee.index() == 0 ? std::string(reading.TextAt(use.span)) : CalleeText(use.callee);
  return ShownAt(use.span, Joined({Fenced(Joined({head, TypePart("", called)})), PlanPart(called),
                                   PageOfCallee(reading, use.callee, use.text)}));
}

// A setting's name, or a word of the language.
std::optional<Shown> HoverOfWord(const Reading& reading, int32_t offset) {
  for (const Word& word : reading.words()) {
    if (word.begin > offset) break;
    if (offset > word.end || (word.kind != WordKind::kName && word.kind != WordKind::kReserved)) continue;
    const Span span{.file = reading.file().file, .begin = word.begin, .end = word.end};
    const std::string name(reading.TextAt(span));
    const Surroundings around = SurroundingsAt(reading.words(), reading.text(), word.begin);
    const bool is_setting = around.begins_statement && around.in_settings();
    std::string page = PageOf(name, is_setting ? around.item : "");
    if (page.empty()) page = PageOf(name);
    if (!page.empty()) return ShownAt(span, Joined({Fenced(name), page}));
  }
  return std::nullopt;
}

}  // namespace

std::string TypeText(const FoundValue& value) {
  constexpr size_t kMostShown = 4;
  std::vector<std::string> types = value.types;
  const bool has_more = value.has_more_types || types.size() > kMostShown;
  if (types.size() > kMostShown) types.resize(kMostShown);
  return absl::StrCat(absl::StrJoin(types, " | "), has_more ? " | …" : "");
}

std::optional<CallableFacts> CallableNamed(const Reading& reading, const std::string& name) {
  const frontend::Callee callee = reading.functions().Find(name, nullptr);
  std::optional<frontend::Signature> signature;
  if (const auto* function = std::get_if<const frontend::Function*>(&callee)) {
    signature = frontend::SignatureOf(*(*function)->syntax);
  } else if (const auto* op = std::get_if<const ir::OpDefinition*>(&callee)) {
    signature = frontend::SignatureOf(**op);
    for (const dsl::syntax::Parameter* more : reading.functions().FormParameters(**op)) {
      signature->arguments.push_back(frontend::FormalOf(*more));
    }
  } else if (const auto* own = std::get_if<const dsl::syntax::OpDefinition*>(&callee)) {
    signature.emplace();
    signature->callee = name;
    for (const dsl::syntax::Parameter& parameter : (*own)->parameters) {
      signature->arguments.push_back(frontend::FormalOf(parameter));
    }
  } else if (auto initializer = frontend::InitializerSignature(name)) {
    signature = *std::move(initializer);
  } else if (const auto primitive = frontend::FindPrimitive(name)) {
    signature = frontend::SignatureOf(*primitive);
  }
  if (!signature.has_value()) return std::nullopt;
  return CallableFacts{.signature = *std::move(signature), .page = PageOfCallee(reading, callee, name)};
}

std::optional<Shown> HoverAt(const Reading& reading, const Knowledge& knowledge, int32_t offset) {
  if (const frontend::TextField* field = reading.FieldAt(offset)) {
    const std::optional<KnownValue> value = knowledge.Around(field->name.span.begin, field->name.span.end);
    const bool is_field = value.has_value() && value->end == field->name.span.end;
    return ShownAt(field->name.span,
                   Fenced(is_field ? TypePart(field->name.text, value) : absl::StrCat("field ", field->name.text)));
  }
  const frontend::TextUse* const use = reading.UseAt(offset);
  if (use != nullptr) return HoverOfUse(reading, knowledge, *use);
  if (const frontend::TextDefinition* definition = reading.DefinitionAt(offset)) {
    const std::optional<KnownValue> known = knowledge.At(definition->name.span.begin, definition->name.span.end);
    return ShownAt(
        definition->name.span,
        Joined({Fenced(WithType(definition->detail, definition->name.text, known)), PlanPart(known),
                definition->kind == frontend::NameKind::kFunction || definition->kind == frontend::NameKind::kRecord
                    ? reading.CommentBefore(definition->name.span)
                    : ""}));
  }
  if (auto word = HoverOfWord(reading, offset)) return word;
  const std::optional<KnownValue> around = knowledge.Around(offset, offset);
  if (!around.has_value()) return std::nullopt;
  const std::string markdown = Joined({Fenced(TypePart("", around)), PlanPart(around)});
  if (markdown.empty()) return std::nullopt;
  return Shown{.markdown = markdown, .begin = around->begin, .end = around->end};
}

}  // namespace cleave::tools
