// Text of a model inside of a page.
#ifndef CLEAVE_TOOLS_PAGE_ESCAPE_H_
#define CLEAVE_TOOLS_PAGE_ESCAPE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "base/json/json.h"

namespace cleave::tools {

// As text between tags, or in a quoted value of an attribute.
std::string EscapedForHtml(absl::string_view text);

// The JSON of a <script> element: no character with which HTML could end the element or begin a comment, nor one that
// ends a line in JavaScript alone, stands in it as itself. Every JSON reader gives the same values back.
std::string JsonForScript(const Json& json);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_PAGE_ESCAPE_H_
