// Changes values in the text of a JSON object, and leaves every other byte as it is.
//
//   WithField(R"({"vocab_size": 50257, "n_head": 12})", "vocab_size", "50304")
//       == R"({"vocab_size": 50304, "n_head": 12})"
#ifndef CLEAVE_TOOLS_EXPORT_CONFIG_TEXT_H_
#define CLEAVE_TOOLS_EXPORT_CONFIG_TEXT_H_

#include <optional>
#include <string>

namespace cleave::tools {

// The text with `value`, a text of JSON, at `path`. A field that is missing becomes the first one of its object;
// nullopt where there is no such object. REQUIRES: `text` is an object of JSON.
std::optional<std::string> WithField(const std::string& text, const std::string& path, const std::string& value);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_EXPORT_CONFIG_TEXT_H_
