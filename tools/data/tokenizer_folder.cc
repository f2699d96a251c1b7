#include "tools/data/tokenizer_folder.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/digest/digest.h"
#include "runtime/file/file.h"

namespace cleave::tools {

std::optional<Diagnostic> OpenTokenizerFolder(const std::string& path, TokenizerFolder& folder) {
  runtime::Result<runtime::TokenizerFolder> opened = runtime::OpenTokenizerFolder(path);
  if (!opened.ok()) return Error(Code::kE0632, opened.error().message);
  static_cast<runtime::TokenizerFolder&>(folder) = std::move(opened.value());
  const runtime::Result<std::vector<uint8_t>> bytes = runtime::ReadFile(folder.file);
  if (!bytes.ok()) return Error(Code::kE0632, bytes.error().message);
  folder.digest = runtime::DigestOf(bytes.value().data(), static_cast<int64_t>(bytes.value().size()));
  return std::nullopt;
}

}  // namespace cleave::tools
