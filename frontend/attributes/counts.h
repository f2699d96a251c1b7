// Slices per dimension of one tensor, as attributes write them: `(4, 2)`, or `auto`.
#ifndef CLEAVE_FRONTEND_ATTRIBUTES_COUNTS_H_
#define CLEAVE_FRONTEND_ATTRIBUTES_COUNTS_H_

#include <string>

#include "dsl/syntax/syntax.h"
#include "frontend/attributes/attributes.h"
#include "frontend/report/report.h"
#include "ir/sharding/pins/pins.h"

namespace cleave::frontend {

// Whether the expression is that word.
bool IsWord(const dsl::syntax::Expression& expression, const std::string& word);

// Mistakes are reported and set `ok` to false.
ir::CountsPin ReadCounts(const dsl::syntax::Expression& expression, const IntEvaluator& evaluate, Reporter& reporter,
                         bool& ok);

// E0303. `help` may be empty.
void ReportMalformed(Span span, std::string message, std::string label, std::string help, Reporter& reporter);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_ATTRIBUTES_COUNTS_H_
