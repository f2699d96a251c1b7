#include "frontend/functions/calls.h"

#include <algorithm>

#include "base/match/match.h"

namespace cleave::frontend {
namespace {

void ForEachCallIn(const std::vector<syntax::Argument>& arguments, const CallVisitor& visit) {
  for (const syntax::Argument& argument : arguments) ForEachCall(*argument.value, visit);
}

}  // namespace

void ForEachCall(const syntax::Expression& expression, const CallVisitor& visit) {
  Match(
      expression.kind, [](const syntax::IntegerLiteral&) {}, [](const syntax::FloatLiteral&) {},
      [](const syntax::SizeLiteral&) {}, [](const syntax::StringLiteral&) {}, [](const syntax::BoolLiteral&) {},
      [](const syntax::Name&) {}, [](const syntax::Wildcard&) {},
      [&](const syntax::Negate& negate) { ForEachCall(*negate.operand, visit); },
      [&](const syntax::Binary& binary) {
        ForEachCall(*binary.left, visit);
        ForEachCall(*binary.right, visit);
      },
      [&](const syntax::Call& call) {
        if (const auto* name = std::get_if<syntax::Name>(&call.callee->kind)) {
          visit(name->text, expression.span);
        } else {
          ForEachCall(*call.callee, visit);
        }
        ForEachCallIn(call.arguments, visit);
      },
      [&](const syntax::Index& index) {
        ForEachCall(*index.base, visit);
        for (const syntax::Subscript& subscript : index.subscripts) {
          if (subscript.begin) ForEachCall(**subscript.begin, visit);
          if (subscript.end) ForEachCall(**subscript.end, visit);
        }
      },
      [&](const syntax::Tuple& tuple) { ForEachCallIn(tuple.elements, visit); },
      [&](const syntax::Map& map) {
        for (const syntax::MapEntry& entry : map.entries) ForEachCall(*entry.value, visit);
      },
      [&](const syntax::Attributed& attributed) { ForEachCall(*attributed.operand, visit); });
}

void ForEachCall(const std::vector<syntax::Statement>& body, const CallVisitor& visit) {
  for (const syntax::Statement& statement : body) {
    Match(
        statement.kind, [](const syntax::Input&) {}, [](const syntax::Param&) {},
        [&](const syntax::For& loop) {
          ForEachCall(loop.begin, visit);
          ForEachCall(loop.end, visit);
          ForEachCall(loop.body, visit);
        },
        [&](const auto& with_value) { ForEachCall(with_value.value, visit); });
  }
}

bool DeclaresParameter(const std::vector<syntax::Statement>& body) {
  return std::any_of(body.begin(), body.end(), [](const syntax::Statement& statement) {
    if (const auto* loop = std::get_if<syntax::For>(&statement.kind)) return DeclaresParameter(loop->body);
    return std::holds_alternative<syntax::Param>(statement.kind);
  });
}

}  // namespace cleave::frontend
