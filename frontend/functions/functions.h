// The functions that a model can call, the user's and those of the prelude: which functions they call, and which own
// parameters.
#ifndef CLEAVE_FRONTEND_FUNCTIONS_FUNCTIONS_H_
#define CLEAVE_FRONTEND_FUNCTIONS_FUNCTIONS_H_

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "dsl/syntax/syntax.h"
#include "frontend/report/report.h"
#include "ir/graph/ops/ops.h"

namespace cleave::frontend {

struct Function {
  const dsl::syntax::Function* syntax = nullptr;
  const std::vector<dsl::syntax::Attribute>* attributes = nullptr;  // Null for none.
  bool of_prelude = false;
  bool owns_parameters = false;  // It declares a `param`, or calls a function that does.
  bool broken = false;  // It calls itself, or has a mistake in its head: that was reported, and it is never expanded.

  const std::string& name() const { return syntax->name.text; }
};

// The deepest nesting of calls of functions.
inline constexpr size_t kMaxCallDepth = 128;

// The meaning of a callee's name.
using Callee = std::variant<std::monostate, const Function*, const ir::OpDefinition*, const dsl::syntax::OpDefinition*>;

class FunctionTable {
 public:
  // Keeps pointers into both files. Reports functions and ops defined twice and functions that call themselves.
  FunctionTable(const dsl::syntax::File& user, const dsl::syntax::File& prelude, Reporter& reporter);
  FunctionTable(const FunctionTable&) = delete;
  FunctionTable& operator=(const FunctionTable&) = delete;

  // What `name` means inside `inside` (null: in the model): a function or op of the user, then a function of the
  // prelude, then an op of the table. Two exceptions: a function sees the op of its own name, so that it can wrap it;
  // and the prelude does not see the user's functions and ops.
  Callee Find(const std::string& name, const Function* inside) const;

  // The function of the prelude that has this name, whatever the user calls so; null where there is none.
  const Function* InPrelude(const std::string& name) const;

  // Whether the calls of `name` inside `inside` own parameters.
  bool OwnsParameters(const std::string& name, const Function* inside) const;

  // Everything that can be called, for "did you mean".
  std::vector<std::string> Names() const;

  // The names of the user's functions that the model and the values of settings reach.
  std::set<std::string> CalledFrom(const dsl::syntax::Model& model,
                                   const std::vector<dsl::syntax::Expression>& settings) const;

  const std::vector<const Function*>& user_functions() const { return user_order_; }

 private:
  void FindOwners();
  void ReportRecursion(Reporter& reporter);
  std::vector<Function*> Callees(const Function& function);

  std::map<std::string, Function> user_;
  std::map<std::string, const dsl::syntax::OpDefinition*> user_ops_;
  std::map<std::string, Function> prelude_;
  std::map<const Function*, std::vector<Function*>> callees_;
  std::vector<const Function*> user_order_;
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_FUNCTIONS_FUNCTIONS_H_
