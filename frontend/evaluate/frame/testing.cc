#include "frontend/evaluate/frame/testing.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check/check.h"
#include "dsl/parse/parse.h"
#include "frontend/evaluate/statics/arithmetic.h"

namespace cleave::frontend {
namespace {

dsl::syntax::File ParseText(const std::string& text, SourceSet& sources, Diagnostics& diagnostics) {
  std::optional<dsl::syntax::File> file = dsl::Parse(sources.Add("test.model", text), sources, diagnostics);
  CLEAVE_CHECK(file.has_value()) << RenderText(diagnostics, sources);
  return *std::move(file);
}

}  // namespace

std::string LetText(const std::string& expression) { return absl::StrCat("model M() { let y = ", expression, "; }"); }

TestBench::TestBench(const std::string& text, std::vector<ir::RankAxis> ranks)
    : file_(ParseText(text, sources_, diagnostics_)),
      prelude_(ParseText("", sources_, diagnostics_)),
      reporter(sources_, diagnostics_),
      ops(reporter),
      functions_(file_, {}, prelude_, reporter),
      context{*this, ops, reporter, demands, functions_} {
  ops.builder().mutable_graph().rank_axes = std::move(ranks);
}

const dsl::syntax::Expression& TestBench::expression() const {
  return std::get<dsl::syntax::Let>(std::get<dsl::syntax::Model>(file_.items[0].kind).body[0].kind).value;
}

void TestBench::Define(const std::string& name, Value value) {
  frame.scope.Define({name, Span(), BindingKind::kLet, false, false, std::move(value)});
}

ir::OpId TestBench::DefineTensor(const std::string& name, const ir::TensorType& type) {
  const ir::OpId id = ops.AddValid(
      ir::OpKind::kInput, {},
      {{ir::attribute::kDType, type.dtype}, {ir::attribute::kShape, type.shape}, {ir::attribute::kData, name}}, name,
      Span());
  Define(name, Value{TensorValue{id}});
  defined_ = ops.size();
  return id;
}

std::string TestBench::TextOf(const Value& value) const {
  return value.is_poison() ? Messages() : ValueText(value, ops.graph());
}

std::string TestBench::Messages() const {
  return absl::StrJoin(diagnostics_.items(), "\n", [](std::string* out, const Diagnostic& diagnostic) {
    absl::StrAppend(out, CodeName(diagnostic.code), ": ", diagnostic.message);
  });
}

std::string TestBench::LabelsText() const {
  std::vector<std::string> texts;
  for (const Diagnostic& diagnostic : diagnostics_.items()) {
    for (const Label& label : diagnostic.labels) texts.push_back(label.text);
  }
  return absl::StrJoin(texts, "\n");
}

std::string TestBench::OpsText() const {
  std::vector<std::string> lines;
  for (int i = defined_; i < ops.size(); ++i) {
    const ir::Op& op = ops.graph().op(ir::OpId(i));
    std::vector<std::string> inputs;
    for (const ir::OpId input : op.inputs) inputs.push_back(ops.graph().op(input).name);
    lines.push_back(absl::StrCat(op.name, "(", absl::StrJoin(inputs, ", "), "): ", op.type.ToString()));
  }
  return absl::StrJoin(lines, "\n");
}

Value TestBench::Evaluate(const dsl::syntax::Expression& expression, Frame& frame) {
  if (const auto* number = std::get_if<dsl::syntax::IntegerLiteral>(&expression.kind)) return Value{number->value};
  if (const auto* number = std::get_if<dsl::syntax::FloatLiteral>(&expression.kind)) return Value{number->value};
  if (const auto* text = std::get_if<dsl::syntax::StringLiteral>(&expression.kind)) return Value{text->value};
  if (const auto* truth = std::get_if<dsl::syntax::BoolLiteral>(&expression.kind)) return Value{truth->value};
  if (const auto* name = std::get_if<dsl::syntax::Name>(&expression.kind)) {
    const Binding* binding = frame.scope.Find(name->text);
    CLEAVE_CHECK(binding != nullptr) << name->text;
    return binding->value;
  }
  if (const auto* tuple = std::get_if<dsl::syntax::Tuple>(&expression.kind)) {
    TupleValue result;
    for (const dsl::syntax::Argument& element : tuple->elements)
      result.elements.push_back(Evaluate(*element.value, frame));
    return Value{std::move(result)};
  }
  if (const auto* negate = std::get_if<dsl::syntax::Negate>(&expression.kind)) {
    return NegateNumber(Evaluate(*negate->operand, frame), expression.span, ops.graph(), reporter);
  }
  const auto* binary = std::get_if<dsl::syntax::Binary>(&expression.kind);
  CLEAVE_CHECK(binary != nullptr) << "an expression that the interpreter of tests does not know";
  return Arithmetic(*binary, Evaluate(*binary->left, frame), Evaluate(*binary->right, frame), ops.graph(), reporter);
}

void TestBench::Run(const std::vector<dsl::syntax::Statement>&, Frame&) {
  CLEAVE_CHECK(false) << "the interpreter of tests runs no statements";
}

}  // namespace cleave::frontend
