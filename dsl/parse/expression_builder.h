// The part of the tree builder that makes expressions.
#ifndef CLEAVE_DSL_PARSE_EXPRESSION_BUILDER_H_
#define CLEAVE_DSL_PARSE_EXPRESSION_BUILDER_H_

#include <vector>

#include "base/diagnostic/diagnostic.h"
#include "dsl/grammar/CleaveParser.h"
#include "dsl/parse/tokens.h"
#include "dsl/syntax/syntax.h"

namespace cleave::dsl {

// Whether `(x)` groups or makes a tuple of one element.
enum class Parentheses { kGroup, kTuple };

class ExpressionBuilder {
 public:
  // Both outlive the builder.
  ExpressionBuilder(const TokenPlaces& places, std::vector<Diagnostic>& errors) : places_(places), errors_(errors) {}

  // What single parentheses make until the next call; returns what they made before.
  Parentheses SetParentheses(Parentheses parentheses);

  syntax::Expression Build(grammar::CleaveParser::ExpressionContext& context);
  syntax::Expression Build(grammar::CleaveParser::ValueContext& context);

  // The name of an evaluation with its suffixes: `send(x, 1)`.
  syntax::Expression BuildSuffixes(antlr4::Token& name,
                                   const std::vector<grammar::CleaveParser::SuffixContext*>& suffixes);

  // In an attribute parentheses always make tuples.
  syntax::Attribute BuildAttribute(grammar::CleaveParser::AttributeBodyContext& context, Span span);

  syntax::Identifier BuildIdentifier(grammar::CleaveParser::NameContext& context) const;

  // REQUIRES: a PART token.
  syntax::Identifier BuildPart(const antlr4::Token& token) const;

  // REQUIRES: a STRING token.
  syntax::StringLiteral BuildString(const antlr4::Token& token) const;

 private:
  using Parser = grammar::CleaveParser;

  // An expression and the number of levels of its tree.
  struct Sized {
    syntax::Expression expression;
    int depth = 1;
  };

  // `depth` is raised to that of the deepest expression within, here and below.
  syntax::Attribute BuildAttribute(Parser::AttributeBodyContext& context, Span span, int& depth);
  Sized BuildValue(Parser::ValueContext& context);
  Sized BuildExpression(Parser::ExpressionContext& context);
  Sized BuildConjunction(Parser::ConjunctionContext& context);
  Sized BuildRelation(Parser::RelationContext& context);
  Sized BuildSum(Parser::SumContext& context);
  Sized BuildProduct(Parser::ProductContext& context);
  Sized BuildPrefixed(Parser::PrefixedContext& context);
  Sized BuildPower(Parser::PowerContext& context);
  Sized BuildSuffixed(Parser::SuffixedContext& context);
  Sized BuildSuffix(Sized base, Parser::SuffixContext& context);
  Sized BuildPrimary(Parser::PrimaryContext& context);
  Sized BuildLayer(Parser::LayerContext& context);
  Sized BuildParenthesized(Parser::ParenthesizedContext& context);
  Sized BuildMap(Parser::MapContext& context);
  syntax::Subscript BuildSubscript(Parser::SubscriptContext& context, int& depth);
  syntax::Argument BuildArgument(Parser::ArgumentContext& context, int& depth);
  std::vector<syntax::Argument> BuildArguments(const std::vector<Parser::ArgumentContext*>& contexts, int& depth);
  Sized MakeBinary(Sized left, const antlr4::Token& op, Sized right);

  // One level above `depth_below`. Past kMaxExpressionDepth the first is reported and a wildcard takes its place, so
  // that no tree ever gets deeper.
  Sized Make(Span span, int depth_below, syntax::Expression::Kind kind);

  const TokenPlaces& places_;
  std::vector<Diagnostic>& errors_;
  Parentheses parentheses_ = Parentheses::kGroup;
  bool depth_reported_ = false;
};

}  // namespace cleave::dsl

#endif  // CLEAVE_DSL_PARSE_EXPRESSION_BUILDER_H_
