// Reading guide: ReadRequest makes an answer of a line; AnswerFile and AnswerInput are the two ways to get lines.
#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <utility>

#include "runtime/file/file.h"
#include "runtime/generate/answers.h"  // IWYU pragma: associated
#include "runtime/generate/input_lines.h"
#include "runtime/json/json.h"
#include "runtime/json/json_writer.h"
#include "runtime/utf8/utf8.h"

namespace cleave::runtime {
namespace {

constexpr size_t kMostStops = 16;

// The members of a request that are settings. All have the form that the interface of OpenAI gives them.
struct Settings {
  std::string id;
  bool streams = false;
  Sampling sampling;
  std::optional<int64_t> length, seed;
  std::vector<std::string> stops;
};

Error Wrong(const char* name, const char* what) {
  return {ExitCode::kInput, Format("has a `%s` that is not %s", name, what)};
}

const Json* Member(const Json& object, const char* name) {
  const Json* const value = object.Find(name);
  return value == nullptr || value->kind == Json::Kind::kNull ? nullptr : value;
}

std::optional<Error> ReadNumber(const Json& request, const char* name, double& number) {
  const Json* const value = Member(request, name);
  if (value == nullptr) return std::nullopt;
  if (value->kind != Json::Kind::kNumber) return Wrong(name, "a number");
  number = std::strtod(value->text.c_str(), nullptr);
  return std::nullopt;
}

std::optional<Error> ReadWhole(const Json& request, const char* name, int64_t least, std::optional<int64_t>& number) {
  const Json* const value = Member(request, name);
  if (value == nullptr) return std::nullopt;
  number = JsonInteger(*value);
  if (number.has_value() && *number >= least) return std::nullopt;
  return Error{ExitCode::kInput, Format("has a `%s` that is not a whole number of at least %" PRId64, name, least)};
}

std::optional<Error> ReadStops(const Json& request, std::vector<std::string>& stops) {
  const Json* const value = Member(request, "stop");
  if (value == nullptr) return std::nullopt;
  const bool is_list = value->kind == Json::Kind::kArray;
  const std::vector<Json> texts = is_list ? value->items : std::vector<Json>{*value};
  if (texts.size() > kMostStops) return Wrong("stop", "at most 16 texts");
  for (const Json& text : texts) {
    if (text.kind != Json::Kind::kString || text.text.empty()) return Wrong("stop", "a text, or a list of texts");
    stops.push_back(text.text);
  }
  return std::nullopt;
}

std::optional<Error> ReadSettings(const Json& request, Settings& settings) {
  if (const Json* const streams = Member(request, "stream")) {
    if (streams->kind != Json::Kind::kBool) return Wrong("stream", "true or false");
    settings.streams = streams->text == "true";
  }
  std::optional<int64_t> top_k;
  if (auto error = ReadNumber(request, "temperature", settings.sampling.temperature)) return error;
  if (auto error = ReadNumber(request, "top_p", settings.sampling.top_p)) return error;
  if (auto error = ReadWhole(request, "top_k", 0, top_k)) return error;
  if (top_k.has_value()) settings.sampling.top_k = *top_k;
  if (auto error = ReadWhole(request, "max_tokens", 1, settings.length)) return error;
  if (auto error = ReadWhole(request, "seed", 0, settings.seed)) return error;
  if (auto error = ReadStops(request, settings.stops)) return error;
  return CheckSampling(settings.sampling);
}

class Requests {
 public:
  explicit Requests(Session& session) : session_(session) {}

  // All lines of a file: the answers are in the order of the lines.
  std::optional<Error> AnswerFile(const std::string& path) {
    const Result<std::vector<uint8_t>> bytes = ReadFile(path);
    if (!bytes.ok()) return bytes.error();
    const std::string text(bytes.value().begin(), bytes.value().end());
    std::vector<TextAnswer> answers;
    std::vector<Settings> settings;
    int64_t line = 0;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      const std::string request = text.substr(at, end - at);
      at = end + 1;
      ++line;
      if (IsEmpty(request)) continue;
      Settings own;
      Result<TextAnswer> answer = ReadRequest(request, own);
      if (!answer.ok()) {
        return Error{ExitCode::kInput,
                     Format("%s:%" PRId64 ": %s", path.c_str(), line, answer.error().message.c_str())};
      }
      answers.push_back(std::move(answer.value()));
      settings.push_back(std::move(own));
    }
    const auto show = [](const std::string&) {};
    return ContinueAll(session_, answers, show, [&](size_t i) { WriteEnd(settings[i], answers[i]); });
  }

  // Lines as they come: each is answered as soon as a slot is free. A line {"cancel": ID} ends an answer.
  std::optional<Error> AnswerInput() {
    lines_.emplace();
    const Asker asker = {.next = [&] { return Next(); },
                         .show =
                             [&](const TextAnswer& answer, const std::string& piece) {
                               ReceiveAll();
                               const Settings& settings = Find(answer)->settings;
                               if (settings.streams) WriteMore(settings, piece);
                             },
                         .done =
                             [&](TextAnswer& answer) {
                               const auto request = Find(answer);
                               WriteEnd(request->settings, answer);
                               answered_.erase(request);
                             }};
    for (;;) {
      if (std::optional<Error> error = Continue(session_, asker)) return error;
      std::optional<std::string> line = lines_->Next(kSecondsBetweenSigns);
      if (line.has_value()) {
        Receive(*std::move(line));
      } else if (lines_->AreOver()) {
        return std::nullopt;
      } else {
        session_.continuation.Wait();
      }
    }
  }

 private:
  struct Request {
    TextAnswer answer;
    Settings settings;
  };
  using List = std::list<Request>;

  static bool IsEmpty(const std::string& line) { return line.find_first_not_of(" \t\r") == std::string::npos; }

  // An Error is a sentence without its subject, the request: "has no `messages`".
  Result<TextAnswer> ReadRequest(const std::string& line, Settings& settings) {
    if (line.size() >= InputLines::kLongest) return Error{ExitCode::kInput, "is longer than 16 MiB"};
    if (FindInvalidUtf8(line).has_value()) return Error{ExitCode::kInput, "is not UTF-8"};
    const Result<Json> json = ParseJson(line);
    if (!json.ok()) return json.error();
    if (json.value().kind != Json::Kind::kObject) return Error{ExitCode::kInput, "is not an object of JSON"};
    const Json& request = json.value();
    settings.sampling = session_.options.sampling;
    settings.length = session_.options.length;
    settings.stops = session_.options.stops;
    if (const Json* const id = Member(request, "id")) settings.id = id->text;
    if (auto error = ReadSettings(request, settings)) return *error;
    const bool is_chat = Member(request, "messages") != nullptr;
    Result<std::vector<int32_t>> tokens = Error{ExitCode::kInput, "has neither `messages` nor a `prompt`"};
    if (is_chat && session_.chat == nullptr) {
      return Error{ExitCode::kInput, "has `messages`, and the program's tokenizer no chat template"};
    }
    if (is_chat) {
      tokens = session_.chat->Encode(request);
    } else if (const Json* const prompt = Member(request, "prompt")) {
      if (prompt->kind != Json::Kind::kString) return Wrong("prompt", "a text");
      tokens = session_.tokenizer.Encode(prompt->text);
    }
    if (!tokens.ok()) return tokens.error();
    Result<Sequence> sequence = SequenceOf(session_, std::move(tokens.value()), settings.length);
    if (!sequence.ok()) return Error{ExitCode::kInput, "cannot be answered: " + sequence.error().message};
    sequence.value().sampling = settings.sampling;
    if (settings.seed.has_value()) {
      sequence.value().seed = static_cast<uint64_t>(*settings.seed);
    } else {
      sequence.value().number = number_++;
    }
    TextAnswer answer(std::move(sequence.value()), session_.tokenizer, settings.stops);
    if (!is_chat) answer.stream.Begin(answer.sequence.tokens);
    return answer;
  }

  void Receive(std::string line) {
    if (IsEmpty(line)) return;
    if (line.rfind("{\"cancel\"", 0) == 0) {
      const Result<Json> json = ParseJson(line);
      if (json.ok()) Cancel(json.value().Find("cancel")->text);
      return;
    }
    Settings settings;
    Result<TextAnswer> answer = ReadRequest(line, settings);
    if (!answer.ok()) return WriteProblem(settings, answer.error());
    waiting_.push_back({std::move(answer.value()), std::move(settings)});
  }

  void ReceiveAll() {
    while (std::optional<std::string> line = lines_->Next(0)) Receive(*std::move(line));
  }

  // One that nobody has begun to answer just goes.
  void Cancel(const std::string& id) {
    waiting_.remove_if([&](const Request& each) { return each.settings.id == id; });
    for (Request& each : answered_) {
      if (each.settings.id == id) each.answer.is_wanted = false;
    }
  }

  TextAnswer* Next() {
    ReceiveAll();
    if (waiting_.empty()) return nullptr;
    answered_.splice(answered_.end(), waiting_, waiting_.begin());
    return &answered_.back().answer;
  }

  // That which is being answered.
  List::iterator Find(const TextAnswer& answer) {
    return std::find_if(answered_.begin(), answered_.end(), [&](Request& each) { return &each.answer == &answer; });
  }

  static void WriteLine(const JsonObject& line) {
    std::printf("%s\n", line.Text().c_str());
    std::fflush(stdout);
  }

  static JsonObject LineOf(const Settings& settings) {
    JsonObject line;
    if (!settings.id.empty()) line.Add("id", settings.id);
    return line;
  }

  static void WriteMore(const Settings& settings, const std::string& piece) {
    JsonObject line = LineOf(settings);
    line.Add("delta", ValidUtf8(piece));
    WriteLine(line);
  }

  static void WriteProblem(const Settings& settings, const Error& error) {
    JsonObject line = LineOf(settings);
    line.Add("error", ValidUtf8("the request: " + error.message));
    WriteLine(line);
  }

  static void WriteEnd(const Settings& settings, const TextAnswer& answer) {
    JsonObject line = LineOf(settings);
    if (!settings.streams) line.Add("content", ValidUtf8(answer.text));
    line.Add("finish_reason", std::string(answer.is_cut_short ? "length" : "stop"));
    line.AddInteger("prompt_tokens", answer.sequence.prompt);
    line.AddInteger("completion_tokens", answer.sequence.size() - answer.sequence.prompt);
    WriteLine(line);
  }

  Session& session_;
  std::optional<InputLines> lines_;
  List waiting_, answered_;  // Those that wait, and those that are being answered.
  int64_t number_ = 0;       // Of requests without a seed.
};

}  // namespace

std::optional<Error> AnswerRequests(Session& session) {
  const std::string& path = session.options.chat_file;
  Requests requests(session);
  return path == "-" ? requests.AnswerInput() : requests.AnswerFile(path);
}

}  // namespace cleave::runtime
