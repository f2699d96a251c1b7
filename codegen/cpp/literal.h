// Literals and comments of C++ that are safe for any text of a user.
#ifndef CLEAVE_CODEGEN_CPP_LITERAL_H_
#define CLEAVE_CODEGEN_CPP_LITERAL_H_

#include <string>

#include "absl/strings/string_view.h"

namespace cleave::codegen {

// A string literal with quotes. Everything outside of printable ASCII is written in octal, so any name is safe.
std::string StringLiteral(absl::string_view text);

// `text` on one line of printable ASCII, for a `//` comment. Other characters become '?'. A final backslash, which
// would continue the comment on the next line, is followed by a full stop.
std::string CommentText(absl::string_view text);

// "0.05f", "3.0f", "INFINITY": a float literal that reads back as the nearest float.
std::string FloatLiteral(double value);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_CPP_LITERAL_H_
