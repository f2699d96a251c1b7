#include "dsl/parse/tree_builder.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace cleave::dsl {
namespace {

bool IsEntry(const antlr4::ParserRuleContext& context) {
  switch (context.getRuleIndex()) {
    case grammar::CleaveParser::RuleItem:
    case grammar::CleaveParser::RuleStatement:
    case grammar::CleaveParser::RuleSetting:
    case grammar::CleaveParser::RuleEntry:
    case grammar::CleaveParser::RuleField:
      return true;
    default:
      return false;
  }
}

// Whether the rule is a list in braces whose entries can be left out.
bool IsList(const antlr4::ParserRuleContext& context) {
  switch (context.getRuleIndex()) {
    case grammar::CleaveParser::RuleBlock:
    case grammar::CleaveParser::RuleTrain:
    case grammar::CleaveParser::RuleRecord:
    case grammar::CleaveParser::RuleParallel:
    case grammar::CleaveParser::RuleExpect:
    case grammar::CleaveParser::RuleOpDefinition:
      return true;
    default:
      return false;
  }
}

bool HasOpeningBrace(const antlr4::ParserRuleContext& context) {
  for (antlr4::tree::ParseTree* child : context.children) {
    auto* const terminal = dynamic_cast<antlr4::tree::TerminalNode*>(child);
    if (terminal != nullptr && terminal->getSymbol()->getType() == grammar::CleaveParser::LBRACE) {
      return dynamic_cast<antlr4::tree::ErrorNode*>(child) == nullptr;
    }
  }
  return false;
}

// Whether the parser has found all of it, but for entries of the lists in it and their closing braces.
bool IsWhole(antlr4::ParserRuleContext& context) {
  const bool is_list = IsList(context);
  if (is_list ? !HasOpeningBrace(context) : context.exception != nullptr) return false;
  for (antlr4::tree::ParseTree* child : context.children) {
    if (auto* const part = dynamic_cast<antlr4::ParserRuleContext*>(child)) {
      if (!(is_list && IsEntry(*part)) && !IsWhole(*part)) return false;
    } else if (auto* const error = dynamic_cast<antlr4::tree::ErrorNode*>(child)) {
      // A semicolon that is missing was supplied, and has no place among the tokens.
      auto* const terminal = dynamic_cast<antlr4::tree::TerminalNode*>(child);
      const bool is_supplied = terminal != nullptr && terminal->getSymbol()->getTokenIndex() == INVALID_INDEX;
      if (error != nullptr && !is_list && !is_supplied) return false;
    }
  }
  return true;
}

}  // namespace

bool TreeBuilder::Fits(antlr4::ParserRuleContext& entry) const { return is_whole_ || IsWhole(entry); }

Span TreeBuilder::ClosingBrace(antlr4::ParserRuleContext& list, antlr4::tree::TerminalNode* brace) const {
  if (brace != nullptr) return SpanOf(brace);
  const Span all = SpanOf(list);
  return {.file = all.file, .begin = all.end, .end = all.end};
}

Span TreeBuilder::SpanOf(const antlr4::ParserRuleContext& context) const {
  auto& node = const_cast<antlr4::ParserRuleContext&>(context);  // ANTLR's accessors are not const.
  const antlr4::Token& first = *node.getStart();
  // What ends before it begins is empty but for mistakes.
  const antlr4::Token* const last = node.getStop();
  const bool is_empty = last == nullptr || last->getTokenIndex() < first.getTokenIndex();
  return places_.SpanOf(first, is_empty ? first : *last);
}

Span TreeBuilder::SpanOf(antlr4::tree::TerminalNode* node) const { return places_.SpanOf(*node->getSymbol()); }

syntax::Expression TreeBuilder::BuildExpression(Parser::ExpressionContext* context) {
  return expressions_.Build(*context);
}

std::vector<syntax::Item> TreeBuilder::BuildItems(Parser::FileContext& file) {
  std::vector<syntax::Item> items;
  for (Parser::ItemContext* item : file.item()) {
    if (Fits(*item)) items.push_back(BuildItem(*item));
  }
  return items;
}

syntax::Item TreeBuilder::BuildItem(Parser::ItemContext& context) {
  const Span span = SpanOf(context);
  std::vector<syntax::Attribute> attributes = BuildAttributes(context.attribute());
  const auto item = [&](syntax::Item::Kind kind) {
    return syntax::Item{.span = span, .attributes = std::move(attributes), .kind = std::move(kind)};
  };
  if (auto* import = context.import_()) return item(BuildImport(*import));
  if (auto* record = context.record()) return item(BuildRecord(*record));
  if (auto* model = context.model()) return item(BuildModel(*model));
  if (auto* function = context.function()) return item(BuildFunction(*function));
  if (auto* op = context.opDefinition()) return item(BuildOp(*op));
  if (auto* train = context.train()) return item(BuildTrain(*train));
  if (auto* parallel = context.parallel()) return item(BuildParallel(*parallel));
  return item(BuildExpect(*context.expect()));
}

syntax::Import TreeBuilder::BuildImport(Parser::Import_Context& context) {
  return {.path_span = SpanOf(context.STRING()), .path = expressions_.BuildString(*context.STRING()->getSymbol())};
}

syntax::Record TreeBuilder::BuildRecord(Parser::RecordContext& context) {
  syntax::Record record{
      .name = expressions_.BuildIdentifier(*context.name()), .fields = {}, .body_begin = SpanOf(context.LBRACE())};
  for (Parser::FieldContext* part : context.field()) {
    if (!Fits(*part)) continue;
    syntax::Parameter field{.span = SpanOf(*part),
                            .name = expressions_.BuildIdentifier(*part->name()),
                            .type = BuildType(*part->type()),
                            .default_value = std::nullopt};
    if (part->expression() != nullptr) field.default_value = BuildExpression(part->expression());
    record.fields.push_back(std::move(field));
  }
  return record;
}

syntax::Model TreeBuilder::BuildModel(Parser::ModelContext& context) {
  return {.name = expressions_.BuildIdentifier(*context.name()),
          .parameters = BuildParameters(context.parameters()),
          .body = BuildBlock(*context.block()),
          .body_begin = SpanOf(context.block()->LBRACE()),
          .body_end = ClosingBrace(*context.block(), context.block()->RBRACE())};
}

syntax::Function TreeBuilder::BuildFunction(Parser::FunctionContext& context) {
  syntax::Function function{.name = expressions_.BuildIdentifier(*context.name()),
                            .parameters = BuildParameters(context.parameters()),
                            .results = {},
                            .body = {},
                            .body_begin = SpanOf(context.block()->LBRACE()),
                            .body_end = ClosingBrace(*context.block(), context.block()->RBRACE())};
  if (Parser::ResultsContext* results = context.results()) {
    for (Parser::TypeContext* type : results->type()) function.results.push_back(BuildType(*type));
  }
  function.body = BuildBlock(*context.block());
  return function;
}

syntax::OpDefinition TreeBuilder::BuildOp(Parser::OpDefinitionContext& context) {
  syntax::OpDefinition op{.name = expressions_.BuildIdentifier(*context.name()),
                          .parameters = BuildParameters(context.parameters()),
                          .result = std::nullopt,
                          .settings = {},
                          .body_begin = SpanOf(context.LBRACE())};
  if (context.type() != nullptr) op.result = BuildType(*context.type());
  const Parentheses outside = expressions_.SetParentheses(Parentheses::kTuple);
  for (Parser::SettingContext* setting : context.setting()) {
    if (Fits(*setting)) op.settings.push_back(BuildSetting(*setting));
  }
  expressions_.SetParentheses(outside);
  return op;
}

syntax::Train TreeBuilder::BuildTrain(Parser::TrainContext& context) {
  syntax::Train train{
      .model = expressions_.BuildIdentifier(*context.name()), .settings = {}, .body_begin = SpanOf(context.LBRACE())};
  for (Parser::SettingContext* setting : context.setting()) {
    if (Fits(*setting)) train.settings.push_back(BuildSetting(*setting));
  }
  return train;
}

syntax::Parallel TreeBuilder::BuildParallel(Parser::ParallelContext& context) {
  const Parentheses outside = expressions_.SetParentheses(Parentheses::kTuple);
  syntax::Parallel parallel{.settings = {}, .pins = {}, .body_begin = SpanOf(context.LBRACE())};
  for (Parser::EntryContext* entry : context.entry()) {
    if (!Fits(*entry)) continue;
    if (Parser::PinContext* pin = entry->pin()) {
      parallel.pins.push_back(BuildPin(*pin));
    } else {
      parallel.settings.push_back(BuildSetting(*entry->setting()));
    }
  }
  expressions_.SetParentheses(outside);
  return parallel;
}

syntax::Expect TreeBuilder::BuildExpect(Parser::ExpectContext& context) {
  syntax::Expect expect{.expectations = {}, .body_begin = SpanOf(context.LBRACE())};
  for (Parser::ExpectationContext* part : context.expectation()) {
    if (!Fits(*part)) continue;
    const std::vector<Parser::ExpressionContext*> sides = part->expression();
    syntax::Expectation expectation{
        .span = SpanOf(*part), .what = BuildExpression(sides.front()), .value = std::nullopt};
    const Parentheses outside = expressions_.SetParentheses(Parentheses::kTuple);
    if (sides.size() > 1) expectation.value = BuildExpression(sides.back());
    expressions_.SetParentheses(outside);
    expect.expectations.push_back(std::move(expectation));
  }
  return expect;
}

syntax::Setting TreeBuilder::BuildSetting(Parser::SettingContext& context) {
  return {.span = SpanOf(context),
          .name = expressions_.BuildIdentifier(*context.name()),
          .value = expressions_.Build(*context.value())};
}

syntax::Pin TreeBuilder::BuildPin(Parser::PinContext& context) {
  return {.span = SpanOf(context),
          .target_span = SpanOf(context.STRING()),
          .target = expressions_.BuildString(*context.STRING()->getSymbol()),
          .attribute = expressions_.BuildAttribute(*context.attributeBody(), SpanOf(*context.attributeBody()))};
}

std::vector<syntax::Parameter> TreeBuilder::BuildParameters(Parser::ParametersContext* context) {
  std::vector<syntax::Parameter> parameters;
  if (context == nullptr) return parameters;
  for (Parser::ParameterContext* part : context->parameter()) {
    syntax::Parameter parameter{.span = SpanOf(*part),
                                .name = expressions_.BuildIdentifier(*part->name()),
                                .type = BuildType(*part->type()),
                                .default_value = std::nullopt};
    if (part->expression() != nullptr) parameter.default_value = BuildExpression(part->expression());
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

syntax::Type TreeBuilder::BuildType(Parser::TypeContext& context) {
  syntax::Type type{
      .span = SpanOf(context), .element = expressions_.BuildIdentifier(*context.name()), .dimensions = std::nullopt};
  if (context.LBRACKET() == nullptr) return type;
  type.dimensions.emplace();
  for (Parser::DimensionContext* dimension : context.dimension()) {
    if (dimension->name() != nullptr) {
      type.dimensions->push_back(
          {.span = SpanOf(*dimension), .kind = expressions_.BuildIdentifier(*dimension->name())});
    } else {
      type.dimensions->push_back({.span = SpanOf(*dimension), .kind = BuildExpression(dimension->expression())});
    }
  }
  return type;
}

std::vector<syntax::Identifier> TreeBuilder::BuildNames(Parser::NameContext* name, Parser::NameTupleContext* tuple) {
  if (tuple == nullptr) return {expressions_.BuildIdentifier(*name)};
  std::vector<syntax::Identifier> names;
  for (Parser::ElementNameContext* element : tuple->elementName()) {
    names.push_back(element->name() != nullptr ? expressions_.BuildIdentifier(*element->name())
                                               : syntax::Identifier{.span = SpanOf(*element), .text = "_"});
  }
  return names;
}

std::vector<syntax::Attribute> TreeBuilder::BuildAttributes(const std::vector<Parser::AttributeContext*>& contexts) {
  std::vector<syntax::Attribute> attributes;
  for (Parser::AttributeContext* attribute : contexts) {
    attributes.push_back(expressions_.BuildAttribute(*attribute->attributeBody(), SpanOf(*attribute)));
  }
  return attributes;
}

std::vector<syntax::Statement> TreeBuilder::BuildBlock(Parser::BlockContext& context) {
  std::vector<syntax::Statement> statements;
  for (Parser::StatementContext* statement : context.statement()) {
    if (Fits(*statement)) statements.push_back(BuildStatement(*statement));
  }
  return statements;
}

syntax::Statement TreeBuilder::BuildStatement(Parser::StatementContext& context) {
  return {
      .span = SpanOf(context), .attributes = BuildAttributes(context.attribute()), .kind = BuildStatementKind(context)};
}

syntax::Statement::Kind TreeBuilder::BuildStatementKind(Parser::StatementContext& context) {
  if (auto* input = context.input()) {
    std::optional<syntax::Expression> file;
    if (auto* expression = input->expression()) file = BuildExpression(expression);
    return syntax::Input{.name = expressions_.BuildIdentifier(*input->name()),
                         .type = BuildType(*input->type()),
                         .file = std::move(file)};
  }
  if (auto* param = context.param()) {
    return syntax::Param{.is_state = param->STATE() != nullptr,
                         .name = expressions_.BuildIdentifier(*param->name()),
                         .type = BuildType(*param->type()),
                         .initializer = BuildExpression(param->expression())};
  }
  if (auto* let = context.let()) {
    std::optional<syntax::Type> type;
    if (let->type() != nullptr) type = BuildType(*let->type());
    return syntax::Let{.is_mutable = let->MUT() != nullptr,
                       .names = BuildNames(let->name(), let->nameTuple()),
                       .type = std::move(type),
                       .value = BuildExpression(let->expression())};
  }
  if (auto* loop = context.forLoop()) {
    const std::vector<Parser::ExpressionContext*> ends = loop->expression();
    syntax::Expression begin = BuildExpression(ends[0]);
    std::optional<syntax::Expression> end;
    if (ends.size() > 1) end = BuildExpression(ends[1]);
    return syntax::For{.variable = expressions_.BuildIdentifier(*loop->name()),
                       .begin = std::move(begin),
                       .end = std::move(end),
                       .body = BuildBlock(*loop->block()),
                       .body_begin = SpanOf(loop->block()->LBRACE())};
  }
  if (auto* choice = context.conditional()) return BuildConditional(*choice);
  if (auto* loss = context.loss()) return syntax::Loss{.value = BuildExpression(loss->expression())};
  if (auto* metric = context.metric()) return syntax::Metric{.value = BuildExpression(metric->expression())};
  if (auto* value = context.returnStatement()) return syntax::Return{.value = BuildExpression(value->expression())};
  if (auto* print = context.print()) {
    auto [value, part] = BuildLooked(*print->looked());
    return syntax::Print{.is_local = print->LOCAL() != nullptr, .value = std::move(value), .part = std::move(part)};
  }
  if (auto* check = context.assertFinite()) {
    auto [value, part] = BuildLooked(*check->looked());
    return syntax::AssertFinite{.value = std::move(value), .part = std::move(part)};
  }
  if (auto* update = context.update()) {
    return syntax::Update{.name = expressions_.BuildIdentifier(*update->name()),
                          .value = BuildExpression(update->expression())};
  }
  if (auto* assignment = context.assignment()) {
    return syntax::Assign{.names = BuildNames(assignment->name(), assignment->nameTuple()),
                          .value = BuildExpression(assignment->expression())};
  }
  return BuildEvaluation(*context.evaluation());
}

syntax::If TreeBuilder::BuildConditional(Parser::ConditionalContext& context) {
  const std::vector<Parser::ExpressionContext*> conditions = context.expression();
  syntax::If choice;
  for (Parser::BlockContext* block : context.block()) {
    const size_t i = choice.branches.size();
    std::optional<syntax::Expression> condition;
    if (i < conditions.size()) condition = BuildExpression(conditions[i]);
    choice.branches.push_back({.condition = std::move(condition),
                               .body = BuildBlock(*block),
                               .body_begin = SpanOf(block->LBRACE()),
                               .body_end = ClosingBrace(*block, block->RBRACE())});
  }
  return choice;
}

TreeBuilder::Looked TreeBuilder::BuildLooked(Parser::LookedContext& context) {
  syntax::Expression value = BuildExpression(context.expression());
  auto* const field = std::get_if<syntax::Field>(&value.kind);
  if (field == nullptr) return {std::move(value), std::nullopt};
  syntax::Expression base = std::move(*field->base);
  return {std::move(base), std::move(field->name)};
}

syntax::Statement::Kind TreeBuilder::BuildEvaluation(Parser::EvaluationContext& context) {
  const std::vector<Parser::SuffixContext*> suffixes = context.suffix();
  const antlr4::Token& first = *context.NAME()->getSymbol();
  const Span span = places_.SpanOf(first, *suffixes.back()->getStop());
  const absl::string_view name = places_.TextOf(first);
  if (context.ASSIGN() != nullptr) {
    errors_.push_back(Error(Code::kE0115, "expected a name before `=`")
                          .At(span, "a part of a value cannot be assigned")
                          .Help(suffixes.back()->PART() != nullptr
                                    ? absl::StrCat("make a changed copy: `let changed = ", name, " with (",
                                                   places_.TextOf(*suffixes.back()->getStart()).substr(1), " = …);`")
                                    : absl::StrCat("make a new value: `let new_", name, " = …;`")));
  } else if (suffixes.back()->LPAREN() == nullptr || suffixes.back()->WITH() != nullptr) {
    const absl::string_view rest = suffixes.back()->WITH() != nullptr   ? " with (…)"
                                   : suffixes.back()->PART() != nullptr ? places_.TextOf(*suffixes.back()->getStart())
                                                                        : "[…]";
    errors_.push_back(Error(Code::kE0115, "expected a call as a statement")
                          .At(span, "this has no effect")
                          .Help(absl::StrCat("give it a name: `let part = ", name, rest, ";`")));
  }
  return syntax::Evaluate{.value = expressions_.BuildSuffixes(*context.NAME()->getSymbol(), suffixes)};
}

}  // namespace cleave::dsl
