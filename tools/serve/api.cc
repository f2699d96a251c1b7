// Reading guide: kFields is the table of what a request may have; ReadApiRequest goes through the members of one. The
// functions behind it write responses.
#include "tools/serve/api.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/json/json_writer.h"
#include "runtime/utf8/utf8.h"

namespace cleave::tools {
namespace {

using runtime::Json;
using runtime::JsonArray;
using runtime::JsonObject;
using runtime::Result;
using Kind = Json::Kind;

runtime::Error Wrong(const std::string& message) { return {runtime::ExitCode::kInput, message}; }

// What becomes of a member of a request.
enum class Use {
  kPass,     // To the program, under the name `as`.
  kIgnore,   // It changes nothing that is answered.
  kNeutral,  // It may be there with the value `as`, with which it has no effect.
  kOwn,      // ReadApiRequest has a line for it.
};

struct Field {
  const char* name;
  Use use;
  const char* as = "";
};

constexpr Field kFields[] = {
    {"model", Use::kOwn},
    {"messages", Use::kOwn},
    {"prompt", Use::kOwn},
    {"stream", Use::kOwn},
    {"stream_options", Use::kOwn},
    {"temperature", Use::kPass, "temperature"},
    {"top_p", Use::kPass, "top_p"},
    {"top_k", Use::kPass, "top_k"},
    {"max_tokens", Use::kPass, "max_tokens"},
    {"max_completion_tokens", Use::kPass, "max_tokens"},
    {"stop", Use::kPass, "stop"},
    {"seed", Use::kPass, "seed"},
    {"tools", Use::kPass, "tools"},
    {"user", Use::kIgnore},
    {"metadata", Use::kIgnore},
    {"store", Use::kIgnore},
    {"n", Use::kNeutral, "1"},
    {"best_of", Use::kNeutral, "1"},
    {"echo", Use::kNeutral, "false"},
    {"logprobs", Use::kNeutral, "false"},
    {"presence_penalty", Use::kNeutral, "0"},
    {"frequency_penalty", Use::kNeutral, "0"},
};

// The texts of a list of parts, as some clients send `content`; nullopt where a part is no text.
std::optional<std::string> TextOfParts(const Json& parts) {
  std::string text;
  for (const Json& part : parts.items) {
    const Json* const type = part.Find("type");
    const Json* const own = part.Find("text");
    if (type == nullptr || type->text != "text" || own == nullptr || own->kind != Kind::kString) return std::nullopt;
    text += own->text;
  }
  return text;
}

std::string Quoted(const std::string& text) { return absl::StrCat("\"", runtime::JsonEscaped(text), "\""); }

Result<std::string> MessagesText(const Json& messages) {
  if (messages.kind != Kind::kArray || messages.items.empty()) return Wrong("`messages` is not a list of messages");
  std::string text;
  for (const Json& message : messages.items) {
    if (message.kind != Kind::kObject) return Wrong("`messages` has something else than objects");
    Json copy = message;
    for (runtime::JsonMember& member : copy.members) {
      if (member.name != "content" || member.value.kind != Kind::kArray) continue;
      const std::optional<std::string> parts = TextOfParts(member.value);
      if (!parts.has_value()) return Wrong("a `content` has parts that are no text: this model reads text alone");
      member.value.kind = Kind::kString;
      member.value.text = *parts;
    }
    absl::StrAppend(&text, text.empty() ? "" : ",", JsonText(copy));
  }
  return absl::StrCat("[", text, "]");
}

bool IsNeutral(const Json& value, const std::string& neutral) {
  double number = 0, other = 0;
  if (!absl::SimpleAtod(neutral, &other)) return value.kind == Kind::kBool && value.text == neutral;
  return value.kind == Kind::kNumber && absl::SimpleAtod(value.text, &number) && number == other;
}

// Reads one member.
std::optional<runtime::Error> Read(const std::string& name, const Json& value, const std::string& model,
                                   ApiRequest& request) {
  const auto* const field =
      std::find_if(std::begin(kFields), std::end(kFields), [&](const Field& each) { return name == each.name; });
  if (field == std::end(kFields)) return Wrong(absl::StrCat("`", name.substr(0, 60), "` is not known here"));
  if (value.kind == Kind::kNull || field->use == Use::kIgnore) return std::nullopt;
  if (field->use == Use::kPass) {
    request.members.emplace_back(field->as, JsonText(value));
  } else if (field->use == Use::kNeutral) {
    if (!IsNeutral(value, field->as)) return Wrong(absl::StrCat("`", name, "` may only be ", field->as, " here"));
  } else if (name == "model") {
    if (value.kind == Kind::kString && value.text == model) return std::nullopt;
    return runtime::Error{runtime::ExitCode::kUsage, absl::StrCat("the model `", value.text.substr(0, 60),
                                                                  "` is not here: there is `", model, "`")};
  } else if (name == "stream") {
    if (value.kind != Kind::kBool) return Wrong("`stream` is neither true nor false");
    request.streams = value.text == "true";
  } else if (name == "stream_options") {
    const Json* const usage = value.Find("include_usage");
    request.includes_usage = usage != nullptr && usage->text == "true";
  } else if (name == "messages" && request.kind == ApiKind::kChat) {
    Result<std::string> messages = MessagesText(value);
    if (!messages.ok()) return messages.error();
    request.members.emplace_back("messages", std::move(messages.value()));
  } else if (name == "prompt" && request.kind == ApiKind::kCompletion) {
    const Json* const text = value.kind == Kind::kArray && value.items.size() == 1 ? &value.items[0] : &value;
    if (text->kind != Kind::kString) return Wrong("`prompt` is not one text");
    request.members.emplace_back("prompt", JsonText(*text));
  } else {
    return Wrong(absl::StrCat("`", name, "` is not known here"));
  }
  return std::nullopt;
}

JsonObject Common(const ApiAnswer& answer, bool is_chunk) {
  JsonObject object;
  object.Add("id", answer.id);
  const bool is_chat = answer.kind == ApiKind::kChat;
  object.Add("object", std::string(!is_chat   ? "text_completion"
                                   : is_chunk ? "chat.completion.chunk"
                                              : "chat.completion"));
  object.AddInteger("created", answer.created);
  object.Add("model", answer.model);
  return object;
}

// `content`: what is said in this object, in the member `name` of a chat; `reason`: empty where it goes on.
std::string WithChoice(const ApiAnswer& answer, const char* name, const JsonObject& said, const std::string& text,
                       const std::string& reason, const JsonObject* usage) {
  JsonObject object = Common(answer, std::string(name) == "delta");
  JsonObject choice;
  choice.AddInteger("index", 0);
  if (answer.kind == ApiKind::kChat) {
    choice.Add(name, said);
  } else {
    choice.Add("text", text);
  }
  if (!reason.empty()) choice.Add("finish_reason", reason);
  JsonArray choices;
  choices.Add(choice);
  object.Add("choices", choices);
  if (usage != nullptr) object.Add("usage", *usage);
  return object.Text();
}

JsonObject Usage(const ApiEnd& end) {
  JsonObject usage;
  usage.AddInteger("prompt_tokens", end.prompt_tokens);
  usage.AddInteger("completion_tokens", end.tokens);
  usage.AddInteger("total_tokens", end.prompt_tokens + end.tokens);
  return usage;
}

}  // namespace

std::string JsonText(const Json& value) {
  switch (value.kind) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
    case Kind::kNumber:
      return value.text;
    case Kind::kString:
      return Quoted(value.text);
    case Kind::kArray:
    case Kind::kObject:
      break;
  }
  const bool is_array = value.kind == Kind::kArray;
  std::string text = is_array ? "[" : "{";
  for (const Json& item : value.items) absl::StrAppend(&text, text.size() > 1 ? "," : "", JsonText(item));
  std::vector<const runtime::JsonMember*> written;
  for (const runtime::JsonMember& member : value.members) written.push_back(&member);
  std::sort(written.begin(), written.end(),
            [](const auto* a, const auto* b) { return a->value.offset < b->value.offset; });
  for (const runtime::JsonMember* const member : written) {
    absl::StrAppend(&text, text.size() > 1 ? "," : "", Quoted(member->name), ":", JsonText(member->value));
  }
  return absl::StrCat(text, is_array ? "]" : "}");
}

Result<ApiRequest> ReadApiRequest(ApiKind kind, const std::string& body, const std::string& model) {
  if (runtime::FindInvalidUtf8(body).has_value()) return Wrong("the body is not UTF-8");
  const Result<Json> json = runtime::ParseJson(body);
  if (!json.ok()) return Wrong(absl::StrCat("the body ", json.error().message));
  if (json.value().kind != Kind::kObject) return Wrong("the body is not an object of JSON");
  ApiRequest request;
  request.kind = kind;
  for (const runtime::JsonMember& member : json.value().members) {
    if (auto error = Read(member.name, member.value, model, request)) return *error;
  }
  const char* const asked = kind == ApiKind::kChat ? "messages" : "prompt";
  const auto is_asked = [&](const auto& member) { return member.first == asked; };
  if (std::none_of(request.members.begin(), request.members.end(), is_asked)) {
    return Wrong(absl::StrCat("there is no `", asked, "`"));
  }
  const auto sizes = [](const auto& member) { return member.first == "max_tokens"; };
  if (std::count_if(request.members.begin(), request.members.end(), sizes) > 1) {
    return Wrong("`max_tokens` and `max_completion_tokens` are two names of one number: give one");
  }
  return request;
}

std::string ProgramLine(const ApiRequest& request, const std::string& id) {
  std::string line = absl::StrCat("{\"id\":", Quoted(id), ",\"stream\":", request.streams ? "true" : "false");
  for (const auto& [name, value] : request.members) absl::StrAppend(&line, ",", Quoted(name), ":", value);
  return absl::StrCat(line, "}");
}

std::string WholeResponse(const ApiAnswer& answer, const std::string& text, const ApiEnd& end) {
  JsonObject said;
  said.Add("role", std::string("assistant"));
  said.Add("content", text);
  const JsonObject usage = Usage(end);
  return WithChoice(answer, "message", said, text, end.reason, &usage);
}

std::string FirstChunk(const ApiAnswer& answer) {
  if (answer.kind != ApiKind::kChat) return "";
  JsonObject said;
  said.Add("role", std::string("assistant"));
  said.Add("content", std::string());
  return WithChoice(answer, "delta", said, "", "", nullptr);
}

std::string TextChunk(const ApiAnswer& answer, const std::string& piece) {
  JsonObject said;
  said.Add("content", piece);
  return WithChoice(answer, "delta", said, piece, "", nullptr);
}

std::string LastChunk(const ApiAnswer& answer, const ApiEnd& end) {
  return WithChoice(answer, "delta", JsonObject(), "", end.reason, nullptr);
}

std::string UsageChunk(const ApiAnswer& answer, const ApiEnd& end) {
  JsonObject object = Common(answer, /*is_chunk=*/true);
  object.Add("choices", JsonArray());
  object.Add("usage", Usage(end));
  return object.Text();
}

std::string ModelsResponse(const std::string& model, int64_t created) {
  JsonObject one;
  one.Add("id", model);
  one.Add("object", std::string("model"));
  one.AddInteger("created", created);
  one.Add("owned_by", std::string("cleave"));
  JsonArray all;
  all.Add(one);
  JsonObject object;
  object.Add("object", std::string("list"));
  object.Add("data", all);
  return object.Text();
}

std::string ErrorResponse(const std::string& message, const std::string& type) {
  JsonObject error;
  error.Add("message", message);
  error.Add("type", type);
  JsonObject object;
  object.Add("error", error);
  return object.Text();
}

}  // namespace cleave::tools
