#include "dsl/parse/expression_builder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "dsl/parse/numbers.h"

namespace cleave::dsl {
namespace {

using antlr4::Token;
using grammar::CleaveParser;

syntax::BinaryOperator OperatorOf(size_t type) {
  switch (type) {
    case CleaveParser::PLUS:
      return syntax::BinaryOperator::kAdd;
    case CleaveParser::MINUS:
      return syntax::BinaryOperator::kSubtract;
    case CleaveParser::STAR:
      return syntax::BinaryOperator::kMultiply;
    case CleaveParser::SLASH:
      return syntax::BinaryOperator::kDivide;
    case CleaveParser::PERCENT:
      return syntax::BinaryOperator::kRemainder;
    case CleaveParser::POWER:
      return syntax::BinaryOperator::kPower;
    case CleaveParser::EQUAL:
      return syntax::BinaryOperator::kEqual;
    case CleaveParser::NOT_EQUAL:
      return syntax::BinaryOperator::kNotEqual;
    case CleaveParser::LESS:
      return syntax::BinaryOperator::kLess;
    case CleaveParser::LESS_EQUAL:
      return syntax::BinaryOperator::kLessEqual;
    case CleaveParser::GREATER:
      return syntax::BinaryOperator::kGreater;
    case CleaveParser::GREATER_EQUAL:
      return syntax::BinaryOperator::kGreaterEqual;
    case CleaveParser::AND:
      return syntax::BinaryOperator::kAnd;
    case CleaveParser::OR:
      return syntax::BinaryOperator::kOr;
  }
  CLEAVE_UNREACHABLE();
}

// The operator tokens between the operands of a chain: every second child.
const Token& OperatorAfter(antlr4::ParserRuleContext& context, size_t operand) {
  return *static_cast<antlr4::tree::TerminalNode*>(context.children[2 * operand + 1])->getSymbol();
}

}  // namespace

Parentheses ExpressionBuilder::SetParentheses(Parentheses parentheses) {
  return std::exchange(parentheses_, parentheses);
}

syntax::Expression ExpressionBuilder::Build(Parser::ExpressionContext& context) {
  return BuildExpression(context).expression;
}

syntax::Expression ExpressionBuilder::Build(Parser::ValueContext& context) { return BuildValue(context).expression; }

ExpressionBuilder::Sized ExpressionBuilder::BuildValue(Parser::ValueContext& context) {
  if (Parser::MapContext* map = context.map()) return BuildMap(*map);
  return BuildExpression(*context.expression());
}

syntax::Expression ExpressionBuilder::BuildSuffixes(Token& name, const std::vector<Parser::SuffixContext*>& suffixes) {
  Sized value = Make(places_.SpanOf(name), 0, syntax::Name{.text = std::string(places_.TextOf(name))});
  for (Parser::SuffixContext* suffix : suffixes) value = BuildSuffix(std::move(value), *suffix);
  return std::move(value.expression);
}

syntax::Attribute ExpressionBuilder::BuildAttribute(Parser::AttributeBodyContext& context, Span span) {
  int depth = 0;
  return BuildAttribute(context, span, depth);
}

syntax::Attribute ExpressionBuilder::BuildAttribute(Parser::AttributeBodyContext& context, Span span, int& depth) {
  const Parentheses outside = SetParentheses(Parentheses::kTuple);
  syntax::Attribute attribute{.span = span,
                              .name = BuildIdentifier(*context.name()),
                              .arguments = BuildArguments(context.argument(), depth),
                              .has_parentheses = context.LPAREN() != nullptr};
  SetParentheses(outside);
  return attribute;
}

syntax::Identifier ExpressionBuilder::BuildIdentifier(Parser::NameContext& context) const {
  const Token& token = *context.getStart();
  return {.span = places_.SpanOf(token), .text = std::string(places_.TextOf(token))};
}

syntax::Identifier ExpressionBuilder::BuildPart(const Token& token) const {
  Span span = places_.SpanOf(token);
  ++span.begin;  // The dot.
  return {.span = span, .text = std::string(places_.TextOf(token).substr(1))};
}

syntax::StringLiteral ExpressionBuilder::BuildString(const Token& token) const {
  const absl::string_view text = places_.TextOf(token);
  syntax::StringLiteral literal;
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] != '\\') {
      literal.value += text[i];
      continue;
    }
    ++i;
    literal.value += text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : text[i];
  }
  return literal;
}

ExpressionBuilder::Sized ExpressionBuilder::Make(Span span, int depth_below, syntax::Expression::Kind kind) {
  if (depth_below < syntax::kMaxExpressionDepth) {
    return {.expression = {.span = span, .kind = std::move(kind)}, .depth = depth_below + 1};
  }
  if (!depth_reported_) {
    depth_reported_ = true;
    errors_.push_back(
        Error(Code::kE0109, absl::StrCat("expression of more than ", syntax::kMaxExpressionDepth, " levels"))
            .At(span, "operators, calls and indices one within another")
            .Help("name a part of it with `let`"));
  }
  return {.expression = {.span = span, .kind = syntax::Wildcard{}}, .depth = 1};
}

ExpressionBuilder::Sized ExpressionBuilder::MakeBinary(Sized left, const Token& op, Sized right) {
  const Span span = Cover(left.expression.span, right.expression.span);
  const int depth = std::max(left.depth, right.depth);
  return Make(span, depth,
              syntax::Binary{.op = OperatorOf(op.getType()),
                             .operator_span = places_.SpanOf(op),
                             .left = std::move(left.expression),
                             .right = std::move(right.expression)});
}

ExpressionBuilder::Sized ExpressionBuilder::BuildExpression(Parser::ExpressionContext& context) {
  const std::vector<Parser::ConjunctionContext*> conjunctions = context.conjunction();
  Sized value = BuildConjunction(*conjunctions[0]);
  for (size_t i = 1; i < conjunctions.size(); ++i) {
    value = MakeBinary(std::move(value), OperatorAfter(context, i - 1), BuildConjunction(*conjunctions[i]));
  }
  return value;
}

ExpressionBuilder::Sized ExpressionBuilder::BuildConjunction(Parser::ConjunctionContext& context) {
  const std::vector<Parser::RelationContext*> relations = context.relation();
  Sized value = BuildRelation(*relations[0]);
  for (size_t i = 1; i < relations.size(); ++i) {
    value = MakeBinary(std::move(value), OperatorAfter(context, i - 1), BuildRelation(*relations[i]));
  }
  return value;
}

ExpressionBuilder::Sized ExpressionBuilder::BuildRelation(Parser::RelationContext& context) {
  const std::vector<Parser::SumContext*> sums = context.sum();
  Sized left = BuildSum(*sums[0]);
  if (sums.size() == 1) return left;
  return MakeBinary(std::move(left), *context.comparison()->getStart(), BuildSum(*sums[1]));
}

ExpressionBuilder::Sized ExpressionBuilder::BuildSum(Parser::SumContext& context) {
  const std::vector<Parser::ProductContext*> products = context.product();
  Sized value = BuildProduct(*products[0]);
  for (size_t i = 1; i < products.size(); ++i) {
    value = MakeBinary(std::move(value), OperatorAfter(context, i - 1), BuildProduct(*products[i]));
  }
  return value;
}

ExpressionBuilder::Sized ExpressionBuilder::BuildProduct(Parser::ProductContext& context) {
  const std::vector<Parser::PrefixedContext*> factors = context.prefixed();
  Sized value = BuildPrefixed(*factors[0]);
  for (size_t i = 1; i < factors.size(); ++i) {
    value = MakeBinary(std::move(value), OperatorAfter(context, i - 1), BuildPrefixed(*factors[i]));
  }
  return value;
}

ExpressionBuilder::Sized ExpressionBuilder::BuildPrefixed(Parser::PrefixedContext& context) {
  const std::vector<Parser::PrefixContext*> prefixes = context.prefix();
  Sized value = BuildPower(*context.power());
  const Token& last = *context.getStop();
  int depth = value.depth;
  std::vector<syntax::Attribute> attributes;  // Of a run of attributes, innermost first.
  for (auto prefix = prefixes.rbegin(); prefix != prefixes.rend(); ++prefix) {
    const Span span = places_.SpanOf(*(*prefix)->getStart(), last);
    if (Parser::AttributeContext* attribute = (*prefix)->attribute()) {
      const Span attribute_span = places_.SpanOf(*attribute->getStart(), *attribute->getStop());
      attributes.push_back(BuildAttribute(*attribute->attributeBody(), attribute_span, depth));
      const auto next = std::next(prefix);
      if (next != prefixes.rend() && (*next)->attribute() != nullptr) continue;
      std::reverse(attributes.begin(), attributes.end());
      value =
          Make(span, depth,
               syntax::Attributed{.attributes = std::exchange(attributes, {}), .operand = std::move(value.expression)});
    } else if ((*prefix)->NOT() != nullptr) {
      value = Make(span, depth, syntax::Not{.operand = std::move(value.expression)});
    } else {
      value = Make(span, depth, syntax::Negate{.operand = std::move(value.expression)});
    }
    depth = value.depth;
  }
  return value;
}

ExpressionBuilder::Sized ExpressionBuilder::BuildPower(Parser::PowerContext& context) {
  Sized base = BuildSuffixed(*context.suffixed());
  if (context.prefixed() == nullptr) return base;
  return MakeBinary(std::move(base), *context.POWER()->getSymbol(), BuildPrefixed(*context.prefixed()));
}

ExpressionBuilder::Sized ExpressionBuilder::BuildSuffixed(Parser::SuffixedContext& context) {
  Sized value = BuildPrimary(*context.primary());
  for (Parser::SuffixContext* suffix : context.suffix()) value = BuildSuffix(std::move(value), *suffix);
  return value;
}

ExpressionBuilder::Sized ExpressionBuilder::BuildSuffix(Sized base, Parser::SuffixContext& context) {
  const Span span = Cover(base.expression.span, places_.SpanOf(*context.getStart(), *context.getStop()));
  int depth = base.depth;
  if (context.PART() != nullptr) {
    syntax::Identifier name = BuildPart(*context.PART()->getSymbol());
    return Make(span, depth, syntax::Field{.base = std::move(base.expression), .name = std::move(name)});
  }
  if (context.WITH() != nullptr) {
    std::vector<syntax::Argument> fields = BuildArguments(context.argument(), depth);
    return Make(span, depth, syntax::With{.base = std::move(base.expression), .fields = std::move(fields)});
  }
  if (context.LPAREN() != nullptr) {
    std::vector<syntax::Argument> arguments = BuildArguments(context.argument(), depth);
    return Make(span, depth, syntax::Call{.callee = std::move(base.expression), .arguments = std::move(arguments)});
  }
  std::vector<syntax::Subscript> subscripts;
  for (Parser::SubscriptContext* subscript : context.subscript())
    subscripts.push_back(BuildSubscript(*subscript, depth));
  return Make(span, depth, syntax::Index{.base = std::move(base.expression), .subscripts = std::move(subscripts)});
}

syntax::Subscript ExpressionBuilder::BuildSubscript(Parser::SubscriptContext& context, int& depth) {
  syntax::Subscript subscript{.span = places_.SpanOf(*context.getStart(), *context.getStop()),
                              .is_range = !context.RANGE().empty(),
                              .begin = std::nullopt,
                              .end = std::nullopt,
                              .step = std::nullopt};
  std::optional<syntax::Box<syntax::Expression>>* const places[] = {&subscript.begin, &subscript.end, &subscript.step};
  size_t place = 0;  // Behind so many `..`.
  for (antlr4::tree::ParseTree* child : context.children) {
    auto* const expression = dynamic_cast<Parser::ExpressionContext*>(child);
    if (expression == nullptr) {
      ++place;
      continue;
    }
    Sized part = BuildExpression(*expression);
    depth = std::max(depth, part.depth);
    *places[place] = std::move(part.expression);
  }
  return subscript;
}

std::vector<syntax::Argument> ExpressionBuilder::BuildArguments(const std::vector<Parser::ArgumentContext*>& contexts,
                                                                int& depth) {
  std::vector<syntax::Argument> arguments;
  arguments.reserve(contexts.size());
  for (Parser::ArgumentContext* context : contexts) arguments.push_back(BuildArgument(*context, depth));
  return arguments;
}

syntax::Argument ExpressionBuilder::BuildArgument(Parser::ArgumentContext& context, int& depth) {
  const Span span = places_.SpanOf(*context.getStart(), *context.getStop());
  const std::vector<Parser::ValueContext*> parts = context.value();
  Sized first = BuildValue(*parts[0]);
  depth = std::max(depth, first.depth);
  if (parts.size() == 1) return {.span = span, .name = std::nullopt, .value = std::move(first.expression)};
  Sized value = BuildValue(*parts[1]);
  depth = std::max(depth, value.depth);
  const auto* name = std::get_if<syntax::Name>(&first.expression.kind);
  // The parentheses of `(x) = 1` are not in the tree, but its first token is one.
  if (name == nullptr || context.getStart()->getType() == Parser::LPAREN) {
    errors_.push_back(Error(Code::kE0115, "expected a name before `=`")
                          .At(first.expression.span, "not a name")
                          .Help("an argument is given as `name = value`; equality is written `==`"));
    return {.span = span, .name = std::nullopt, .value = std::move(value.expression)};
  }
  return {.span = span,
          .name = syntax::Identifier{.span = first.expression.span, .text = name->text},
          .value = std::move(value.expression)};
}

ExpressionBuilder::Sized ExpressionBuilder::BuildPrimary(Parser::PrimaryContext& context) {
  if (Parser::ParenthesizedContext* parenthesized = context.parenthesized()) return BuildParenthesized(*parenthesized);
  if (Parser::LayerContext* layer = context.layer()) return BuildLayer(*layer);
  const Token& token = *context.getStart();
  const Span span = places_.SpanOf(token);
  std::string text(places_.TextOf(token));
  // Values that do not fit are reported where tokens are read.
  switch (token.getType()) {
    case Parser::INTEGER:
      return Make(span, 0, syntax::IntegerLiteral{.value = IntegerValue(text).value_or(0), .text = std::move(text)});
    case Parser::FLOAT:
      return Make(span, 0, syntax::FloatLiteral{.value = FloatValue(text).value_or(0), .text = std::move(text)});
    case Parser::SIZE:
      return Make(span, 0, syntax::SizeLiteral{.bytes = SizeValue(text).value_or(0), .text = std::move(text)});
    case Parser::TIME:
      return Make(span, 0, syntax::TimeLiteral{.seconds = TimeValue(text).value_or(0), .text = std::move(text)});
    case Parser::STRING:
      return Make(span, 0, BuildString(token));
    case Parser::TRUE:
    case Parser::FALSE:
      return Make(span, 0, syntax::BoolLiteral{.value = token.getType() == Parser::TRUE});
    case Parser::WILDCARD:
      return Make(span, 0, syntax::Wildcard{});
    default:
      return Make(span, 0, syntax::Name{.text = std::move(text)});
  }
}

ExpressionBuilder::Sized ExpressionBuilder::BuildLayer(Parser::LayerContext& context) {
  syntax::Identifier name = BuildIdentifier(*context.name());
  int depth = 0;
  std::vector<syntax::Argument> arguments = BuildArguments(context.argument(), depth);
  Sized callee = Make(name.span, 0, syntax::Name{.text = std::move(name.text)});
  depth = std::max(depth, callee.depth);
  const Token& last = *context.getStop();
  Sized call = Make(places_.SpanOf(*context.name()->getStart(), last), depth,
                    syntax::Call{.callee = std::move(callee.expression), .arguments = std::move(arguments)});
  return Make(places_.SpanOf(*context.getStart(), last), call.depth, syntax::Layer{.call = std::move(call.expression)});
}

ExpressionBuilder::Sized ExpressionBuilder::BuildParenthesized(Parser::ParenthesizedContext& context) {
  int depth = 0;
  std::vector<syntax::Argument> elements = BuildArguments(context.argument(), depth);
  const bool groups =
      parentheses_ == Parentheses::kGroup && elements.size() == 1 && !elements[0].name && context.COMMA().empty();
  const Span span = places_.SpanOf(*context.getStart(), *context.getStop());
  if (groups) {
    elements[0].value->span = span;
    return {.expression = std::move(*elements[0].value), .depth = depth};
  }
  return Make(span, depth, syntax::Tuple{.elements = std::move(elements)});
}

ExpressionBuilder::Sized ExpressionBuilder::BuildMap(Parser::MapContext& context) {
  int depth = 0;
  syntax::Map map;
  for (Parser::MapEntryContext* entry : context.mapEntry()) {
    Sized value = BuildValue(*entry->value());
    depth = std::max(depth, value.depth);
    map.entries.push_back({.span = places_.SpanOf(*entry->getStart(), *entry->getStop()),
                           .key_span = places_.SpanOf(*entry->getStart()),
                           .key = BuildString(*entry->getStart()),
                           .value = std::move(value.expression)});
  }
  return Make(places_.SpanOf(*context.getStart(), *context.getStop()), depth, std::move(map));
}

}  // namespace cleave::dsl
