#include "frontend/functions/calls.h"

#include "base/match/match.h"

namespace cleave::frontend {
namespace {

using ExpressionVisitor = std::function<void(const dsl::syntax::Expression&)>;

void ForEachExpressionIn(const std::vector<dsl::syntax::Argument>& arguments, const ExpressionVisitor& visit);

// Each expression before those inside it, but not in attributes.
void ForEachExpression(const dsl::syntax::Expression& expression, const ExpressionVisitor& visit) {
  visit(expression);
  Match(
      expression.kind, [&](const dsl::syntax::Negate& negate) { ForEachExpression(*negate.operand, visit); },
      [&](const dsl::syntax::Not& negation) { ForEachExpression(*negation.operand, visit); },
      [&](const dsl::syntax::Binary& binary) {
        ForEachExpression(*binary.left, visit);
        ForEachExpression(*binary.right, visit);
      },
      [&](const dsl::syntax::Call& call) {
        ForEachExpression(*call.callee, visit);
        ForEachExpressionIn(call.arguments, visit);
      },
      [&](const dsl::syntax::Layer& layer) { ForEachExpression(*layer.call, visit); },
      [&](const dsl::syntax::Index& index) {
        ForEachExpression(*index.base, visit);
        for (const dsl::syntax::Subscript& subscript : index.subscripts) {
          if (subscript.begin) ForEachExpression(**subscript.begin, visit);
          if (subscript.end) ForEachExpression(**subscript.end, visit);
          if (subscript.step) ForEachExpression(**subscript.step, visit);
        }
      },
      [&](const dsl::syntax::Tuple& tuple) { ForEachExpressionIn(tuple.elements, visit); },
      [&](const dsl::syntax::Field& field) { ForEachExpression(*field.base, visit); },
      [&](const dsl::syntax::With& with) {
        ForEachExpression(*with.base, visit);
        ForEachExpressionIn(with.fields, visit);
      },
      [&](const dsl::syntax::Map& map) {
        for (const dsl::syntax::MapEntry& entry : map.entries) ForEachExpression(*entry.value, visit);
      },
      [&](const dsl::syntax::Attributed& attributed) { ForEachExpression(*attributed.operand, visit); },
      [](const auto&) {});  // Literals and names.
}

void ForEachExpressionIn(const std::vector<dsl::syntax::Argument>& arguments, const ExpressionVisitor& visit) {
  for (const dsl::syntax::Argument& argument : arguments) ForEachExpression(*argument.value, visit);
}

// Whether types and initialisers of a body are visited, too.
enum class Parts { kValues, kAll };

void ForEachExpression(absl::Span<const dsl::syntax::Statement> body, Parts parts, const ExpressionVisitor& visit) {
  const auto visit_type = [&](const dsl::syntax::Type& type) {
    if (parts == Parts::kValues || !type.dimensions) return;
    for (const dsl::syntax::Dimension& dimension : *type.dimensions) {
      const auto* size = std::get_if<dsl::syntax::Expression>(&dimension.kind);
      if (size != nullptr) ForEachExpression(*size, visit);
    }
  };
  for (const dsl::syntax::Statement& statement : body) {
    Match(
        statement.kind, [&](const dsl::syntax::Input& input) { visit_type(input.type); },
        [&](const dsl::syntax::Param& param) {
          visit_type(param.type);
          if (parts == Parts::kAll) ForEachExpression(param.initializer, visit);
        },
        [&](const dsl::syntax::Let& let) {
          if (let.type) visit_type(*let.type);
          ForEachExpression(let.value, visit);
        },
        [&](const dsl::syntax::For& loop) {
          ForEachExpression(loop.begin, visit);
          if (loop.end) ForEachExpression(*loop.end, visit);
          ForEachExpression(loop.body, parts, visit);
        },
        [&](const dsl::syntax::If& choice) {
          for (const dsl::syntax::Branch& branch : choice.branches) {
            if (branch.condition) ForEachExpression(*branch.condition, visit);
            ForEachExpression(branch.body, parts, visit);
          }
        },
        [&](const auto& with_value) { ForEachExpression(with_value.value, visit); });
  }
}

void AddDefined(absl::Span<const dsl::syntax::Statement> body, std::vector<std::string>& names) {
  for (const dsl::syntax::Statement& statement : body) {
    Match(
        statement.kind, [&](const dsl::syntax::Param& param) { names.push_back(param.name.text); },
        [&](const dsl::syntax::Let& let) {
          for (const dsl::syntax::Identifier& name : let.names) names.push_back(name.text);
        },
        [&](const dsl::syntax::For& loop) {
          names.push_back(loop.variable.text);
          AddDefined(loop.body, names);
        },
        [&](const dsl::syntax::If& choice) {
          for (const dsl::syntax::Branch& branch : choice.branches) AddDefined(branch.body, names);
        },
        [](const auto&) {});
  }
}

// `visit` for the calls among expressions.
ExpressionVisitor AtCalls(const CallVisitor& visit) {
  return [&visit](const dsl::syntax::Expression& expression) {
    const auto* call = std::get_if<dsl::syntax::Call>(&expression.kind);
    const auto* name = call == nullptr ? nullptr : std::get_if<dsl::syntax::Name>(&call->callee->kind);
    if (name == nullptr) return;
    visit(name->text, expression.span);
    if (name->text != "vmap" || call->arguments.empty()) return;
    const dsl::syntax::Argument& first = call->arguments.front();
    if (const auto* mapped = std::get_if<dsl::syntax::Name>(&first.value->kind)) visit(mapped->text, first.span);
  };
}

// `visit` for the names among expressions.
ExpressionVisitor AtNames(const NameVisitor& visit) {
  return [&visit](const dsl::syntax::Expression& expression) {
    if (const auto* name = std::get_if<dsl::syntax::Name>(&expression.kind)) visit(name->text);
  };
}

}  // namespace

void ForEachCall(const dsl::syntax::Expression& expression, const CallVisitor& visit) {
  ForEachExpression(expression, AtCalls(visit));
}

void ForEachCall(const std::vector<dsl::syntax::Statement>& body, const CallVisitor& visit) {
  ForEachExpression(body, Parts::kValues, AtCalls(visit));
}

void ForEachCall(const dsl::syntax::Expression& expression,
                 const std::function<void(const dsl::syntax::Call& call)>& visit) {
  ForEachExpression(expression, [&](const dsl::syntax::Expression& part) {
    if (const auto* call = std::get_if<dsl::syntax::Call>(&part.kind)) visit(*call);
  });
}

void ForEachName(const dsl::syntax::Expression& expression, const NameVisitor& visit) {
  ForEachExpression(expression, AtNames(visit));
}

void ForEachName(absl::Span<const dsl::syntax::Statement> body, const NameVisitor& visit) {
  ForEachExpression(body, Parts::kAll, AtNames(visit));
}

std::set<std::string> FreeNames(const dsl::syntax::Function& function) {
  std::set<std::string> names;
  std::vector<std::string> defined;
  const NameVisitor insert = [&](const std::string& name) { names.insert(name); };
  const NameVisitor define = [&](const std::string& name) { defined.push_back(name); };
  const ExpressionVisitor use = AtNames(insert);
  const ExpressionVisitor symbol = AtNames(define);
  for (const dsl::syntax::Parameter& parameter : function.parameters) {
    if (parameter.default_value) ForEachExpression(*parameter.default_value, use);
    defined.push_back(parameter.name.text);
    if (!parameter.type.dimensions) continue;
    for (const dsl::syntax::Dimension& dimension : *parameter.type.dimensions) {
      if (!dimension.is_rest()) ForEachExpression(std::get<dsl::syntax::Expression>(dimension.kind), symbol);
    }
  }
  ForEachExpression(function.body, Parts::kValues, use);
  AddDefined(function.body, defined);
  for (const std::string& name : defined) names.erase(name);
  return names;
}

std::vector<std::string> DeclaredParameters(const std::vector<dsl::syntax::Statement>& body) {
  std::vector<std::string> names;
  for (const dsl::syntax::Statement& statement : body) {
    if (const auto* param = std::get_if<dsl::syntax::Param>(&statement.kind)) names.push_back(param->name.text);
    const auto add = [&](const std::vector<dsl::syntax::Statement>& inner) {
      const std::vector<std::string> inside = DeclaredParameters(inner);
      names.insert(names.end(), inside.begin(), inside.end());
    };
    if (const auto* loop = std::get_if<dsl::syntax::For>(&statement.kind)) add(loop->body);
    const auto* choice = std::get_if<dsl::syntax::If>(&statement.kind);
    for (size_t i = 0; choice != nullptr && i < choice->branches.size(); ++i) add(choice->branches[i].body);
  }
  return names;
}

}  // namespace cleave::frontend
