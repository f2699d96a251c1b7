#include "tools/lsp/prelude_file.h"

#include <filesystem>
#include <system_error>

#include "absl/status/statusor.h"
#include "base/file/file.h"
#include "dsl/parse/parse.h"
#include "frontend/prelude/prelude.h"
#include "tools/clean/clean.h"
#include "tools/own_file/own_file.h"

namespace cleave::tools {

namespace fs = std::filesystem;

std::string PreludePath() {
  const std::optional<fs::path> home = CacheHome();
  return home.has_value() ? (*home / "cleave" / "prelude.model").string() : "";
}

std::string WrittenPrelude() {
  const std::string path = PreludePath();
  if (path.empty()) return "";
  const absl::string_view text = frontend::PreludeText();
  const absl::StatusOr<std::string> before = ReadFile(path, {.what = "prelude", .most_bytes = dsl::kMaxSourceBytes});
  if (before.ok() && *before == text) return path;
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  const OwnKind kind = {.first = text.substr(0, text.find('\n') + 1), .what = "the prelude"};
  if (!WriteOwn(path, kind, text).ok()) return "";
  // It is the compiler's: what is written into it changes nothing. Where this fails it can be read all the same.
  fs::permissions(path, fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read, error);
  return path;
}

}  // namespace cleave::tools
