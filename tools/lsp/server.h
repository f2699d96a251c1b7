// The server without its pipes: messages of the Language Server Protocol (3.17) in, messages out, and requests for
// studies of models, which somebody else makes (loop.h).
//
//   Server server({.options = options});
//   server.Receive(message, Clock::now());
//   Write(server.TakeOutput());
//   if (auto wanted = server.WantedStudy()) …   // Later: server.Found(*wanted, part);
//
// One thread. What needs only the syntax of a text is answered at once. What needs a study waits for it for `patience`,
// and is then answered with what was found before, so that an answer never takes long.
#ifndef CLEAVE_TOOLS_LSP_SERVER_H_
#define CLEAVE_TOOLS_LSP_SERVER_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/json/json.h"
#include "tools/lsp/knowledge.h"
#include "tools/lsp/outline.h"
#include "tools/lsp/reading.h"
#include "tools/lsp/study.h"
#include "tools/lsp/text.h"

namespace cleave::tools {

struct ServerOptions {
  CompileOptions compile;  // For which machines plans are made.
  std::chrono::milliseconds patience = std::chrono::milliseconds(50);
  bool waits_for_plans = false;  // As well as for types.
};

// A study of the model at `path`, of its text and those of its imports at `revision`.
struct StudyName {
  std::string path;  // As frontend::IdentityOf gives it.
  int64_t revision = 0;

  bool operator==(const StudyName&) const = default;
};

class Server {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Server(ServerOptions options) : options_(std::move(options)) {}

  void Receive(const std::string& message, Clock::time_point now);

  // The messages that are to be sent, in their frames.
  std::string TakeOutput() { return std::exchange(output_, {}); }

  // Reads the texts of requests that wait: what can be done while a study goes on.
  void Prepare();

  // Answers what has waited long enough; `deadline` is when the next answer is due.
  void AnswerWaiting(Clock::time_point now);
  std::optional<Clock::time_point> deadline() const;

  // The study that is wanted most; nullopt where all are made. It stays the same until its texts change or it has
  // ended; another one is then to be given up for it.
  std::optional<StudyName> WantedStudy() const;
  StudyRequest RequestOf(const StudyName& study);
  void Found(const StudyName& study, const Json& part);
  void StudyEnded(const StudyName& study, const std::string& failure);  // `failure`: empty where there was none.

  // The client has said `exit`.
  bool is_over() const { return is_over_; }
  // Whether it has said `shutdown` before.
  bool is_shut_down() const { return is_shut_down_; }

 private:
  struct Document {
    std::string uri;
    std::string identity;
    std::string path;
    std::shared_ptr<EditedText> text;
    int64_t version = 0;
    std::unique_ptr<const Reading> reading = nullptr;  // Of the text as it is; made when it is asked for.
  };

  // A document as the root of a model.
  struct Root {
    int64_t wanted = 0;     // The revision that is to be studied.
    int64_t ended = 0;      // The last one that was.
    int64_t under_way = 0;  // That of `current`.
    std::shared_ptr<Snapshot> current = std::make_shared<Snapshot>();
    std::shared_ptr<Snapshot> seen, planned;  // The last ones with types and with a plan, or null.
  };

  struct Waiting {
    Json id;
    std::string method;
    Json params;
    Clock::time_point deadline;
  };

  using Answer = absl::StatusOr<Json>;

  void Send(const Json& message);
  void Reply(const Json& id, const Answer& answer);
  void ReplyError(const Json& id, int code, const std::string& message);
  void Log(const std::string& message);
  void Request(const std::string& method);

  void HandleRequest(const Json& id, const std::string& method, const Json& params, Clock::time_point now);
  void HandleNotification(const std::string& method, const Json& params);
  Json Initialize(const Json& params);

  void Open(const Json& params);
  void Change(const Json& params);
  void Close(const Json& params);
  void Changed(const std::string& identity);

  // Null where the document is not open.
  Document* DocumentOf(const Json& params);
  Document* DocumentAt(const std::string& identity);
  const Reading& ReadingOf(Document& document);
  Knowledge KnowledgeOf(const Document& document) const;
  frontend::OpenTexts OpenTexts() const;
  int32_t OffsetIn(const Document& document, const Json& position) const;
  Measured MeasuredBy(const Document& document) const { return {*document.text, encoding_}; }
  // The text of a file, open or not; nullopt where it cannot be read.
  std::shared_ptr<const EditedText> TextOfFile(const std::string& identity) const;
  std::string UriOf(const std::string& identity) const;
  std::optional<Json> LocationOf(const FileRange& range) const;

  // The roots of which a document is a part, its own first.
  std::vector<const Root*> RootsOf(const std::string& identity) const;
  bool IsFresh(const Document& document, const std::string& method) const;
  Answer AnswerTo(const std::string& method, const Json& params);
  Answer AnswerAbout(const std::string& method, const Json& params, Document& document);
  Json Definition(Document& document, int32_t offset);
  Json References(Document& document, const Json& params);
  Json Highlights(Document& document, int32_t offset);
  Answer Rename(Document& document, const Json& params);
  Answer Format(Document& document);
  Json Actions(Document& document, const Json& params);
  std::vector<FileRange> AllPlacesOf(const FileRange& declaration);
  Json EditsJson(std::vector<FileRange> places, const std::string& text);

  void Publish();
  Json DiagnosticJson(const FoundDiagnostic& diagnostic, const Measured& measured) const;
  void AskToRefresh(bool hints, bool lenses);

  const ServerOptions options_;
  Encoding encoding_ = Encoding::kUtf16;
  bool is_initialized_ = false, is_shut_down_ = false, is_over_ = false;
  bool can_refresh_hints_ = false, can_refresh_lenses_ = false;
  int64_t next_request_ = 1;
  int64_t revision_ = 0;
  std::map<std::string, Document> documents_;  // By uri.
  std::map<std::string, Root> roots_;          // By identity.
  std::map<std::string, Json> published_;      // By uri.
  std::deque<Waiting> waiting_;
  std::string output_;
};

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_LSP_SERVER_H_
