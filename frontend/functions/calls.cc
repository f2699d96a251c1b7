#include "frontend/functions/calls.h"

#include "base/match/match.h"

namespace cleave::frontend {
namespace {

void ForEachCallIn(const std::vector<dsl::syntax::Argument>& arguments, const CallVisitor& visit) {
  for (const dsl::syntax::Argument& argument : arguments) ForEachCall(*argument.value, visit);
}

}  // namespace

void ForEachCall(const dsl::syntax::Expression& expression, const CallVisitor& visit) {
  Match(
      expression.kind, [](const dsl::syntax::IntegerLiteral&) {}, [](const dsl::syntax::FloatLiteral&) {},
      [](const dsl::syntax::SizeLiteral&) {}, [](const dsl::syntax::StringLiteral&) {},
      [](const dsl::syntax::BoolLiteral&) {}, [](const dsl::syntax::Name&) {}, [](const dsl::syntax::Wildcard&) {},
      [&](const dsl::syntax::Negate& negate) { ForEachCall(*negate.operand, visit); },
      [&](const dsl::syntax::Binary& binary) {
        ForEachCall(*binary.left, visit);
        ForEachCall(*binary.right, visit);
      },
      [&](const dsl::syntax::Call& call) {
        if (const auto* name = std::get_if<dsl::syntax::Name>(&call.callee->kind)) {
          visit(name->text, expression.span);
          const auto* mapped = name->text != "vmap" || call.arguments.empty()
                                   ? nullptr
                                   : std::get_if<dsl::syntax::Name>(&call.arguments.front().value->kind);
          if (mapped != nullptr) visit(mapped->text, call.arguments.front().span);
        } else {
          ForEachCall(*call.callee, visit);
        }
        ForEachCallIn(call.arguments, visit);
      },
      [&](const dsl::syntax::Index& index) {
        ForEachCall(*index.base, visit);
        for (const dsl::syntax::Subscript& subscript : index.subscripts) {
          if (subscript.begin) ForEachCall(**subscript.begin, visit);
          if (subscript.end) ForEachCall(**subscript.end, visit);
        }
      },
      [&](const dsl::syntax::Tuple& tuple) { ForEachCallIn(tuple.elements, visit); },
      [&](const dsl::syntax::Map& map) {
        for (const dsl::syntax::MapEntry& entry : map.entries) ForEachCall(*entry.value, visit);
      },
      [&](const dsl::syntax::Attributed& attributed) { ForEachCall(*attributed.operand, visit); });
}

void ForEachCall(const std::vector<dsl::syntax::Statement>& body, const CallVisitor& visit) {
  for (const dsl::syntax::Statement& statement : body) {
    Match(
        statement.kind, [](const dsl::syntax::Input&) {}, [](const dsl::syntax::Param&) {},
        [&](const dsl::syntax::For& loop) {
          ForEachCall(loop.begin, visit);
          ForEachCall(loop.end, visit);
          ForEachCall(loop.body, visit);
        },
        [&](const auto& with_value) { ForEachCall(with_value.value, visit); });
  }
}

std::vector<std::string> DeclaredParameters(const std::vector<dsl::syntax::Statement>& body) {
  std::vector<std::string> names;
  for (const dsl::syntax::Statement& statement : body) {
    if (const auto* param = std::get_if<dsl::syntax::Param>(&statement.kind)) names.push_back(param->name.text);
    const auto* loop = std::get_if<dsl::syntax::For>(&statement.kind);
    if (loop == nullptr) continue;
    const std::vector<std::string> inside = DeclaredParameters(loop->body);
    names.insert(names.end(), inside.begin(), inside.end());
  }
  return names;
}

}  // namespace cleave::frontend
