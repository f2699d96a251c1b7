#include "tools/page/escape.h"

#include "absl/strings/str_replace.h"

namespace cleave::tools {

std::string EscapedForHtml(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

// These characters stand only in strings of JSON, where an escape means the same.
std::string JsonForScript(const Json& json) {
  return absl::StrReplaceAll(
      JsonLine(json),
      {{"<", "\\u003c"}, {">", "\\u003e"}, {"&", "\\u0026"}, {"\xe2\x80\xa8", "\\u2028"}, {"\xe2\x80\xa9", "\\u2029"}});
}

}  // namespace cleave::tools
