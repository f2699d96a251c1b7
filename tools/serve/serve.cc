// Reading guide: RunServe starts the program and the server; Service answers the requests of HTTP, in threads of the
// server: Answer asks the program, and Stream hands pieces on as they come.
#include "tools/serve/serve.h"

#include <httplib.h>
#include <signal.h>

#include <atomic>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file/file.h"
#include "tools/serve/api.h"
#include "tools/serve/program.h"

namespace cleave::tools {
namespace {

constexpr size_t kMostBytes = size_t{4} << 20;  // Of a request.
constexpr size_t kMoreThreads = 16;             // Beside one for each request that waits or is answered.
constexpr int kSecondsToSend = 10;              // Who takes longer for the next bytes has gone away.
constexpr char kJson[] = "application/json";
constexpr char kBadRequest[] = "invalid_request_error";

struct ServeOptions {
  std::string folder, host = "127.0.0.1", model;
  int port = 8080;
  int64_t most = 64;
  std::vector<std::string> flags;  // Of run.sh.
};

void AddServeOptions(CLI::App& app, ServeOptions& options) {
  SetValue(app.add_option("FOLDER", options.folder, "The program: what `cleave compile --mode generate` has written")
               ->required(),
           "FOLDER");
  SetValue(app.add_option("--port", options.port, "The port; 0 takes any that is free (default 8080)"), "PORT");
  SetValue(app.add_option("--host", options.host,
                          "The address; 0.0.0.0 lets other machines in, without a password (default 127.0.0.1)"),
           "ADDRESS");
  SetValue(app.add_option("--most", options.most,
                          "Requests that are answered or wait at once; further ones get status 503 (default 64)")
               ->check(CLI::Range(int64_t{1}, int64_t{1000})),
           "N");
  SetValue(app.add_option("--name", options.model, "What the model is called (default: the name of the folder)"),
           "NAME");
  SetValue(app.add_option("FLAGS", options.flags, "Behind `--`: flags of run.sh, as `--params weights.safetensors`"),
           "FLAGS");
}

std::string TextOf(const runtime::Json& line, const char* name) {
  const runtime::Json* const value = line.Find(name);
  return value == nullptr ? "" : value->text;
}

ApiEnd EndOf(const runtime::Json& line) {
  return {.reason = TextOf(line, "finish_reason"),
          .prompt_tokens = runtime::IntegerMember(line, "prompt_tokens").value(),
          .tokens = runtime::IntegerMember(line, "completion_tokens").value()};
}

void Refuse(httplib::Response& response, int status, const std::string& message, const std::string& type) {
  response.status = status;
  response.set_content(ErrorResponse(message, type), kJson);
}

class Service {
 public:
  // `most`: requests at once.
  Service(std::string model, Program& program, int64_t most)
      : model_(std::move(model)), program_(program), most_(most) {}

  void AddTo(httplib::Server& server) {
    server.Get("/health", [](const httplib::Request&, httplib::Response& response) {
      response.set_content("{\"status\":\"ok\"}", kJson);
    });
    server.Get("/v1/models", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(ModelsResponse(model_, started_), kJson);
    });
    for (const auto& [path, kind] :
         {std::pair("/v1/chat/completions", ApiKind::kChat), std::pair("/v1/completions", ApiKind::kCompletion)}) {
      server.Post(path, [this, kind = kind](const httplib::Request& request, httplib::Response& response) {
        Answer(kind, request.body, response);
      });
    }
    server.set_error_handler([](const httplib::Request& request, httplib::Response& response) {
      if (!response.body.empty()) return;
      const std::string message =
          response.status == 404 ? absl::StrCat("there is no ", request.method, " ", request.path.substr(0, 100))
          : response.status == 413
              ? "the request is longer than 4 MiB, or than 8 KiB without `Content-Type: application/json`"
              : absl::StrCat("HTTP status ", response.status);
      response.set_content(ErrorResponse(message, kBadRequest), kJson);
    });
  }

 private:
  // A request that the program answers, in a slot or waiting for one. It is cancelled where nobody waits for its end.
  struct Asked {
    Asked(Service& its_service, std::string its_id, const std::string& line)
        : service(its_service), id(std::move(its_id)), lines(service.program_.Ask(id, line)) {}
    ~Asked() {
      service.program_.Cancel(id);
      --service.asked_;
    }

    Service& service;
    const std::string id;
    const std::shared_ptr<Answering> lines;
  };

  // Nullopt where the program has ended.
  static std::optional<runtime::Json> Wait(Answering& lines) {
    for (;;) {
      if (std::optional<runtime::Json> line = lines.Next(1)) return line;
      if (lines.has_ended()) return std::nullopt;
    }
  }

  void Answer(ApiKind kind, const std::string& body, httplib::Response& response) {
    const runtime::Result<ApiRequest> request = ReadApiRequest(kind, body, model_);
    if (!request.ok()) {
      const bool is_other_model = request.error().code == runtime::ExitCode::kUsage;
      return Refuse(response, is_other_model ? 404 : 400, request.error().message, kBadRequest);
    }
    const std::string id = std::to_string(++count_);
    const ApiAnswer answer = {.kind = kind,
                              .id = absl::StrCat(kind == ApiKind::kChat ? "chatcmpl-" : "cmpl-", started_, "-", id),
                              .model = model_,
                              .created = static_cast<int64_t>(std::time(nullptr))};
    if (++asked_ > most_) {
      --asked_;
      response.set_header("Retry-After", "1");
      return Refuse(response, 503, absl::StrCat("there are ", most_, " requests already: try again later"),
                    "server_error");
    }
    auto asked = std::make_shared<Asked>(*this, id, ProgramLine(request.value(), id));
    std::optional<runtime::Json> first = Wait(*asked->lines);
    if (!first.has_value()) return Refuse(response, 503, "the program has ended", "server_error");
    if (first->Find("error") != nullptr) return Refuse(response, 400, TextOf(*first, "error"), kBadRequest);
    if (request.value().streams) {
      return Stream(answer, request.value().includes_usage, std::move(asked), *std::move(first), response);
    }
    response.set_content(WholeResponse(answer, TextOf(*first, "content"), EndOf(*first)), kJson);
  }

  // Called for each piece until it returns false or says that it is done.
  void Stream(const ApiAnswer& answer, bool includes_usage, std::shared_ptr<Asked> asked, runtime::Json first,
              httplib::Response& response) {
    auto line = std::make_shared<std::optional<runtime::Json>>(std::move(first));
    auto is_first = std::make_shared<bool>(true);
    const auto provide = [=](size_t, httplib::DataSink& sink) {
      const auto write = [&](const std::string& object) {
        const std::string event = absl::StrCat("data: ", object, "\n\n");
        return object.empty() || sink.write(event.data(), event.size());
      };
      if (std::exchange(*is_first, false) && !write(FirstChunk(answer))) return false;
      if (!line->has_value()) *line = asked->lines->Next(1);
      if (!line->has_value()) return !asked->lines->has_ended() && sink.is_writable();
      const runtime::Json said = *std::exchange(*line, std::nullopt);
      if (said.Find("delta") != nullptr) return write(TextChunk(answer, TextOf(said, "delta")));
      const ApiEnd end = EndOf(said);
      if (!write(LastChunk(answer, end)) || (includes_usage && !write(UsageChunk(answer, end))) || !write("[DONE]")) {
        return false;
      }
      sink.done();
      return true;
    };
    response.set_header("Cache-Control", "no-cache");
    response.set_chunked_content_provider("text/event-stream", provide);
  }

  const std::string model_;
  Program& program_;
  const int64_t most_;
  std::atomic<int64_t> asked_ = 0;
  const int64_t started_ = static_cast<int64_t>(std::time(nullptr));
  std::atomic<int64_t> count_ = 0;
};

ExitCode Fail(std::ostream& err, ExitCode code, const std::string& message) {
  err << "error: " << message << std::endl;
  return code;
}

}  // namespace

void DescribeServe(CLI::App& app) { AddServeOptions(app, *new ServeOptions); }

ExitCode RunServe(const std::string& name, const std::string& summary, const std::vector<std::string>& words,
                  std::ostream& out, std::ostream& err) {
  ServeOptions options;
  CLI::App app(summary, name);
  AddServeOptions(app, options);
  if (const auto exit = Parse(app, words)) return Print(*exit, out, err);
  const std::filesystem::path folder = std::filesystem::absolute(options.folder).lexically_normal();
  if (options.model.empty())
    options.model = (folder.has_filename() ? folder : folder.parent_path()).filename().string();
  const std::string script = (folder / "run.sh").string();
  const auto text = ReadFile((folder / "program.cc").string(), {.what = "program", .most_bytes = int64_t{1} << 26});
  if (text.ok() && !absl::StrContains(*text, "Mode::kGenerate")) {
    return Fail(
        err, ExitCode::kUsage,
        absl::StrCat(QuotedPath(options.folder), " is no program that generates: compile with `--mode generate`"));
  }
  // Signals end the server, by a thread that waits for them.
  sigset_t ends;
  sigemptyset(&ends);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, number);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  httplib::Server server;
  server.set_payload_max_length(kMostBytes);
  server.set_read_timeout(kSecondsToSend);
  server.set_write_timeout(kSecondsToSend);
  server.set_keep_alive_timeout(5);
  server.new_task_queue = [&] { return new httplib::ThreadPool(static_cast<size_t>(options.most) + kMoreThreads); };
  int port = options.port;
  const bool is_bound =
      port == 0 ? (port = server.bind_to_any_port(options.host)) > 0 : server.bind_to_port(options.host, port);
  if (!is_bound) {
    return Fail(err, ExitCode::kEnvironment,
                absl::StrCat("port ", options.port, " of ", options.host, " is not free, or not ours to take"));
  }
  std::vector<std::string> command = {script};
  command.insert(command.end(), options.flags.begin(), options.flags.end());
  command.insert(command.end(), {"--quiet", "--chat-file", "-"});
  runtime::Result<std::unique_ptr<Program>> program = Program::Start(command);
  if (!program.ok()) return Fail(err, ExitCode::kEnvironment, program.error().message);
  std::atomic<bool> is_over = false;
  program.value()->WhenEnded([&] {
    is_over = true;
    server.stop();
  });
  Service service(options.model, *program.value(), options.most);
  service.AddTo(server);
  out << absl::StrCat("`", options.model, "` at http://", options.host, ":", port, "/v1\n") << std::flush;
  std::thread([ends, &server] {
    int number = 0;
    sigwait(&ends, &number);
    server.stop();
  }).detach();
  if (!is_over) server.listen_after_bind();
  if (is_over) return Fail(err, ExitCode::kEnvironment, "the program has ended");
  return ExitCode::kDone;
}

}  // namespace cleave::tools
