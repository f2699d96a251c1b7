// `groups = { "*.bias": optimizer(weight_decay = 0.0), "backbone.*": frozen };`: parameters that are updated otherwise
// than `optimizer` says, or not at all.
#ifndef CLEAVE_FRONTEND_OPTIMIZER_GROUPS_H_
#define CLEAVE_FRONTEND_OPTIMIZER_GROUPS_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/source/source.h"
#include "dsl/syntax/syntax.h"
#include "frontend/functions/functions.h"
#include "frontend/report/report.h"
#include "frontend/value/value.h"
#include "ir/graph/graph.h"

namespace cleave::frontend {

// How parameters are updated: a call of a function of the language.
struct Recipe {
  std::string context;  // Of the setting, for messages.
  Span span;            // Of the call.
  const Function* function = nullptr;
  std::string path;        // "optimizer", "groups.*.bias": where the names of its numbers begin.
  dsl::syntax::Call call;  // Its arguments have names, and are neither `lr` nor among these numbers:
  std::map<std::string, Value> numbers = {};
  StepValue rate{.formula = ir::Scalar(0)};
  std::string rate_text;  // As the model says it.
};

struct Group {
  std::string pattern;
  Span span;                     // Of the pattern.
  std::string context;           // Of the setting, for messages.
  std::optional<Recipe> recipe;  // Nothing where it is frozen.
};

class Groups {
 public:
  explicit Groups(Reporter& reporter) : reporter_(reporter) {}

  void Add(Group group) { groups_.push_back(std::move(group)); }
  bool empty() const { return groups_.empty(); }
  // Called before Divide. A group may be frozen that names these alone.
  void Freeze(std::set<std::string> parameters) { frozen_ = std::move(parameters); }

  // Finds the parameters of each group, and marks those of frozen ones in `model` as not trained. Reports a group
  // without parameters, and a parameter in two groups.
  void Divide(ir::Graph& model);

  // How a parameter is updated: as its group says, or as `usual`.
  const Recipe& RecipeOf(const ir::Op& parameter, const Recipe& usual) const;

  // Reports groups of whose parameters none is among `trained`, and that there are no trained ones.
  void CheckTrained(const std::vector<std::string>& trained) const;

 private:
  void Report(const Group& group, Diagnostic error) const;

  Reporter& reporter_;
  std::vector<Group> groups_;
  std::set<std::string> frozen_;
  std::map<std::string, size_t> of_parameter_;  // The number of the group of a parameter.
};

// `a`, `b` and `c`: names of parameters in a message, not too many.
std::string FirstNames(std::vector<std::string> parameters);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_OPTIMIZER_GROUPS_H_
