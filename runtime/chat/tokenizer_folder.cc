#include "runtime/chat/tokenizer_folder.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/file/file.h"
#include "runtime/json/json.h"
#include "runtime/utf8/utf8.h"

namespace cleave::runtime {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 24;
constexpr size_t kLongestTemplate = size_t{1} << 20;

// Tokens of which a template may ask, by the names that transformers gives them.
constexpr const char* kSpecials[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                     "pad_token", "cls_token", "mask_token"};

Error CannotUse(const std::string& message) { return {ExitCode::kInput, message}; }

bool Exists(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

std::optional<Error> ReadText(const std::string& path, std::string& text) {
  const Result<std::vector<uint8_t>> bytes = ReadFile(path, kMostBytes);
  if (!bytes.ok()) return bytes.error();
  text.assign(bytes.value().begin(), bytes.value().end());
  if (const auto at = FindInvalidUtf8(text))
    return CannotUse(Format("`%s` is not UTF-8 at byte %zu", path.c_str(), *at));
  return std::nullopt;
}

// The default one where there are several.
const Json* TemplateIn(const Json& config) {
  const Json* const value = config.Find("chat_template");
  if (value == nullptr || value->kind != Json::Kind::kArray) return value;
  for (const Json& item : value->items) {
    const Json* const name = item.Find("name");
    if (name != nullptr && name->text == "default") return item.Find("template");
  }
  return nullptr;
}

std::optional<Error> ReadConfig(const std::string& path, TokenizerFolder& folder) {
  std::string text;
  if (auto error = ReadText(path, text)) return error;
  const Result<Json> json = ParseJson(text);
  if (!json.ok()) return CannotUse("`" + path + "` " + json.error().message);
  for (const char* const name : kSpecials) {
    const Json* token = json.value().Find(name);
    if (token != nullptr && token->kind == Json::Kind::kObject) token = token->Find("content");
    if (token != nullptr && token->kind == Json::Kind::kString) folder.special_tokens[name] = token->text;
  }
  const Json* const chat_template = TemplateIn(json.value());
  if (chat_template == nullptr || chat_template->kind != Json::Kind::kString) return std::nullopt;
  folder.template_path = path + " (chat_template)";
  folder.template_text = chat_template->text;
  return std::nullopt;
}

std::optional<Error> ReadEnds(const std::string& path, TokenizerFolder& folder) {
  std::string text;
  if (auto error = ReadText(path, text)) return error;
  const Result<Json> json = ParseJson(text);
  if (!json.ok()) return CannotUse("`" + path + "` " + json.error().message);
  const Json* const ends = json.value().Find("eos_token_id");
  if (ends == nullptr || ends->kind == Json::Kind::kNull) return std::nullopt;
  for (const Json& end : ends->kind == Json::Kind::kArray ? ends->items : std::vector<Json>{*ends}) {
    const std::optional<int64_t> token = JsonInteger(end);
    if (!token.has_value() || *token < 0 || *token > INT32_MAX) {
      return CannotUse("`" + path + "` has an `eos_token_id` that is not the number of a token, or a list of them");
    }
    folder.ends.push_back(static_cast<int32_t>(*token));
  }
  return std::nullopt;
}

// What the folder has instead of a tokenizer.json.
std::string HelpWithout(const std::filesystem::path& folder) {
  for (const char* const file : {"tokenizer.model", "vocab.txt", "vocab.json", "spiece.model", "tekken.json"}) {
    if (!Exists(folder / file)) continue;
    return Format(
        "; `%s` is not read: in transformers, `AutoTokenizer.from_pretrained(…).save_pretrained(…)` writes a "
        "tokenizer.json",
        file);
  }
  return "";
}

// Ends of lines as Jinja has them.
std::string WithPlainLines(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      plain += text[i];
    } else if (i + 1 == text.size() || text[i + 1] != '\n') {
      plain += '\n';
    }
  }
  return plain;
}

}  // namespace

std::optional<int32_t> TokenizerFolder::Special(const std::string& name) const {
  const auto found = special_tokens.find(name);
  return found == special_tokens.end() ? std::nullopt : tokenizer->Find(found->second);
}

Result<TokenizerFolder> OpenTokenizerFolder(const std::string& path) {
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  const std::filesystem::path root = is_folder ? path : std::filesystem::path(path).parent_path().string();
  TokenizerFolder folder;
  folder.path = path;
  folder.file = is_folder ? (root / "tokenizer.json").string() : path;
  if (!Exists(folder.file)) return CannotUse("there is no `" + folder.file + "`" + HelpWithout(root));
  Result<std::unique_ptr<TextTokenizer>> tokenizer = OpenTextTokenizer(folder.file);
  if (!tokenizer.ok()) return tokenizer.error();
  folder.tokenizer = std::move(tokenizer.value());
  const std::string config = (root / "tokenizer_config.json").string();
  if (Exists(config)) {
    if (auto error = ReadConfig(config, folder)) return *error;
  }
  const std::string generation = (root / "generation_config.json").string();
  if (Exists(generation)) {
    if (auto error = ReadEnds(generation, folder)) return *error;
  }
  const std::string own_file = (root / "chat_template.jinja").string();
  if (Exists(own_file)) {
    if (auto error = ReadText(own_file, folder.template_text)) return *error;
    folder.template_path = own_file;
  }
  if (folder.template_text.size() > kLongestTemplate) {
    return CannotUse("`" + folder.template_path + "` has more than 1 MiB");
  }
  folder.template_text = WithPlainLines(folder.template_text);
  return folder;
}

}  // namespace cleave::runtime
