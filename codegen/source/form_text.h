// Forms of what differs between passes (codegen/roll/forms.h) as expressions.
#ifndef CLEAVE_CODEGEN_SOURCE_FORM_TEXT_H_
#define CLEAVE_CODEGEN_SOURCE_FORM_TEXT_H_

#include <vector>

#include "codegen/cpp/cpp.h"
#include "codegen/roll/forms.h"

namespace cleave::codegen {

// The number in pass `i`: "128 + i * 4096", "i == 0 ? 64 : i * 4096". `is_whole`: no number is left out because it is 0
// or 1, and none is subtracted, so that forms with other numbers look alike.
cpp::Expr FormExpr(const NumberForm& form, const cpp::Expr& i, bool is_whole = false);

// One of a list: "std::array<int64_t, 3>{4, 8, 64}[i]".
cpp::Expr ElementAt(const cpp::Expr& type, std::vector<cpp::Expr> elements, const cpp::Expr& i);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_FORM_TEXT_H_
