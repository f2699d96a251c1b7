// The canonical text of expressions, types and attributes.
#ifndef CLEAVE_DSL_FORMAT_EXPRESSION_FORMAT_H_
#define CLEAVE_DSL_FORMAT_EXPRESSION_FORMAT_H_

#include <optional>
#include <string>
#include <vector>

#include "dsl/syntax/syntax.h"

namespace cleave::dsl {

inline constexpr int kLineWidth = 120;
inline constexpr int kIndentWidth = 4;

// Where a text begins, and how much must still fit behind it on its last line.
struct Place {
  int indent = 0;         // The indent of the line, in columns; lines of a broken list are indented by four more.
  int column = 0;         // The column at which the text begins.
  int reserve = 0;        // Columns of what follows, such as `;`.
  bool one_line = false;  // Nothing is broken, however long.
};

// The column after `text`, which begins at `column`.
int ColumnAfter(const std::string& text, int column);

// On one line if it fits, else with its outermost list broken to one element per line.
std::string FormatExpression(const syntax::Expression& expression, Place place);

// `#[shard((4, 2), (1, 2))]`; without_brackets: `shard((4, 2), (1, 2))`, as in a pin.
std::string FormatAttribute(const syntax::Attribute& attribute, Place place);
std::string FormatAttributeBody(const syntax::Attribute& attribute, Place place);

// `f32[..n, k]`, always on one line.
std::string FormatType(const syntax::Type& type);

// What `print` looks at: `x`, `w.grad`; `wraps`: the value in parentheses.
std::string FormatLooked(const syntax::Expression& value, const std::optional<syntax::Identifier>& part, bool wraps,
                         Place place);

// `units: int = 3`.
std::string FormatParameter(const syntax::Parameter& parameter, Place place);

// `(x: f32[n], units: int = 3)`.
std::string FormatParameters(const std::vector<syntax::Parameter>& parameters, Place place);

// The results of a function: `f32[n]`, `(f32[n], int)`; nothing where there are none.
std::string FormatResults(const std::vector<syntax::Type>& results, Place place);

// What a statement defines or assigns: `x`, `(a, _)`.
std::string FormatNames(const std::vector<syntax::Identifier>& names, Place place);

// `0..depth`, `rank * n .. (rank + 1) * n`, `..`: either end may be null. On one line.
std::string FormatRange(const syntax::Expression* begin, const syntax::Expression* end,
                        const syntax::Expression* step = nullptr);

}  // namespace cleave::dsl

#endif  // CLEAVE_DSL_FORMAT_EXPRESSION_FORMAT_H_
