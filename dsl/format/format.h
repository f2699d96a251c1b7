// The canonical text of a model file.
//
//   std::string text = Format(*Parse(file, sources, diagnostics));
//
// Laws: Format(Parse(Format(x))) == Format(x), and Parse(Format(x)) is x up to spans and comments' places. Comments are
// kept: those on lines of their own stay before what follows them, those at the end of a line stay there, and those in
// the middle of a statement go before it. Single blank lines between statements are kept.
#ifndef CLEAVE_DSL_FORMAT_FORMAT_H_
#define CLEAVE_DSL_FORMAT_FORMAT_H_

#include <string>

#include "dsl/syntax/syntax.h"

namespace cleave::dsl {

// Four spaces per level, lines of at most 120 columns where a list can be broken. Ends with a newline unless empty.
// REQUIRES: a tree that Parse can return; spans may all be empty (a tree that was made rather than parsed), then it has
// no comments.
std::string Format(const syntax::File& file);

}  // namespace cleave::dsl

#endif  // CLEAVE_DSL_FORMAT_FORMAT_H_
