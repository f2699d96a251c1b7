// Reading guide: AnswerAbout is the list of what is answered, and those functions follow that need more than one call.
// Publish is last: the diagnostics of all files that the roots have.
#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file/file.h"
#include "dsl/format/format.h"
#include "tools/lsp/completion.h"
#include "tools/lsp/fixes.h"
#include "tools/lsp/hover.h"
#include "tools/lsp/json_fields.h"
#include "tools/lsp/navigation.h"
#include "tools/lsp/prelude_file.h"
#include "tools/lsp/server.h"

namespace cleave::tools {
namespace {

int SeverityNumber(const std::string& severity) { return severity == "error" ? 1 : severity == "warning" ? 2 : 3; }

Json Markdown(const std::string& text) { return JsonObject({{"kind", "markdown"}, {"value", text}}); }

}  // namespace

Server::Answer Server::AnswerTo(const std::string& method, const Json& params) {
  Document* const document = DocumentOf(params);
  if (document != nullptr) return AnswerAbout(method, params, *document);
  return absl::NotFoundError("the text is not open");
}

Server::Answer Server::AnswerAbout(const std::string& method, const Json& params, Document& document) {
  const std::string what = method.substr(method.find('/') + 1);
  const Reading& reading = ReadingOf(document);
  const Measured measured = MeasuredBy(document);
  const int32_t offset = OffsetIn(document, At(params, {"position"}));
  if (what == "hover") {
    const std::optional<Shown> shown = HoverAt(reading, KnowledgeOf(document), offset);
    if (!shown.has_value()) return Json();
    return JsonObject(
        {{"contents", Markdown(shown->markdown)}, {"range", tools::RangeJson(measured, shown->begin, shown->end)}});
  }
  if (what == "definition") return Definition(document, offset);
  if (what == "references") return References(document, params);
  if (what == "documentHighlight") return Highlights(document, offset);
  if (what == "documentSymbol") return SymbolsOf(reading, measured);
  if (what == "prepareRename") {
    const std::optional<Declared> declared = DeclaredAt(reading, KnowledgeOf(document), offset);
    if (!declared.has_value()) return Json();
    return tools::RangeJson(measured, declared->here.begin, declared->here.end);
  }
  if (what == "rename") return Rename(document, params);
  if (what == "completion") {
    return CompletionsAt(reading, KnowledgeOf(document), std::filesystem::path(document.path).parent_path().string(),
                         offset);
  }
  if (what == "signatureHelp") return SignatureAt(reading, offset);
  if (what == "formatting") return Format(document);
  if (what == "foldingRange") return FoldsOf(reading, measured);
  if (what == "semanticTokens/full") return WordKindsOf(reading, measured);
  if (what == "inlayHint") {
    return HintsOf(reading, KnowledgeOf(document), measured, OffsetIn(document, At(params, {"range", "start"})),
                   OffsetIn(document, At(params, {"range", "end"})));
  }
  if (what == "codeLens") return tools::VerdictOf(reading, KnowledgeOf(document), measured);
  if (what == "codeAction") return Actions(document, params);
  return absl::UnimplementedError(method);
}

Json Server::Definition(Document& document, int32_t offset) {
  const Reading& reading = ReadingOf(document);
  // The path of an import leads to the file.
  for (const dsl::syntax::Item& item : reading.file().items) {
    const auto* import = std::get_if<dsl::syntax::Import>(&item.kind);
    if (import == nullptr || offset < import->path_span.begin || offset > import->path_span.end) continue;
    const std::filesystem::path path = std::filesystem::path(document.path).parent_path() / import->path.value;
    return LocationOf({.path = frontend::IdentityOf(path.lexically_normal().string())}).value_or(Json());
  }
  const std::optional<Declared> declared = DeclaredAt(reading, KnowledgeOf(document), offset);
  if (declared.has_value()) return LocationOf(declared->declaration).value_or(Json());
  const frontend::TextUse* const use = reading.UseAt(offset);
  if (use == nullptr || !use->elsewhere.has_value() || !reading.IsOfPrelude(*use->elsewhere)) return Json();
  const std::string prelude = WrittenPrelude();
  if (prelude.empty()) return Json();
  return LocationOf({.path = frontend::IdentityOf(prelude), .begin = use->elsewhere->begin, .end = use->elsewhere->end})
      .value_or(Json());
}

std::vector<FileRange> Server::AllPlacesOf(const FileRange& declaration) {
  std::vector<FileRange> places;
  std::set<std::string> done;
  const auto add = [&](const Reading& reading, const Knowledge& knowledge) {
    const std::vector<FileRange> own = PlacesOf(declaration, reading, knowledge);
    places.insert(places.end(), own.begin(), own.end());
  };
  for (auto& [uri, document] : documents_) {
    if (done.insert(document.identity).second) add(ReadingOf(document), KnowledgeOf(document));
  }
  // Files that are imported and not open.
  std::set<std::string> files;
  for (const auto& [path, root] : roots_) {
    for (const auto& snapshot : {root.current, root.seen}) {
      if (snapshot != nullptr) files.insert(snapshot->findings.files.begin(), snapshot->findings.files.end());
    }
  }
  for (const std::string& file : files) {
    if (!done.insert(file).second) continue;
    const std::shared_ptr<const EditedText> text = TextOfFile(file);
    if (text == nullptr) continue;
    const Document closed{.uri = "", .identity = file, .path = file, .text = std::make_shared<EditedText>(*text)};
    add(Reading(file, text->text(), OpenTexts()), KnowledgeOf(closed));
  }
  return places;
}

Json Server::References(Document& document, const Json& params) {
  Json locations = Json::array();
  const int32_t offset = OffsetIn(document, At(params, {"position"}));
  const std::optional<Declared> declared = DeclaredAt(ReadingOf(document), KnowledgeOf(document), offset);
  if (!declared.has_value()) return locations;
  const bool with_declaration = TruthOf(At(params, {"context", "includeDeclaration"}));
  for (const FileRange& place : AllPlacesOf(declared->declaration)) {
    if (place == declared->declaration && !with_declaration) continue;
    if (std::optional<Json> location = LocationOf(place)) locations.push_back(*std::move(location));
  }
  return locations;
}

Json Server::Highlights(Document& document, int32_t offset) {
  Json highlights = Json::array();
  const Reading& reading = ReadingOf(document);
  const Knowledge knowledge = KnowledgeOf(document);
  const std::optional<Declared> declared = DeclaredAt(reading, knowledge, offset);
  if (!declared.has_value()) return highlights;
  for (const FileRange& place : PlacesOf(declared->declaration, reading, knowledge)) {
    highlights.push_back(JsonObject({{"range", tools::RangeJson(MeasuredBy(document), place.begin, place.end)}}));
  }
  return highlights;
}

Json Server::EditsJson(std::vector<FileRange> places, const std::string& text) {
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  Json changes = Json::object();
  for (const FileRange& place : places) {
    const std::shared_ptr<const EditedText> file = TextOfFile(place.path);
    if (file == nullptr) continue;
    Json& edits = changes[UriOf(place.path)];
    edits.push_back(
        JsonObject({{"range", tools::RangeJson({*file, encoding_}, place.begin, place.end)}, {"newText", text}}));
  }
  return JsonObject({{"changes", std::move(changes)}});
}

Server::Answer Server::Rename(Document& document, const Json& params) {
  const std::string name = TextOf(At(params, {"newName"}));
  const int32_t offset = OffsetIn(document, At(params, {"position"}));
  const std::optional<Declared> declared = DeclaredAt(ReadingOf(document), KnowledgeOf(document), offset);
  if (!declared.has_value()) return absl::NotFoundError("nothing here has a name that can be changed");
  if (declared->declaration.path == frontend::IdentityOf(PreludePath())) {
    return absl::FailedPreconditionError("the prelude is a part of the compiler");
  }
  std::vector<FileRange> places = AllPlacesOf(declared->declaration);
  std::set<std::string> files = {document.identity, declared->declaration.path};
  for (const FileRange& place : places) files.insert(place.path);
  for (const std::string& file : files) {
    const std::shared_ptr<const EditedText> text = TextOfFile(file);
    if (text == nullptr) return absl::NotFoundError(absl::StrCat(QuotedPath(file), " cannot be read"));
    const Document own{.uri = "", .identity = file, .path = file, .text = std::make_shared<EditedText>(*text)};
    const Reading reading(file, text->text(), OpenTexts());
    if (const absl::Status can = CanRename(declared->declaration, name, reading, KnowledgeOf(own)); !can.ok()) {
      return can;
    }
  }
  return EditsJson(std::move(places), name);
}

Server::Answer Server::Format(Document& document) {
  const Reading& reading = ReadingOf(document);
  if (!reading.is_whole()) return absl::FailedPreconditionError("a text with mistakes of syntax is not formatted");
  const std::string& before = document.text->text();
  const std::string after = dsl::Format(reading.file());
  if (before == after) return Json::array();
  // Whole lines at both ends that stay as they are are no part of the edit.
  size_t same = 0, line = 0;
  const size_t shorter = std::min(before.size(), after.size());
  while (same < shorter && before[same] == after[same]) {
    if (before[same++] == '\n') line = same;
  }
  size_t at_end = 0, end_line = 0;
  while (at_end < shorter - line && before[before.size() - 1 - at_end] == after[after.size() - 1 - at_end]) {
    if (before[before.size() - 1 - at_end] == '\n') end_line = at_end;
    ++at_end;
  }
  const Json range = tools::RangeJson(MeasuredBy(document), static_cast<int32_t>(line),
                                      static_cast<int32_t>(before.size() - end_line));
  return Json::array({JsonObject({{"range", range}, {"newText", after.substr(line, after.size() - end_line - line)}})});
}

Json Server::Actions(Document& document, const Json& params) {
  Json actions = Json::array();
  const int32_t begin = OffsetIn(document, At(params, {"range", "start"}));
  const int32_t end = OffsetIn(document, At(params, {"range", "end"}));
  const std::string& text = document.text->text();
  for (const Root* root : RootsOf(document.identity)) {
    const auto studied = root->current->texts.find(document.identity);
    if (studied == root->current->texts.end() || *studied->second != text) continue;
    for (const FoundDiagnostic& diagnostic : root->current->findings.diagnostics) {
      if (diagnostic.labels.empty()) continue;
      const FileRange& place = diagnostic.labels[0].range;
      if (place.path != document.identity || place.end < begin || place.begin > end) continue;
      for (const Fix& fix : FixesOf(diagnostic, text)) {
        Json action = JsonObject({{"title", fix.title},
                                  {"kind", "quickfix"},
                                  {"diagnostics", Json::array({DiagnosticJson(diagnostic, MeasuredBy(document))})},
                                  {"edit", EditsJson({fix.range}, fix.text)}});
        const bool is_new = std::find(actions.begin(), actions.end(), action) == actions.end();
        if (is_new) actions.push_back(std::move(action));
      }
    }
  }
  return actions;
}

// ---------------------------------------------------------------------------------------------------------------------
// Diagnostics

Json Server::DiagnosticJson(const FoundDiagnostic& diagnostic, const Measured& measured) const {
  std::string message = diagnostic.message;
  const bool has_place = !diagnostic.labels.empty();
  if (has_place && !diagnostic.labels[0].text.empty()) {
    absl::StrAppend(&message, ": ", diagnostic.labels[0].text);
  }
  for (const std::string& note : diagnostic.notes) absl::StrAppend(&message, "\nnote: ", note);
  for (const std::string& help : diagnostic.help) absl::StrAppend(&message, "\nhelp: ", help);
  const FileRange place = has_place ? diagnostic.labels[0].range : FileRange{};
  Json json = JsonObject({{"range", tools::RangeJson(measured, place.begin, place.end)},
                          {"severity", SeverityNumber(diagnostic.severity)},
                          {"code", diagnostic.code},
                          {"source", "cleave"},
                          {"message", message}});
  // What is never used is shown faintly.
  if (absl::StartsWith(diagnostic.code, "W061") && absl::StrContains(diagnostic.message, " is never ")) {
    json["tags"] = Json::array({1});
  }
  Json related = Json::array();
  for (size_t i = 1; i < diagnostic.labels.size(); ++i) {
    const std::optional<Json> location = LocationOf(diagnostic.labels[i].range);
    if (!location.has_value()) continue;
    related.push_back(JsonObject({{"location", *location}, {"message", diagnostic.labels[i].text}}));
  }
  if (!related.empty()) json["relatedInformation"] = std::move(related);
  return json;
}

void Server::Publish() {
  std::map<std::string, Json> lists;
  std::set<std::string> kept;  // Their texts have changed: a study of them is under way.
  for (const auto& [path, root] : roots_) {
    const Findings& findings = root.current->findings;
    if (!findings.is_read) {
      for (const std::string& file : root.seen != nullptr ? root.seen->findings.files : std::vector<std::string>()) {
        kept.insert(UriOf(file));
      }
      kept.insert(UriOf(path));
      continue;
    }
    for (const std::string& file : findings.files) lists.try_emplace(UriOf(file), Json::array());
    for (const FoundDiagnostic& diagnostic : findings.diagnostics) {
      const std::string& file = diagnostic.labels.empty() ? path : diagnostic.labels[0].range.path;
      const std::string uri = UriOf(file);
      const std::shared_ptr<const EditedText> text = TextOfFile(file);
      const auto studied = root.current->texts.find(file);
      if (text == nullptr) continue;
      if (studied != root.current->texts.end() && *studied->second != text->text()) {
        kept.insert(uri);
        continue;
      }
      Json json = DiagnosticJson(diagnostic, {*text, encoding_});
      Json& list = lists.try_emplace(uri, Json::array()).first->second;
      if (std::find(list.begin(), list.end(), json) == list.end()) list.push_back(std::move(json));
    }
  }
  for (const auto& [uri, list] : published_) lists.try_emplace(uri, Json::array());
  for (auto& [uri, list] : lists) {
    const auto before = published_.find(uri);
    const bool is_known = before != published_.end() && before->second == list;
    if (is_known || kept.count(uri) > 0) continue;
    Send(JsonObject({{"jsonrpc", "2.0"},
                     {"method", "textDocument/publishDiagnostics"},
                     {"params", JsonObject({{"uri", uri}, {"diagnostics", list}})}}));
    published_[uri] = std::move(list);
  }
}

}  // namespace cleave::tools
