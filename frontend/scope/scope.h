// The names that are visible in one function or in the model: nested blocks of bindings.
#ifndef CLEAVE_FRONTEND_SCOPE_SCOPE_H_
#define CLEAVE_FRONTEND_SCOPE_SCOPE_H_

#include <string>
#include <vector>

#include "base/source/source.h"
#include "dsl/syntax/syntax.h"
#include "frontend/value/value.h"

namespace cleave::frontend {

enum class BindingKind { kArgument, kSymbol, kInput, kParameter, kState, kLet, kLoopVariable };

// What a name is bound to, and where.
struct Binding {
  std::string name;
  Span definition;
  BindingKind kind = BindingKind::kLet;
  bool is_mutable = false;
  bool used = false;
  Value value;
  const dsl::syntax::Type* type = nullptr;  // What it is declared to be, with each value that it gets.
};

// Blocks from the outermost to the innermost; the first is open from the start.
class Scope {
 public:
  Scope() : blocks_(1) {}

  void Push() { blocks_.emplace_back(); }
  // The bindings of the innermost block, in the order of their definitions.
  std::vector<Binding> Pop();

  // Null for an unknown name; the innermost binding wins. Valid until the next change.
  Binding* Find(const std::string& name);
  const Binding* Find(const std::string& name) const;
  // Looks only in the innermost block.
  const Binding* FindInBlock(const std::string& name) const;
  void Define(Binding binding) { blocks_.back().push_back(std::move(binding)); }

  // The values of all bindings that outlive the innermost block.
  std::vector<Value> ValuesAround() const;

  // Every visible name, innermost first.
  std::vector<std::string> Names() const;

 private:
  std::vector<std::vector<Binding>> blocks_;
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_SCOPE_SCOPE_H_
