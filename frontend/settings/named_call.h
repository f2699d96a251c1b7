// A setting whose value is one of a few calls. Inside of frontend/settings only.
#ifndef CLEAVE_FRONTEND_SETTINGS_NAMED_CALL_H_
#define CLEAVE_FRONTEND_SETTINGS_NAMED_CALL_H_

#include <optional>
#include <string>
#include <vector>

#include "dsl/syntax/syntax.h"
#include "frontend/arguments/arguments.h"
#include "frontend/report/report.h"

namespace cleave::frontend {

// A call such as `momentum(lr = 0.05)`, split into what is called and its matched arguments.
struct NamedCall {
  std::string name;
  std::vector<const dsl::syntax::Argument*> arguments;
};

// The call of one of `signatures`; reports anything else. `what`: "data".
std::optional<NamedCall> ReadCall(const dsl::syntax::Expression& value, const std::string& what,
                                  const std::vector<Signature>& signatures, Reporter& reporter);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_SETTINGS_NAMED_CALL_H_
