#include "codegen/source/form_text.h"

#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

namespace cleave::codegen {

cpp::Expr ElementAt(const cpp::Expr& type, std::vector<cpp::Expr> elements, const cpp::Expr& i) {
  const cpp::Expr array = cpp::Template("std::array", {type, elements.size()});
  return cpp::Braces(array, std::move(elements)).At(i);
}

cpp::Expr FormExpr(const NumberForm& form, const cpp::Expr& i, bool is_whole) {
  const auto plus = [&](const cpp::Expr& pass) {
    if (is_whole) return form.base + pass * form.stride;
    const int64_t stride = std::abs(form.stride);
    const cpp::Expr product = stride == 1 ? pass : pass * stride;
    if (form.stride < 0) return form.base - product;
    return form.base == 0 ? product : form.base + product;
  };
  if (form.kind == NumberForm::Kind::kTable) {
    return ElementAt(cpp::Name("int64_t"), cpp::Numbers(form.table).node().operands, cpp::Shifted(i, -form.least));
  }
  if (form.kind == NumberForm::Kind::kTurns) return plus(i % 2);
  cpp::Expr number = form.stride == 0 ? cpp::Expr(form.base) : plus(i);
  for (auto other = form.exceptions.rbegin(); other != form.exceptions.rend(); ++other) {
    number = cpp::Choice(cpp::Infix(i, "==", other->first), other->second, number);
  }
  return number;
}

}  // namespace cleave::codegen
