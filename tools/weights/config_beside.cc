#include "tools/weights/config_beside.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime/error/error.h"
#include "runtime/file/file.h"

namespace cleave::tools {

runtime::Json ConfigBeside(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::is_directory(path, ignored)
                                           ? std::filesystem::path(path)
                                           : std::filesystem::path(path).parent_path();
  constexpr int64_t kMostBytes = int64_t{1} << 24;
  const runtime::Result<std::vector<uint8_t>> bytes = runtime::ReadFile(folder / "config.json", kMostBytes);
  if (!bytes.ok()) return {};
  runtime::Result<runtime::Json> json = runtime::ParseJson(std::string(bytes.value().begin(), bytes.value().end()));
  return json.ok() ? std::move(json.value()) : runtime::Json();
}

}  // namespace cleave::tools
