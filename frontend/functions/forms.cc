// Ops that have more arguments in the language than in the op table: a function of the prelude computes what these say.
#include <algorithm>
#include <set>
#include <utility>

#include "frontend/functions/functions.h"

namespace cleave::frontend {
namespace {

struct Form {
  ir::OpKind op;
  const char* function;
};

// In the order in which they are asked whether they take a name.
constexpr Form kForms[] = {
    {ir::OpKind::kCrossEntropy, "cross_entropy_of_labels"},
    {ir::OpKind::kCrossEntropy, "cross_entropy_of_probabilities"},
    {ir::OpKind::kMse, "mse_of_elements"},
    {ir::OpKind::kMae, "mae_of_elements"},
    {ir::OpKind::kHuber, "huber_of_elements"},
    {ir::OpKind::kBceWithLogits, "bce_of_elements"},
    {ir::OpKind::kPad, "pad_with"},
};

bool OpTakes(const ir::OpDefinition& op, const std::string& name) {
  return std::any_of(op.signature.begin(), op.signature.end(),
                     [&](const ir::Argument& argument) { return !argument.internal && argument.name == name; });
}

bool FormTakes(const Function& form, const std::string& name) {
  const std::vector<dsl::syntax::Parameter>& parameters = form.syntax->parameters;
  return std::any_of(parameters.begin(), parameters.end(),
                     [&](const dsl::syntax::Parameter& parameter) { return parameter.name.text == name; });
}

}  // namespace

const Function* FunctionTable::FormOf(const ir::OpDefinition& op, const dsl::syntax::Call& call) const {
  // The form that takes the most names.
  std::pair<int, const Function*> best = {0, nullptr};
  for (const Form& form : kForms) {
    if (form.op != op.kind) continue;
    const Function* function = InPrelude(form.function);
    if (function == nullptr) continue;  // Tests have other preludes.
    int taken = 0;
    bool is_asked = false;
    for (const dsl::syntax::Argument& argument : call.arguments) {
      if (!argument.name || !FormTakes(*function, argument.name->text)) continue;
      ++taken;
      is_asked |= !OpTakes(op, argument.name->text);
    }
    if (is_asked && taken > best.first) best = {taken, function};
  }
  return best.second;
}

std::vector<const dsl::syntax::Parameter*> FunctionTable::FormParameters(const ir::OpDefinition& op) const {
  std::vector<const dsl::syntax::Parameter*> more;
  std::set<std::string> names;
  for (const Form& form : kForms) {
    const Function* function = form.op == op.kind ? InPrelude(form.function) : nullptr;
    if (function == nullptr) continue;
    for (const dsl::syntax::Parameter& parameter : function->syntax->parameters) {
      if (!OpTakes(op, parameter.name.text) && names.insert(parameter.name.text).second) more.push_back(&parameter);
    }
  }
  return more;
}

}  // namespace cleave::frontend
