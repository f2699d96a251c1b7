// Reading guide: Receive takes a message apart and hands it to HandleRequest or HandleNotification. A request is
// answered by AnswerTo (answers.cc), at once or after having waited in `waiting_`. Below are, in this order: messages,
// documents, studies.
#include "tools/lsp/server.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file/file.h"
#include "dsl/parse/parse.h"
#include "tools/lsp/framing.h"
#include "tools/lsp/json_fields.h"
#include "tools/lsp/prelude_file.h"
#include "tools/lsp/uri.h"

namespace cleave::tools {
namespace {

// Codes of JSON-RPC and of the protocol.
enum ErrorCode {
  kParseError = -32700,
  kInvalidRequest = -32600,
  kMethodNotFound = -32601,
  kNotInitialized = -32002,
  kRequestFailed = -32803,
  kCancelled = -32800,
};

bool IsAnswered(const std::string& method) {
  static const auto& methods = *new std::set<std::string>{
      "textDocument/hover",          "textDocument/definition",    "textDocument/references",
      "textDocument/rename",         "textDocument/prepareRename", "textDocument/documentHighlight",
      "textDocument/documentSymbol", "textDocument/completion",    "textDocument/signatureHelp",
      "textDocument/formatting",     "textDocument/foldingRange",  "textDocument/semanticTokens/full",
      "textDocument/inlayHint",      "textDocument/codeLens",      "textDocument/codeAction"};
  return methods.count(method) > 0;
}

// Requests whose answers are better with what a study finds.
bool NeedsStudy(const std::string& method) {
  static const auto& methods = *new std::set<std::string>{
      "textDocument/hover",      "textDocument/inlayHint",     "textDocument/codeLens",
      "textDocument/codeAction", "textDocument/definition",    "textDocument/references",
      "textDocument/rename",     "textDocument/prepareRename", "textDocument/documentHighlight"};
  return methods.count(method) > 0;
}

}  // namespace

// ---------------------------------------------------------------------------------------------------------------------
// Messages

void Server::Send(const Json& message) { absl::StrAppend(&output_, Framed(JsonLine(message))); }

void Server::Reply(const Json& id, const Answer& answer) {
  if (!answer.ok()) return ReplyError(id, kRequestFailed, std::string(answer.status().message()));
  Send(JsonObject({{"jsonrpc", "2.0"}, {"id", id}, {"result", *answer}}));
}

void Server::ReplyError(const Json& id, int code, const std::string& message) {
  Send(JsonObject({{"jsonrpc", "2.0"}, {"id", id}, {"error", JsonObject({{"code", code}, {"message", message}})}}));
}

void Server::Log(const std::string& message) {
  Send(JsonObject({{"jsonrpc", "2.0"},
                   {"method", "window/logMessage"},
                   {"params", JsonObject({{"type", 2}, {"message", message}})}}));
}

void Server::Request(const std::string& method) {
  Send(JsonObject({{"jsonrpc", "2.0"}, {"id", absl::StrCat("cleave-", next_request_++)}, {"method", method}}));
}

void Server::Receive(const std::string& message, Clock::time_point now) {
  const absl::StatusOr<Json> json = ParseStrictJson(message);
  if (!json.ok()) return ReplyError(nullptr, kParseError, std::string(json.status().message()));
  const Json& id = At(*json, {"id"});
  const bool has_id = id.is_string() || id.is_number_integer();
  const Json& method = At(*json, {"method"});
  if (!method.is_string()) {
    // An answer to a request of ours needs nothing.
    const bool is_answer = json->is_object() && (json->contains("result") || json->contains("error"));
    if (!is_answer) ReplyError(has_id ? id : Json(), kInvalidRequest, "no message of JSON-RPC");
    return;
  }
  if (has_id) {
    HandleRequest(id, TextOf(method), At(*json, {"params"}), now);
  } else {
    HandleNotification(TextOf(method), At(*json, {"params"}));
  }
}

void Server::HandleRequest(const Json& id, const std::string& method, const Json& params, Clock::time_point now) {
  if (method == "initialize" && !is_initialized_) return Reply(id, Initialize(params));
  if (!is_initialized_) return ReplyError(id, kNotInitialized, "`initialize` comes first");
  if (is_shut_down_) return ReplyError(id, kInvalidRequest, "the server has been shut down");
  if (method == "shutdown") {
    is_shut_down_ = true;
    return Reply(id, Json());
  }
  if (!IsAnswered(method)) return ReplyError(id, kMethodNotFound, absl::StrCat("no method `", method, "`"));
  const Document* const document = DocumentOf(params);
  if (document != nullptr && NeedsStudy(method) && !IsFresh(*document, method)) {
    waiting_.push_back({.id = id, .method = method, .params = params, .deadline = now + options_.patience});
    return;
  }
  Reply(id, AnswerTo(method, params));
}

void Server::HandleNotification(const std::string& method, const Json& params) {
  if (method == "exit") is_over_ = true;
  if (!is_initialized_ || is_shut_down_) return;
  if (method == "textDocument/didOpen") Open(params);
  if (method == "textDocument/didChange") Change(params);
  if (method == "textDocument/didClose") Close(params);
  if (method == "workspace/didChangeWatchedFiles") {
    for (const Json& change : ListAt(params, "changes")) {
      Changed(frontend::IdentityOf(PathOfUri(TextOf(At(change, {"uri"})))));
    }
  }
  if (method == "$/cancelRequest") {
    const auto cancelled = std::find_if(waiting_.begin(), waiting_.end(),
                                        [&](const Waiting& each) { return each.id == At(params, {"id"}); });
    if (cancelled == waiting_.end()) return;
    ReplyError(cancelled->id, kCancelled, "cancelled");
    waiting_.erase(cancelled);
  }
}

Json Server::Initialize(const Json& params) {
  is_initialized_ = true;
  // The prelude is parsed once, before the first text comes: studies go on from there.
  Reading("", "", {});
  for (const std::string& each : TextsOf(At(params, {"capabilities", "general", "positionEncodings"}))) {
    if (each == "utf-8") encoding_ = Encoding::kUtf8;
  }
  can_refresh_hints_ = TruthOf(At(params, {"capabilities", "workspace", "inlayHint", "refreshSupport"}));
  can_refresh_lenses_ = TruthOf(At(params, {"capabilities", "workspace", "codeLens", "refreshSupport"}));
  const Json sync = JsonObject({{"openClose", true}, {"change", 2}});
  const Json legend = JsonObject({{"tokenTypes", WordKindNames()}, {"tokenModifiers", Json::array()}});
  Json capabilities =
      JsonObject({{"positionEncoding", encoding_ == Encoding::kUtf8 ? "utf-8" : "utf-16"},
                  {"textDocumentSync", sync},
                  {"hoverProvider", true},
                  {"definitionProvider", true},
                  {"referencesProvider", true},
                  {"documentHighlightProvider", true},
                  {"documentSymbolProvider", true},
                  {"renameProvider", JsonObject({{"prepareProvider", true}})},
                  {"completionProvider", JsonObject({{"triggerCharacters", Json::array({".", "\"", "[", "/"})}})},
                  {"signatureHelpProvider", JsonObject({{"triggerCharacters", Json::array({"(", ","})}})},
                  {"documentFormattingProvider", true},
                  {"foldingRangeProvider", true},
                  {"semanticTokensProvider", JsonObject({{"legend", legend}, {"full", true}})},
                  {"inlayHintProvider", true},
                  {"codeLensProvider", JsonObject({{"resolveProvider", false}})},
                  {"codeActionProvider", JsonObject({{"codeActionKinds", Json::array({"quickfix"})}})}});
  return JsonObject({{"capabilities", std::move(capabilities)}, {"serverInfo", JsonObject({{"name", "cleave"}})}});
}

// ---------------------------------------------------------------------------------------------------------------------
// Documents

void Server::Open(const Json& params) {
  const Json& item = At(params, {"textDocument"});
  const std::string uri = TextOf(At(item, {"uri"}));
  if (uri.empty()) return;
  const std::string path = PathOfUri(uri);
  const std::string identity = frontend::IdentityOf(path);
  documents_.insert_or_assign(uri, Document{.uri = uri,
                                            .identity = identity,
                                            .path = path,
                                            .text = std::make_shared<EditedText>(TextOf(At(item, {"text"}))),
                                            .version = NumberOf(At(item, {"version"}))});
  // The prelude is part of every model, and none itself.
  if (identity != frontend::IdentityOf(PreludePath())) roots_.try_emplace(identity);
  Changed(identity);
}

void Server::Change(const Json& params) {
  Document* const document = DocumentOf(params);
  if (document == nullptr) return Log("a text was changed that is not open");
  // Others may hold the text as it was.
  auto text = std::make_shared<EditedText>(*document->text);
  for (const Json& change : ListAt(params, "contentChanges")) {
    const Json& range = At(change, {"range"});
    const auto position = [&](const char* end) {
      return Position{NumberOf(At(range, {end, "line"})), NumberOf(At(range, {end, "character"}))};
    };
    if (range.is_object()) {
      text->Replace(position("start"), position("end"), TextOf(At(change, {"text"})), encoding_);
    } else {
      *text = EditedText(TextOf(At(change, {"text"})));
    }
  }
  document->text = std::move(text);
  document->version = NumberOf(At(params, {"textDocument", "version"}));
  Changed(document->identity);
}

void Server::Close(const Json& params) {
  Document* const document = DocumentOf(params);
  if (document == nullptr) return;
  const std::string identity = document->identity;
  documents_.erase(document->uri);
  if (DocumentAt(identity) == nullptr) roots_.erase(identity);
  Changed(identity);
  Publish();
}

void Server::Changed(const std::string& identity) {
  ++revision_;
  for (auto& [path, root] : roots_) {
    const std::vector<std::string>& files = (root.current->findings.is_read || root.seen == nullptr)
                                                ? root.current->findings.files
                                                : root.seen->findings.files;
    const bool is_part = std::find(files.begin(), files.end(), identity) != files.end();
    if (path == identity || is_part) root.wanted = revision_;
  }
  // A text is read together with what it imports.
  for (auto& [uri, document] : documents_) document.reading = nullptr;
}

Server::Document* Server::DocumentOf(const Json& params) {
  const auto found = documents_.find(TextOf(At(params, {"textDocument", "uri"})));
  return found == documents_.end() ? nullptr : &found->second;
}

Server::Document* Server::DocumentAt(const std::string& identity) {
  for (auto& [uri, document] : documents_) {
    if (document.identity == identity) return &document;
  }
  return nullptr;
}

const Reading& Server::ReadingOf(Document& document) {
  if (document.reading == nullptr) {
    document.reading = std::make_unique<const Reading>(document.path, document.text->text(), OpenTexts());
  }
  return *document.reading;
}

frontend::OpenTexts Server::OpenTexts() const {
  frontend::OpenTexts texts;
  for (const auto& [uri, document] : documents_) texts[document.identity] = document.text->text();
  return texts;
}

int32_t Server::OffsetIn(const Document& document, const Json& position) const {
  return document.text->OffsetOf({NumberOf(At(position, {"line"})), NumberOf(At(position, {"character"}))}, encoding_);
}

std::shared_ptr<const EditedText> Server::TextOfFile(const std::string& identity) const {
  for (const auto& [uri, document] : documents_) {
    if (document.identity == identity) return document.text;
  }
  absl::StatusOr<std::string> text = ReadFile(identity, {.what = "model", .most_bytes = dsl::kMaxSourceBytes});
  return text.ok() ? std::make_shared<const EditedText>(*std::move(text)) : nullptr;
}

std::string Server::UriOf(const std::string& identity) const {
  for (const auto& [uri, document] : documents_) {
    if (document.identity == identity) return uri;
  }
  return UriOfPath(identity);
}

std::optional<Json> Server::LocationOf(const FileRange& range) const {
  const std::shared_ptr<const EditedText> text = TextOfFile(range.path);
  if (text == nullptr) return std::nullopt;
  return JsonObject(
      {{"uri", UriOf(range.path)}, {"range", tools::RangeJson({*text, encoding_}, range.begin, range.end)}});
}

// ---------------------------------------------------------------------------------------------------------------------
// Studies

std::optional<StudyName> Server::WantedStudy() const {
  std::optional<StudyName> wanted;
  for (const auto& [path, root] : roots_) {
    if (root.wanted <= root.ended) continue;
    if (!wanted.has_value() || root.wanted > wanted->revision) wanted = StudyName{path, root.wanted};
  }
  return wanted;
}

StudyRequest Server::RequestOf(const StudyName& study) {
  Root& root = roots_.at(study.path);
  root.under_way = study.revision;
  root.current = std::make_shared<Snapshot>();
  StudyRequest request{.path = "", .text = "", .open = OpenTexts(), .options = options_.compile};
  for (const auto& [uri, document] : documents_) {
    auto text = std::shared_ptr<const std::string>(document.text, &document.text->text());
    if (document.identity == study.path) {
      request.path = document.path;
      request.text = *text;
    }
    root.current->texts[document.identity] = std::move(text);
  }
  return request;
}

void Server::Found(const StudyName& study, const Json& part) {
  const auto found = roots_.find(study.path);
  if (found == roots_.end() || found->second.under_way != study.revision) return;
  Root& root = found->second;
  const bool was_seen = root.current->findings.is_seen, was_planned = root.current->findings.is_planned;
  root.current->findings.Take(part);
  const Findings& findings = root.current->findings;
  if (findings.is_seen) root.seen = root.current;
  if (findings.is_planned) root.planned = root.current;
  AskToRefresh(findings.is_seen && !was_seen, findings.is_planned && !was_planned);
  if (findings.is_read) Publish();
}

void Server::StudyEnded(const StudyName& study, const std::string& failure) {
  if (!failure.empty()) Log(failure);
  const auto found = roots_.find(study.path);
  if (found == roots_.end()) return;
  Root& root = found->second;
  root.ended = std::max(root.ended, study.revision);
  if (root.under_way == study.revision && !root.current->findings.bug.empty()) Log(root.current->findings.bug);
}

void Server::AskToRefresh(bool hints, bool lenses) {
  if (hints && can_refresh_hints_) Request("workspace/inlayHint/refresh");
  if (lenses && can_refresh_lenses_) Request("workspace/codeLens/refresh");
}

std::vector<const Server::Root*> Server::RootsOf(const std::string& identity) const {
  std::vector<const Root*> roots;
  for (const auto& [path, root] : roots_) {
    if (path == identity) roots.insert(roots.begin(), &root);
    bool is_part = false;
    for (const auto& snapshot : {root.current, root.seen, root.planned}) {
      if (snapshot == nullptr) continue;
      const std::vector<std::string>& files = snapshot->findings.files;
      is_part |= std::find(files.begin(), files.end(), identity) != files.end();
    }
    if (path != identity && is_part) roots.push_back(&root);
  }
  return roots;
}

Knowledge Server::KnowledgeOf(const Document& document) const {
  std::vector<const Snapshot*> snapshots;
  for (const Root* root : RootsOf(document.identity)) {
    for (const auto& snapshot : {root->current, root->seen, root->planned}) {
      const bool is_new = std::find(snapshots.begin(), snapshots.end(), snapshot.get()) == snapshots.end();
      if (snapshot != nullptr && is_new) snapshots.push_back(snapshot.get());
    }
  }
  return Knowledge(std::move(snapshots), document.identity, document.text->text());
}

bool Server::IsFresh(const Document& document, const std::string& method) const {
  const bool needs_diagnostics = method == "textDocument/codeAction";
  const std::vector<const Root*> roots = RootsOf(document.identity);
  return std::all_of(roots.begin(), roots.end(), [&](const Root* root) {
    if (root->ended >= root->wanted) return true;
    const Findings& findings = root->current->findings;
    const bool is_known = findings.is_read || (findings.is_seen && !needs_diagnostics);
    return root->under_way >= root->wanted && is_known && !options_.waits_for_plans;
  });
}

void Server::Prepare() {
  for (const Waiting& each : waiting_) {
    Document* const document = DocumentOf(each.params);
    if (document != nullptr) ReadingOf(*document);
  }
}

void Server::AnswerWaiting(Clock::time_point now) {
  std::deque<Waiting> still;
  for (Waiting& each : std::exchange(waiting_, {})) {
    const Document* const document = DocumentOf(each.params);
    if (document != nullptr && now < each.deadline && !IsFresh(*document, each.method)) {
      still.push_back(std::move(each));
    } else {
      Reply(each.id, AnswerTo(each.method, each.params));
    }
  }
  waiting_ = std::move(still);
}

std::optional<Server::Clock::time_point> Server::deadline() const {
  std::optional<Clock::time_point> first;
  for (const Waiting& each : waiting_) first = std::min(first.value_or(each.deadline), each.deadline);
  return first;
}

}  // namespace cleave::tools
