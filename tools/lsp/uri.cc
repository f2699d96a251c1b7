#include "tools/lsp/uri.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace cleave::tools {
namespace {

constexpr absl::string_view kScheme = "file://";

int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = absl::ascii_tolower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

std::string PathOfUri(absl::string_view uri) {
  if (!absl::StartsWith(uri, kScheme)) return std::string(uri);
  absl::string_view rest = absl::StripPrefix(uri, kScheme);
  // What stands before the path is a machine.
  rest.remove_prefix(std::min(rest.size(), rest.find('/')));
  std::string path;
  for (size_t i = 0; i < rest.size(); ++i) {
    const int high = rest[i] == '%' && i + 2 < rest.size() ? DigitOf(rest[i + 1]) : -1;
    const int low = high >= 0 ? DigitOf(rest[i + 2]) : -1;
    if (low < 0) {
      path += rest[i];
    } else {
      path += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return path;
}

std::string UriOfPath(absl::string_view path) {
  std::string uri(kScheme);
  for (const char c : path) {
    const bool is_plain =
        absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("/-._~", absl::string_view(&c, 1));
    if (is_plain) {
      uri += c;
    } else {
      absl::StrAppend(&uri, absl::StrFormat("%%%02X", static_cast<unsigned char>(c)));
    }
  }
  return uri;
}

}  // namespace cleave::tools
