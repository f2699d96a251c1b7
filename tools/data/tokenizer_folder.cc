#include "tools/data/tokenizer_folder.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/file/file.h"
#include "runtime/file/file.h"
#include "runtime/json/json.h"
#include "runtime/utf8/utf8.h"

namespace cleave::tools {
namespace {

namespace fs = std::filesystem;
using runtime::Json;
using runtime::Result;

constexpr int64_t kMostBytes = int64_t{1} << 24;
constexpr size_t kLongestTemplate = size_t{1} << 20;

// Tokens of which a template may ask, by the names that transformers gives them.
constexpr const char* kSpecials[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                     "pad_token", "cls_token", "mask_token"};

Diagnostic CannotUse(const std::string& message) { return Error(Code::kE0632, message); }

bool Exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::optional<Diagnostic> ReadText(const std::string& path, std::string& text) {
  const Result<std::vector<uint8_t>> bytes = runtime::ReadFile(path, kMostBytes);
  if (!bytes.ok()) return CannotUse(bytes.error().message);
  text.assign(bytes.value().begin(), bytes.value().end());
  if (const auto at = runtime::FindInvalidUtf8(text)) {
    return CannotUse(absl::StrCat(QuotedPath(path), " is not UTF-8 at byte ", *at));
  }
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

std::optional<Diagnostic> ReadConfig(const std::string& path, TokenizerFolder& folder) {
  std::string text;
  if (auto error = ReadText(path, text)) return error;
  const Result<Json> json = runtime::ParseJson(text);
  if (!json.ok()) return CannotUse(absl::StrCat(QuotedPath(path), " ", json.error().message));
  for (const char* const name : kSpecials) {
    const Json* token = json.value().Find(name);
    if (token != nullptr && token->kind == Json::Kind::kObject) token = token->Find("content");
    if (token != nullptr && token->kind == Json::Kind::kString) folder.special_tokens[name] = token->text;
  }
  const Json* const chat_template = TemplateIn(json.value());
  if (chat_template == nullptr || chat_template->kind != Json::Kind::kString) return std::nullopt;
  folder.template_path = absl::StrCat(path, " (chat_template)");
  folder.template_text = chat_template->text;
  return std::nullopt;
}

// What the folder has instead of a tokenizer.json.
std::string HelpWithout(const fs::path& folder) {
  for (const char* const file : {"tokenizer.model", "vocab.txt", "vocab.json", "spiece.model", "tekken.json"}) {
    if (!Exists(folder / file)) continue;
    return absl::StrCat("`", file,
                        "` is not read: in transformers, `AutoTokenizer.from_pretrained(…).save_pretrained(…)` "
                        "writes a tokenizer.json");
  }
  return "";
}

}  // namespace

std::optional<int32_t> TokenizerFolder::Special(const std::string& name) const {
  const auto found = special_tokens.find(name);
  return found == special_tokens.end() ? std::nullopt : tokenizer->Find(found->second);
}

std::optional<Diagnostic> OpenTokenizerFolder(const std::string& path, TokenizerFolder& folder) {
  std::error_code ignored;
  const bool is_folder = fs::is_directory(path, ignored);
  const fs::path root = is_folder ? fs::path(path) : fs::path(path).parent_path();
  const std::string file = is_folder ? (root / "tokenizer.json").string() : path;
  folder.path = path;
  if (!Exists(file)) {
    Diagnostic missing = CannotUse(absl::StrCat("there is no ", QuotedPath(file)));
    const std::string help = HelpWithout(root);
    return help.empty() ? std::move(missing) : std::move(missing).Help(help);
  }
  const Result<std::vector<uint8_t>> bytes = runtime::ReadFile(file);
  if (!bytes.ok()) return CannotUse(bytes.error().message);
  folder.digest = runtime::DigestOf(bytes.value().data(), static_cast<int64_t>(bytes.value().size()));
  Result<std::unique_ptr<runtime::TextTokenizer>> tokenizer = runtime::OpenTextTokenizer(file);
  if (!tokenizer.ok()) return CannotUse(tokenizer.error().message);
  folder.tokenizer = std::move(tokenizer.value());
  const std::string config = (root / "tokenizer_config.json").string();
  if (Exists(config)) {
    if (auto error = ReadConfig(config, folder)) return error;
  }
  const std::string own_file = (root / "chat_template.jinja").string();
  if (Exists(own_file)) {
    if (auto error = ReadText(own_file, folder.template_text)) return error;
    folder.template_path = own_file;
  }
  if (folder.template_text.size() > kLongestTemplate) {
    return CannotUse(absl::StrCat(QuotedPath(folder.template_path), " has more than 1 MiB"));
  }
  folder.template_text = absl::StrReplaceAll(folder.template_text, {{"\r\n", "\n"}, {"\r", "\n"}});
  return std::nullopt;
}

}  // namespace cleave::tools
