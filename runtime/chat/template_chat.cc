#include "runtime/chat/template_chat.h"

#include <algorithm>
#include <cinttypes>
#include <ctime>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "runtime/chat/tokenizer_folder.h"
#include "runtime/chat_template/chat_template.h"
#include "runtime/chat_template/value.h"

namespace cleave::runtime {
namespace {

// Of every text that comes from a user, and not from the template.
constexpr int32_t kMark = 1;

Error Wrong(const std::string& message) { return {ExitCode::kInput, message}; }

// Members of a request that are settings, and none that a template reads.
bool IsSetting(const std::string& name) {
  static const auto& settings = *new std::set<std::string>{"messages", "temperature", "top_p",  "top_k", "max_tokens",
                                                           "stop",     "seed",        "stream", "id"};
  return settings.count(name) > 0;
}

class TemplateChat final : public ChatFormat {
 public:
  static Result<std::unique_ptr<ChatFormat>> Open(const std::string& path) {
    Result<TokenizerFolder> folder = OpenTokenizerFolder(path);
    if (!folder.ok()) return folder.error();
    if (folder.value().template_path.empty()) {
      return Wrong("the tokenizer `" + path +
                   "` has no chat template: neither `chat_template.jinja` beside its tokenizer.json, nor "
                   "`chat_template` in tokenizer_config.json");
    }
    std::unique_ptr<TemplateChat> chat(new TemplateChat(std::move(folder.value())));
    const std::string& text = chat->folder_.template_text;
    if (const auto problem = ChatTemplate::Parse(text, chat->template_)) return chat->At(*problem);
    return std::unique_ptr<ChatFormat>(std::move(chat));
  }

  Result<std::vector<int32_t>> Encode(const std::vector<ChatMessage>& messages) override {
    std::vector<Value> values;
    for (const ChatMessage& message : messages) {
      values.push_back(
          *MakeDict({{Name("role"), TextValue(message.role)}, {Name("content"), TextValue(message.content, kMark)}}));
    }
    return EncodeValues(std::move(values), {});
  }

  Result<std::vector<int32_t>> Encode(const Json& conversation) override {
    const Result<const Json*> messages = ArrayMember(conversation, "messages");
    if (!messages.ok()) return messages.error();
    if (messages.value()->items.empty()) return Wrong("has `messages` without a message");
    std::vector<Value> values;
    for (const Json& message : messages.value()->items) {
      const std::string where = Format(" in message %zu", values.size() + 1);
      if (message.kind != Json::Kind::kObject) return Wrong("has something else than an object" + where);
      const Result<std::string> role = StringMember(message, "role");
      if (!role.ok()) return Wrong(role.error().message + where);
      std::optional<Value> value = ValueOfMessage(message, role.value());
      if (!value.has_value()) return Wrong("has too many values" + where);
      values.push_back(*std::move(value));
    }
    std::map<std::string, Value> variables;
    for (const JsonMember& member : conversation.members) {
      if (IsSetting(member.name)) continue;
      if (!template_.HasVariable(member.name)) return Wrong("has the key `" + member.name + "`, which is not known");
      std::optional<Value> value = ValueOfJson(member.value, kMark);
      if (!value.has_value()) return Wrong("has too many values in `" + member.name + "`");
      variables[member.name] = *std::move(value);
    }
    return EncodeValues(std::move(values), std::move(variables));
  }

  std::vector<int32_t> Ends() const override {
    std::vector<int32_t> ends = folder_.ends;
    if (const std::optional<int32_t> end = folder_.Special("eos_token")) ends.push_back(*end);
    return ends;
  }

 private:
  explicit TemplateChat(TokenizerFolder folder) : folder_(std::move(folder)), memory_(folder_.tokenizer->NewMemory()) {}

  static Text Name(const char* name) { return std::make_shared<const MarkedText>(name); }

  static std::optional<Value> ValueOfMessage(const Json& message, const std::string& role) {
    std::vector<const JsonMember*> written;
    for (const JsonMember& member : message.members) written.push_back(&member);
    std::sort(written.begin(), written.end(),
              [](const auto* a, const auto* b) { return a->value.offset < b->value.offset; });
    std::vector<std::pair<Text, Value>> members = {{Name("role"), TextValue(role, kMark)}};
    for (const JsonMember* const member : written) {
      if (member->name == "role") continue;
      std::optional<Value> value = ValueOfJson(member->value, kMark);
      if (!value.has_value()) return std::nullopt;
      members.emplace_back(Name(member->name.c_str()), *std::move(value));
    }
    return MakeDict(std::move(members));
  }

  Error At(const TemplateProblem& problem) const {
    return Wrong("the chat template " + folder_.template_path + ", " + PlaceIn(folder_.template_text, problem.offset) +
                 ": " + problem.message);
  }

  Result<std::vector<int32_t>> EncodeValues(std::vector<Value> messages, std::map<std::string, Value> variables) {
    std::optional<Value> list = MakeList(std::move(messages));
    if (!list.has_value()) return Wrong("has too many values");
    for (const auto& [name, token] : folder_.special_tokens) variables[name] = TextValue(token);
    variables.insert({{"tools", None{}}, {"documents", None{}}});  // Those that transformers always gives.
    variables["messages"] = *std::move(list);
    variables["add_generation_prompt"] = true;
    RenderOptions options;
    const std::time_t now = std::time(nullptr);
    std::tm date = {};
    if (localtime_r(&now, &date) != nullptr) options.date = date;
    Rendering rendering;
    if (const auto problem = template_.Render(variables, options, rendering)) return At(*problem);
    std::vector<TextRange> literal;
    for (const MarkedRange& range : rendering.text.ranges()) literal.push_back({range.begin, range.end});
    Result<TextEncoding> encoding = folder_.tokenizer->EncodeText(rendering.text.text(), literal, {}, *memory_);
    if (!encoding.ok()) return encoding.error();
    return std::move(encoding.value().tokens);
  }

  TokenizerFolder folder_;
  ChatTemplate template_;
  std::unique_ptr<TextTokenizer::Memory> memory_;
};

}  // namespace

Result<std::unique_ptr<ChatFormat>> OpenTemplateChat(const std::string& path) { return TemplateChat::Open(path); }

}  // namespace cleave::runtime
