// Paths of files as the protocol names them: "file:///tmp/a%20b.model".
#ifndef CLEAVE_TOOLS_LSP_URI_H_
#define CLEAVE_TOOLS_LSP_URI_H_

#include <string>

#include "absl/strings/string_view.h"

namespace cleave::tools {

// The path of a file; a URI of another kind, such as that of a text without a file, as it is.
std::string PathOfUri(absl::string_view uri);

// REQUIRES: an absolute path.
std::string UriOfPath(absl::string_view path);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_LSP_URI_H_
