// From the parse tree of the generated parser to the syntax tree.
//
// The builder walks a parse tree. Of one with syntax errors it leaves out the entries of lists (items, statements,
// settings, fields) that are not whole. Mistakes that the grammar accepts are found here: names of
// arguments that are not names, statements that are not calls, expressions that are too deep.
#ifndef CLEAVE_DSL_PARSE_TREE_BUILDER_H_
#define CLEAVE_DSL_PARSE_TREE_BUILDER_H_

#include <vector>

#include "base/diagnostic/diagnostic.h"
#include "dsl/grammar/CleaveParser.h"
#include "dsl/parse/expression_builder.h"
#include "dsl/parse/tokens.h"
#include "dsl/syntax/syntax.h"

namespace cleave::dsl {

class TreeBuilder {
 public:
  // `is_whole`: the parse tree has no syntax errors. The others outlive the builder.
  TreeBuilder(const TokenPlaces& places, bool is_whole, std::vector<Diagnostic>& errors)
      : places_(places), is_whole_(is_whole), errors_(errors), expressions_(places, errors) {}

  // The items of the file; its comments and blank lines are no part of the parse tree.
  std::vector<syntax::Item> BuildItems(grammar::CleaveParser::FileContext& file);

 private:
  using Parser = grammar::CleaveParser;

  syntax::Item BuildItem(Parser::ItemContext& context);
  syntax::Import BuildImport(Parser::Import_Context& context);
  syntax::Record BuildRecord(Parser::RecordContext& context);
  syntax::Model BuildModel(Parser::ModelContext& context);
  syntax::Function BuildFunction(Parser::FunctionContext& context);
  syntax::OpDefinition BuildOp(Parser::OpDefinitionContext& context);
  syntax::Train BuildTrain(Parser::TrainContext& context);
  syntax::Parallel BuildParallel(Parser::ParallelContext& context);
  syntax::Expect BuildExpect(Parser::ExpectContext& context);
  syntax::Setting BuildSetting(Parser::SettingContext& context);
  syntax::Pin BuildPin(Parser::PinContext& context);
  std::vector<syntax::Parameter> BuildParameters(Parser::ParametersContext* context);
  syntax::Type BuildType(Parser::TypeContext& context);
  // `tuple` is null where there is one name.
  std::vector<syntax::Identifier> BuildNames(Parser::NameContext* name, Parser::NameTupleContext* tuple);
  std::vector<syntax::Attribute> BuildAttributes(const std::vector<Parser::AttributeContext*>& contexts);
  std::vector<syntax::Statement> BuildBlock(Parser::BlockContext& context);
  syntax::Statement BuildStatement(Parser::StatementContext& context);
  syntax::Statement::Kind BuildStatementKind(Parser::StatementContext& context);
  // What a statement looks at: a value, and a part of it that is none.
  struct Looked {
    syntax::Expression value;
    std::optional<syntax::Identifier> part;
  };
  Looked BuildLooked(Parser::LookedContext& context);
  syntax::If BuildConditional(Parser::ConditionalContext& context);
  syntax::Statement::Kind BuildEvaluation(Parser::EvaluationContext& context);
  syntax::Expression BuildExpression(Parser::ExpressionContext* context);
  // Whether an entry of a list is built.
  bool Fits(antlr4::ParserRuleContext& entry) const;
  // Of a list in braces; where its text ends without one, that place.
  Span ClosingBrace(antlr4::ParserRuleContext& list, antlr4::tree::TerminalNode* brace) const;
  Span SpanOf(const antlr4::ParserRuleContext& context) const;
  Span SpanOf(antlr4::tree::TerminalNode* node) const;

  const TokenPlaces& places_;
  const bool is_whole_;
  std::vector<Diagnostic>& errors_;
  ExpressionBuilder expressions_;
};

}  // namespace cleave::dsl

#endif  // CLEAVE_DSL_PARSE_TREE_BUILDER_H_
