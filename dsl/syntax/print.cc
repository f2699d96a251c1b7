#include "dsl/syntax/print.h"

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "base/match/match.h"

namespace cleave::dsl::syntax {
namespace {

// ` a n: b`: every argument with a space before it.
std::string PrintArguments(const std::vector<Argument>& arguments) {
  std::string text;
  for (const Argument& argument : arguments) {
    absl::StrAppend(&text, " ", argument.name ? absl::StrCat(argument.name->text, ": ") : "",
                    PrintTree(*argument.value));
  }
  return text;
}

std::string PrintAttribute(const Attribute& attribute) {
  if (!attribute.has_parentheses) return absl::StrCat("#", attribute.name.text);
  return absl::StrCat("#(", attribute.name.text, PrintArguments(attribute.arguments), ")");
}

std::string PrintAttributes(const std::vector<Attribute>& attributes) {
  std::string text;
  for (const Attribute& attribute : attributes) absl::StrAppend(&text, PrintAttribute(attribute), " ");
  return text;
}

std::string PrintSubscript(const Subscript& subscript) {
  if (!subscript.is_range) return PrintTree(**subscript.begin);
  return absl::StrCat("(range ", subscript.begin ? PrintTree(**subscript.begin) : "..", " ",
                      subscript.end ? PrintTree(**subscript.end) : "..",
                      subscript.step ? absl::StrCat(" ", PrintTree(**subscript.step)) : "", ")");
}

// Collects lines at the current depth.
class TreePrinter {
 public:
  void PrintFile(const File& file) {
    for (const Item& item : file.items) PrintItem(item);
  }

  std::string Take() && { return std::move(text_); }

 private:
  template <typename... Parts>
  void Line(const Parts&... parts) {
    text_.append(static_cast<size_t>(2 * depth_), ' ');
    absl::StrAppend(&text_, parts..., "\n");
  }

  void PrintItem(const Item& item) {
    const std::string attributes = PrintAttributes(item.attributes);
    Match(
        item.kind, [&](const Import& import) { Line(attributes, "import ", QuoteString(import.path.value)); },
        [&](const Record& record) {
          Line(attributes, "record ", record.name.text);
          PrintParameters(record.fields);
        },
        [&](const Model& model) {
          Line(attributes, "model ", model.name.text);
          PrintParameters(model.parameters);
          PrintBody(model.body);
        },
        [&](const Function& function) {
          Line(attributes, "fn ", function.name.text, PrintResults(function.results));
          PrintParameters(function.parameters);
          PrintBody(function.body);
        },
        [&](const OpDefinition& op) {
          Line(attributes, "op ", op.name.text, op.result ? absl::StrCat(" -> ", PrintTree(*op.result)) : "");
          PrintParameters(op.parameters);
          PrintSettings(op.settings);
        },
        [&](const Train& train) {
          Line(attributes, "train ", train.model.text);
          PrintSettings(train.settings);
        },
        [&](const Parallel& parallel) {
          Line(attributes, "parallel");
          PrintSettings(parallel.settings);
          ++depth_;
          for (const Pin& pin : parallel.pins) {
            Line("pin ", QuoteString(pin.target.value), " = ", PrintAttribute(pin.attribute));
          }
          --depth_;
        },
        [&](const Expect& expect) {
          Line(attributes, "expect");
          ++depth_;
          for (const Expectation& expectation : expect.expectations) {
            Line(PrintTree(expectation.what),
                 expectation.value ? absl::StrCat(" = ", PrintTree(*expectation.value)) : "");
          }
          --depth_;
        });
  }

  static std::string PrintPart(const std::optional<Identifier>& part) {
    return part ? absl::StrCat(" part ", part->text) : "";
  }

  static std::string PrintResults(const std::vector<Type>& results) {
    if (results.size() < 2) return results.empty() ? "" : absl::StrCat(" -> ", PrintTree(results[0]));
    std::string text = " -> (tuple";
    for (const Type& type : results) absl::StrAppend(&text, " ", PrintTree(type));
    return text + ")";
  }

  static std::string PrintNames(const std::vector<Identifier>& names) {
    if (names.size() == 1) return names[0].text;
    std::string text = "(tuple";
    for (const Identifier& name : names) absl::StrAppend(&text, " ", name.text);
    return text + ")";
  }

  void PrintParameters(const std::vector<Parameter>& parameters) {
    ++depth_;
    for (const Parameter& parameter : parameters) {
      Line("parameter ", parameter.name.text, ": ", PrintTree(parameter.type),
           parameter.default_value ? absl::StrCat(" = ", PrintTree(*parameter.default_value)) : "");
    }
    --depth_;
  }

  void PrintSettings(const std::vector<Setting>& settings) {
    ++depth_;
    for (const Setting& setting : settings) Line("set ", setting.name.text, " = ", PrintTree(setting.value));
    --depth_;
  }

  void PrintBody(const std::vector<Statement>& body) {
    ++depth_;
    for (const Statement& statement : body) PrintStatement(statement);
    --depth_;
  }

  void PrintStatement(const Statement& statement) {
    const std::string attributes = PrintAttributes(statement.attributes);
    Match(
        statement.kind,
        [&](const Input& input) {
          Line(attributes, "input ", input.name.text, ": ", PrintTree(input.type),
               input.file.has_value() ? absl::StrCat(" = ", PrintTree(*input.file)) : "");
        },
        [&](const Param& param) {
          Line(attributes, param.is_state ? "state " : "param ", param.name.text, ": ", PrintTree(param.type), " = ",
               PrintTree(param.initializer));
        },
        [&](const Let& let) {
          Line(attributes, let.is_mutable ? "let mut " : "let ", PrintNames(let.names),
               let.type ? absl::StrCat(": ", PrintTree(*let.type)) : "", " = ", PrintTree(let.value));
        },
        [&](const Assign& assign) {
          Line(attributes, "assign ", PrintNames(assign.names), " = ", PrintTree(assign.value));
        },
        [&](const Update& update) { Line(attributes, "update ", update.name.text, " = ", PrintTree(update.value)); },
        [&](const For& loop) {
          Line(attributes, "for ", loop.variable.text, " in ", PrintTree(loop.begin),
               loop.end ? absl::StrCat(" .. ", PrintTree(*loop.end)) : "");
          PrintBody(loop.body);
        },
        [&](const If& choice) {
          absl::string_view word = "if";
          for (const Branch& branch : choice.branches) {
            Line(attributes, branch.condition ? absl::StrCat(word, " ", PrintTree(*branch.condition)) : "else");
            PrintBody(branch.body);
            word = "else if";
          }
        },
        [&](const Loss& loss) { Line(attributes, "loss ", PrintTree(loss.value)); },
        [&](const Metric& metric) { Line(attributes, "metric ", PrintTree(metric.value)); },
        [&](const Return& value) { Line(attributes, "return ", PrintTree(value.value)); },
        [&](const syntax::Print& print) {
          Line(attributes, print.is_local ? "print local " : "print ", PrintTree(print.value), PrintPart(print.part));
        },
        [&](const AssertFinite& check) {
          Line(attributes, "assert_finite ", PrintTree(check.value), PrintPart(check.part));
        },
        [&](const Evaluate& evaluate) { Line(attributes, "evaluate ", PrintTree(evaluate.value)); });
  }

  std::string text_;
  int depth_ = 0;
};

}  // namespace

absl::string_view OperatorText(BinaryOperator op) {
  switch (op) {
    case BinaryOperator::kAdd:
      return "+";
    case BinaryOperator::kSubtract:
      return "-";
    case BinaryOperator::kMultiply:
      return "*";
    case BinaryOperator::kDivide:
      return "/";
    case BinaryOperator::kRemainder:
      return "%";
    case BinaryOperator::kPower:
      return "**";
    case BinaryOperator::kEqual:
      return "==";
    case BinaryOperator::kNotEqual:
      return "!=";
    case BinaryOperator::kLess:
      return "<";
    case BinaryOperator::kLessEqual:
      return "<=";
    case BinaryOperator::kGreater:
      return ">";
    case BinaryOperator::kGreaterEqual:
      return ">=";
    case BinaryOperator::kAnd:
      return "&&";
    case BinaryOperator::kOr:
      return "||";
  }
  CLEAVE_UNREACHABLE();
}

std::string QuoteString(absl::string_view value) {
  std::string text = "\"";
  for (const char character : value) {
    switch (character) {
      case '"':
        text += "\\\"";
        break;
      case '\\':
        text += "\\\\";
        break;
      case '\n':
        text += "\\n";
        break;
      case '\t':
        text += "\\t";
        break;
      default:
        text += character;
    }
  }
  return text + "\"";
}

std::string PrintTree(const Expression& expression) {
  return Match(
      expression.kind, [](const IntegerLiteral& literal) { return literal.text; },
      [](const FloatLiteral& literal) { return literal.text; }, [](const SizeLiteral& literal) { return literal.text; },
      [](const TimeLiteral& literal) { return literal.text; },
      [](const StringLiteral& literal) { return QuoteString(literal.value); },
      [](const BoolLiteral& literal) { return std::string(literal.value ? "true" : "false"); },
      [](const Name& name) { return name.text; }, [](const Wildcard&) { return std::string("_"); },
      [](const Negate& negate) { return absl::StrCat("(- ", PrintTree(*negate.operand), ")"); },
      [](const Not& negation) { return absl::StrCat("(! ", PrintTree(*negation.operand), ")"); },
      [](const Binary& binary) {
        return absl::StrCat("(", OperatorText(binary.op), " ", PrintTree(*binary.left), " ", PrintTree(*binary.right),
                            ")");
      },
      [](const Call& call) {
        return absl::StrCat("(call ", PrintTree(*call.callee), PrintArguments(call.arguments), ")");
      },
      [](const Layer& layer) { return absl::StrCat("(layer ", PrintTree(*layer.call), ")"); },
      [](const Index& index) {
        std::string text = absl::StrCat("(index ", PrintTree(*index.base));
        for (const Subscript& subscript : index.subscripts) absl::StrAppend(&text, " ", PrintSubscript(subscript));
        return text + ")";
      },
      [](const Tuple& tuple) { return absl::StrCat("(tuple", PrintArguments(tuple.elements), ")"); },
      [](const Field& field) { return absl::StrCat("(field ", PrintTree(*field.base), " ", field.name.text, ")"); },
      [](const With& with) {
        return absl::StrCat("(changed ", PrintTree(*with.base), PrintArguments(with.fields), ")");
      },
      [](const Map& map) {
        std::string text = "(map";
        for (const MapEntry& entry : map.entries) {
          absl::StrAppend(&text, " ", QuoteString(entry.key.value), ": ", PrintTree(*entry.value));
        }
        return text + ")";
      },
      [](const Attributed& attributed) {
        return absl::StrCat("(with ", PrintAttributes(attributed.attributes), PrintTree(*attributed.operand), ")");
      });
}

std::string PrintTree(const Type& type) {
  if (!type.dimensions) return type.element.text;
  std::string text = absl::StrCat("(type ", type.element.text);
  for (const Dimension& dimension : *type.dimensions) {
    absl::StrAppend(&text, " ",
                    Match(
                        dimension.kind, [](const Identifier& rest) { return absl::StrCat("..", rest.text); },
                        [](const Expression& size) { return PrintTree(size); }));
  }
  return text + ")";
}

std::string PrintTree(const File& file) {
  TreePrinter printer;
  printer.PrintFile(file);
  return std::move(printer).Take();
}

}  // namespace cleave::dsl::syntax
