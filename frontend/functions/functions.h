// The functions that a model can call, the user's and those of the prelude: what a name means where, which functions
// they call, and which own parameters. A record is the function that makes it.
#ifndef CLEAVE_FRONTEND_FUNCTIONS_FUNCTIONS_H_
#define CLEAVE_FRONTEND_FUNCTIONS_FUNCTIONS_H_

#include <cstddef>
#include <list>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/source/source.h"
#include "dsl/syntax/syntax.h"
#include "frontend/imports/imports.h"
#include "frontend/report/report.h"
#include "ir/graph/ops/ops.h"

namespace cleave::frontend {

struct Function {
  const dsl::syntax::Function* syntax = nullptr;
  const std::vector<dsl::syntax::Attribute>* attributes = nullptr;  // Null for none.
  const dsl::syntax::Record* record = nullptr;  // What it makes; its fields are the parameters, and it has no body.
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
  // Keeps pointers into all files. Reports functions and ops defined twice and functions that call themselves.
  FunctionTable(const dsl::syntax::File& model, const Imports& imports, const dsl::syntax::File& prelude,
                Reporter& reporter);
  FunctionTable(const FunctionTable&) = delete;
  FunctionTable& operator=(const FunctionTable&) = delete;

  // What `name` means inside `inside` (null: in the model): a function or op of its file or of a file that this one
  // imports, then a function of the prelude, then an op of the table. But a function sees the op of its own name, so
  // that it can wrap it, and
  // `conv2d_op` is the op that the function `conv2d` of the prelude hides.
  Callee Find(const std::string& name, const Function* inside) const;

  // The record that a type of this name means inside `inside`; null for none.
  const Function* FindRecord(const std::string& name, const Function* inside) const;

  // What makes records of a declaration of one of the files.
  const Function& MakerOf(const dsl::syntax::Record& record) const { return *makers_.at(&record); }

  // The function of the prelude that a call of the op stands for, where it names what the op by itself does not take:
  // `cross_entropy(x, y, ignore = -100)`. Null for none.
  const Function* FormOf(const ir::OpDefinition& op, const dsl::syntax::Call& call) const;

  // What the forms of an op take besides the op, each once.
  std::vector<const dsl::syntax::Parameter*> FormParameters(const ir::OpDefinition& op) const;

  // The function of the prelude that has this name, whatever the user calls so; null where there is none.
  const Function* InPrelude(const std::string& name) const;

  // Whether the calls of `name` inside `inside` own parameters.
  bool OwnsParameters(const std::string& name, const Function* inside) const;

  // Everything that `inside` can call, for "did you mean".
  std::vector<std::string> Names(const Function* inside) const;
  std::vector<std::string> RecordNames(const Function* inside) const;

  // The functions that the model and the values of settings reach.
  std::set<const Function*> CalledFrom(const dsl::syntax::Model& model,
                                       const std::vector<dsl::syntax::Expression>& settings) const;

  // Those of the model's own file; no records.
  std::vector<const Function*> model_functions() const;

 private:
  using Definition = std::variant<Function*, const dsl::syntax::OpDefinition*>;
  using Definitions = std::map<std::string, Definition>;

  Definitions Collect(const dsl::syntax::File& file, Reporter& reporter);
  Definitions WithImported(FileId file, const std::map<FileId, Definitions>& own, const Imports& imports,
                           Reporter& reporter) const;
  const Definition* Lookup(const std::string& name, const Function* inside) const;
  FileId FileOf(const Function* inside) const;
  void FindOwners();
  void ReportRecursion(Reporter& reporter);
  void CheckRecords(Reporter& reporter);
  void CheckFields(Function& maker, Reporter& reporter) const;
  std::vector<Function*> Callees(const Function& function);

  FileId model_;
  FileId prelude_;
  std::list<dsl::syntax::Function> heads_;  // Of records.
  std::map<const dsl::syntax::Record*, const Function*> makers_;
  std::list<Function> functions_;          // Of all files, those of the prelude last.
  std::map<std::string, Span> op_places_;  // A program has the ops of all files, by name.
  std::map<FileId, Definitions> visible_;  // What the text of a file can call besides the prelude and the op table.
  std::map<const Function*, std::vector<Function*>> callees_;
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_FUNCTIONS_FUNCTIONS_H_
