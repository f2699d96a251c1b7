// Reading guide: `ReadConversation` finds the form of a line by its keys; each form makes messages of a role and a
// content, which `Add` checks. `ReadPair` makes such messages twice, of the prompt and each answer.
#include "tools/data/conversation.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "runtime/json/json.h"
#include "runtime/json/json_writer.h"
#include "runtime/utf8/utf8.h"
#include "tools/data/text_file.h"

namespace cleave::tools {
namespace {

using runtime::Json;
using runtime::Result;

const std::vector<std::string>& Roles() {
  static const auto& roles = *new std::vector<std::string>{"system", "developer", "user", "assistant", "tool"};
  return roles;
}

// What ShareGPT and its relatives call them.
constexpr std::pair<const char*, const char*> kSpeakers[] = {
    {"system", "system"},     {"human", "user"},          {"user", "user"},       {"gpt", "assistant"},
    {"chatgpt", "assistant"}, {"assistant", "assistant"}, {"model", "assistant"}, {"bot", "assistant"},
    {"tool", "tool"},         {"observation", "tool"}};

runtime::Error NoSample(const std::string& message) { return {runtime::ExitCode::kInput, message}; }

std::string Quoted(const std::string& text) { return absl::StrCat("`", runtime::JsonEscaped(text.substr(0, 60)), "`"); }

class LineReader {
 public:
  LineReader(const runtime::ChatTemplate& chat_template, const std::set<std::string>& ignored)
      : chat_template_(chat_template), ignored_(ignored) {}

  Result<Conversation> Read(const std::string& line) {
    const Result<Json> json = ObjectIn(line);
    if (!json.ok()) return json.error();
    if (auto error = ReadForm(json.value())) return *error;
    if (!Speaks()) return NoSample("has nothing that an assistant says, so nothing is learned from it");
    return std::move(conversation_);
  }

  Result<ConversationPair> ReadPair(const std::string& line) {
    const Result<Json> json = ObjectIn(line);
    if (!json.ok()) return json.error();
    if (auto error = Only(json.value(), {"prompt", "chosen", "rejected"}, "", Other::kVariables)) return *error;
    if (auto error = ReadVariables(json.value(), {"prompt", "chosen", "rejected"})) return *error;
    std::vector<Conversation> answers;
    for (const char* const name : {"chosen", "rejected"}) {
      const Conversation before = conversation_;
      if (auto error = ReadAnswer(json.value(), name)) return *error;
      answers.push_back(std::exchange(conversation_, before));
    }
    return ConversationPair{std::move(answers[0]), std::move(answers[1])};
  }

 private:
  static Result<Json> ObjectIn(const std::string& line) {
    if (const auto at = runtime::FindInvalidUtf8(line)) return NoSample(absl::StrCat("is not UTF-8 at byte ", *at));
    Result<Json> json = runtime::ParseJson(line);
    if (!json.ok()) return NoSample(JsonMistake(json.error().message));
    if (json.value().kind != Json::Kind::kObject) return NoSample("is not an object");
    return json;
  }

  // Whether there is something to learn.
  bool Speaks() const {
    const auto speaks = [](const Message& message) { return message.role == "assistant"; };
    return std::any_of(conversation_.messages.begin() + static_cast<ptrdiff_t>(conversation_.given),
                       conversation_.messages.end(), speaks);
  }

  // The prompt and one of two answers.
  std::optional<runtime::Error> ReadAnswer(const Json& json, const char* name) {
    const Json* const answer = json.Find(name);
    const Json* const prompt = ignored_.count("prompt") > 0 ? nullptr : json.Find("prompt");
    if (answer == nullptr) return NoSample(absl::StrCat("has no `", name, "`"));
    if (answer->kind == Json::Kind::kString) {
      std::string text;
      if (auto error = Text(json, "prompt", "", text)) return error;
      if (auto error = Add("user", runtime::TextValue(text, NextMark()))) return error;
      conversation_.given = 1;
      return Add("assistant", runtime::TextValue(answer->text, NextMark()));
    }
    if (prompt != nullptr && prompt->kind != Json::Kind::kArray) {
      return NoSample(absl::StrCat("has a `prompt` that is no array of messages, and a `", name,
                                   "` that is one; `--ignore prompt` takes what both answers begin with"));
    }
    if (prompt != nullptr) {
      if (auto error = AddMessages(*prompt, "prompt")) return error;
      conversation_.given = conversation_.messages.size();
    } else {
      conversation_.given = CommonMessages(json);
    }
    if (auto error = AddMessages(*answer, name)) return error;
    if (!Speaks()) return NoSample(absl::StrCat("has a `", name, "` with nothing that an assistant says"));
    return std::nullopt;
  }

  static bool AreEqual(const Json& a, const Json& b) {
    if (a.kind != b.kind || a.text != b.text) return false;
    return std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), AreEqual) &&
           std::equal(a.members.begin(), a.members.end(), b.members.begin(), b.members.end(),
                      [](const auto& x, const auto& y) { return x.name == y.name && AreEqual(x.value, y.value); });
  }

  // With how many equal messages both answers begin.
  static size_t CommonMessages(const Json& json) {
    const Json *const a = json.Find("chosen"), *const b = json.Find("rejected");
    if (a == nullptr || b == nullptr) return 0;
    const auto differ = std::mismatch(a->items.begin(), a->items.end(), b->items.begin(), b->items.end(), AreEqual);
    return static_cast<size_t>(differ.first - a->items.begin());
  }

  std::optional<runtime::Error> ReadForm(const Json& json) {
    if (json.Find("messages") != nullptr) return ReadMessages(json);
    if (json.Find("conversations") != nullptr) return ReadShareGpt(json);
    if (json.Find("prompt") != nullptr && json.Find("completion") != nullptr) return ReadPrompt(json);
    if (json.Find("instruction") != nullptr && json.Find("output") != nullptr) return ReadAlpaca(json);
    return NoSample(
        "has neither `messages`, nor `conversations`, nor `prompt` and `completion`, nor `instruction` and `output`");
  }

  // Which other members of an object reach the template.
  enum class Other { kNothing, kVariables, kMembers };

  // All members are among these, or the template reads them, or they are to be passed over.
  std::optional<runtime::Error> Only(const Json& object, std::initializer_list<const char*> known,
                                     const std::string& where, Other other) {
    for (const auto& [name, value] : object.members) {
      const auto is_this = [&name = name](const char* each) { return name == each; };
      if (std::any_of(known.begin(), known.end(), is_this) || ignored_.count(name) > 0) continue;
      if (other == Other::kVariables && chat_template_.HasVariable(name)) continue;
      if (other == Other::kMembers && chat_template_.HasMember(name)) continue;
      return NoSample(absl::StrCat("has the key ", Quoted(name), where, ", which is not known"));
    }
    return std::nullopt;
  }

  std::optional<runtime::Error> Text(const Json& object, const char* name, const std::string& where,
                                     std::string& text) {
    const Json* const member = object.Find(name);
    if (member == nullptr) return NoSample(absl::StrCat("has no `", name, "`", where));
    if (member->kind != Json::Kind::kString)
      return NoSample(absl::StrCat("has a `", name, "`", where, " that is not a text"));
    text = member->text;
    return std::nullopt;
  }

  // `members`: what a template may read of the message besides.
  std::optional<runtime::Error> Add(const std::string& role, runtime::Value content,
                                    std::vector<std::pair<runtime::Text, runtime::Value>> members = {}) {
    const auto name = [](const char* text) { return std::make_shared<const runtime::MarkedText>(text); };
    Message message{.role = role};
    if (const auto* const text = content.Get<runtime::Text>()) {
      message.has_words = (*text)->text().find_first_not_of(" \t\n\v\f\r") != std::string::npos;
    }
    members.insert(members.begin(), {{name("role"), runtime::TextValue(role)}, {name("content"), std::move(content)}});
    std::optional<runtime::Value> value = runtime::MakeDict(std::move(members));
    if (!value.has_value()) return NoSample("has too many values");
    message.value = *std::move(value);
    conversation_.messages.push_back(std::move(message));
    return std::nullopt;
  }

  int32_t NextMark() const { return MarkOf(conversation_.messages.size()); }

  // All members but these, for the template.
  std::optional<runtime::Error> ReadVariables(const Json& json, const std::set<std::string>& but) {
    for (const auto& [name, value] : json.members) {
      if (but.count(name) > 0 || ignored_.count(name) > 0) continue;
      std::optional<runtime::Value> variable = runtime::ValueOfJson(value, -1);
      if (!variable.has_value()) return NoSample("has too many values");
      conversation_.variables[name] = *std::move(variable);
    }
    return std::nullopt;
  }

  std::optional<runtime::Error> ReadMessages(const Json& json) {
    if (auto error = Only(json, {"messages"}, "", Other::kVariables)) return error;
    if (auto error = ReadVariables(json, {"messages"})) return error;
    return AddMessages(*json.Find("messages"), "messages");
  }

  // `name`: of the array.
  std::optional<runtime::Error> AddMessages(const Json& messages, const std::string& name) {
    if (messages.kind != Json::Kind::kArray) return NoSample(absl::StrCat("has `", name, "` that are not an array"));
    size_t number = 0;
    for (const Json& message : messages.items) {
      const std::string where =
          absl::StrCat(" in message ", ++number, name == "messages" ? "" : absl::StrCat(" of `", name, "`"));
      if (message.kind != Json::Kind::kObject)
        return NoSample(absl::StrCat("has something else than an object", where));
      if (auto error = Only(message, {"role", "content"}, where, Other::kMembers)) return error;
      std::string role;
      if (auto error = Text(message, "role", where, role)) return error;
      if (std::find(Roles().begin(), Roles().end(), role) == Roles().end()) {
        return NoSample(absl::StrCat("has the role ", Quoted(role), where, "; known are ", QuotedList(Roles(), "and")));
      }
      if (auto error = ReadMessage(message, role, where)) return error;
    }
    return std::nullopt;
  }

  std::optional<runtime::Error> ReadMessage(const Json& message, const std::string& role, const std::string& where) {
    std::vector<std::pair<runtime::Text, runtime::Value>> members;
    std::vector<const runtime::JsonMember*> written;
    for (const runtime::JsonMember& member : message.members) written.push_back(&member);
    std::sort(written.begin(), written.end(),
              [](const auto* a, const auto* b) { return a->value.offset < b->value.offset; });
    runtime::Value content = runtime::None{};
    for (const runtime::JsonMember* const member : written) {
      if (member->name == "role" || ignored_.count(member->name) > 0) continue;
      std::optional<runtime::Value> value = runtime::ValueOfJson(member->value, NextMark());
      if (!value.has_value()) return NoSample("has too many values");
      if (member->name == "content") {
        content = *std::move(value);
      } else {
        members.emplace_back(std::make_shared<const runtime::MarkedText>(member->name), *std::move(value));
      }
    }
    const bool is_read = content.Get<runtime::Text>() != nullptr || content.Get<runtime::List>() != nullptr;
    if (!is_read && (content.Get<runtime::None>() == nullptr || members.empty())) {
      return NoSample(message.Find("content") == nullptr
                          ? absl::StrCat("has no `content`", where)
                          : absl::StrCat("has a `content`", where, " that is not a text"));
    }
    return Add(role, std::move(content), std::move(members));
  }

  std::optional<runtime::Error> ReadShareGpt(const Json& json) {
    if (auto error = Only(json, {"conversations"}, "", Other::kNothing)) return error;
    const Json& turns = *json.Find("conversations");
    if (turns.kind != Json::Kind::kArray) return NoSample("has `conversations` that are not an array");
    for (const Json& turn : turns.items) {
      const std::string where = absl::StrCat(" in message ", conversation_.messages.size() + 1);
      if (turn.kind != Json::Kind::kObject) return NoSample(absl::StrCat("has something else than an object", where));
      if (auto error = Only(turn, {"from", "value"}, where, Other::kNothing)) return error;
      std::string from, value;
      if (auto error = Text(turn, "from", where, from)) return error;
      if (auto error = Text(turn, "value", where, value)) return error;
      const auto known = std::find_if(std::begin(kSpeakers), std::end(kSpeakers),
                                      [&](const auto& speaker) { return from == speaker.first; });
      if (known == std::end(kSpeakers)) {
        return NoSample(absl::StrCat("has ", Quoted(from), " as `from`", where,
                                     "; known are `human`, `gpt`, `system`, `tool` and other names of these"));
      }
      if (auto error = Add(known->second, runtime::TextValue(value, NextMark()))) return error;
    }
    return std::nullopt;
  }

  std::optional<runtime::Error> ReadPrompt(const Json& json) {
    if (auto error = Only(json, {"prompt", "completion"}, "", Other::kNothing)) return error;
    std::string prompt, completion;
    if (auto error = Text(json, "prompt", "", prompt)) return error;
    if (auto error = Text(json, "completion", "", completion)) return error;
    if (auto error = Add("user", runtime::TextValue(prompt, NextMark()))) return error;
    return Add("assistant", runtime::TextValue(completion, NextMark()));
  }

  std::optional<runtime::Error> ReadAlpaca(const Json& json) {
    if (auto error = Only(json, {"instruction", "input", "output"}, "", Other::kNothing)) return error;
    std::string instruction, input, output;
    if (auto error = Text(json, "instruction", "", instruction)) return error;
    if (json.Find("input") != nullptr) {
      if (auto error = Text(json, "input", "", input)) return error;
    }
    if (auto error = Text(json, "output", "", output)) return error;
    const std::string asked = input.empty() ? instruction : absl::StrCat(instruction, "\n\n", input);
    if (auto error = Add("user", runtime::TextValue(asked, NextMark()))) return error;
    return Add("assistant", runtime::TextValue(output, NextMark()));
  }

  const runtime::ChatTemplate& chat_template_;
  const std::set<std::string>& ignored_;
  Conversation conversation_;
};

}  // namespace

Result<Conversation> ReadConversation(const std::string& line, const runtime::ChatTemplate& chat_template,
                                      const std::set<std::string>& ignored) {
  return LineReader(chat_template, ignored).Read(line);
}

Result<ConversationPair> ReadPair(const std::string& line, const runtime::ChatTemplate& chat_template,
                                  const std::set<std::string>& ignored) {
  return LineReader(chat_template, ignored).ReadPair(line);
}

}  // namespace cleave::tools
