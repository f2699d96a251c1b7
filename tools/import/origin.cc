#include "tools/import/origin.h"

#include <cstdint>
#include <filesystem>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/file/file.h"

namespace cleave::tools {

const std::vector<std::string>& OriginNames() {
  static const auto& names = *new std::vector<std::string>{
      "config.json",
      "generation_config.json",
      "tokenizer.json",
      "tokenizer_config.json",
      "special_tokens_map.json",
      "added_tokens.json",
      "chat_template.jinja",
      "chat_template.json",
      "vocab.json",
      "merges.txt",
      "vocab.txt",
      "tokenizer.model",
      "sentencepiece.bpe.model",
      "spiece.model",
      "preprocessor_config.json",
      "processor_config.json",
  };
  return names;
}

std::optional<std::vector<OriginFile>> ReadOrigin(const std::string& folder, Diagnostics& diagnostics) {
  constexpr int64_t kMostBytes = int64_t{1} << 28;
  std::vector<OriginFile> files;
  for (const std::string& name : OriginNames()) {
    const std::filesystem::path path = std::filesystem::path(folder) / name;
    std::error_code ignored;
    if (!std::filesystem::exists(std::filesystem::symlink_status(path, ignored))) continue;
    absl::StatusOr<std::string> text =
        ReadFile(path.string(), {.what = "file of a model of Hugging Face", .most_bytes = kMostBytes});
    if (!text.ok()) {
      diagnostics.Add(Error(Code::kE0614, absl::StrCat("the folder ", QuotedPath(folder), " cannot be used"))
                          .Note(std::string(text.status().message())));
      return std::nullopt;
    }
    files.push_back({name, *std::move(text)});
  }
  return files;
}

const OriginFile* FindFile(const std::vector<OriginFile>& files, absl::string_view name) {
  for (const OriginFile& file : files) {
    if (file.name == name) return &file;
  }
  return nullptr;
}

}  // namespace cleave::tools
