// Statements are kept as what begins them ("const float x = "), an expression, and what follows. The printer chooses
// the lines of a call or an assignment as clang-format does, and aligns the comments of neighbours.
#include "codegen/cpp/code.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "codegen/cpp/identifiers.h"
#include "codegen/cpp/literal.h"

namespace cleave::codegen::cpp {
namespace {

std::vector<std::string> Texts(const std::vector<Variable>& variables) {
  std::vector<std::string> texts;
  for (const Variable& variable : variables) texts.push_back(variable.Text());
  return texts;
}

std::string HeadOf(const For& loop) {
  return absl::StrCat("for (", loop.type.Text(), " ", loop.index, " = ", loop.from.Text(), "; ", loop.condition.Text(),
                      "; ", loop.next.Text(), ") ");
}
std::string HeadOf(const ForEach& loop) {
  return absl::StrCat("for (", loop.element.Text(), " : ", loop.range.Text(), ") ");
}

// `head`, then as many arguments on each line as fit; the following lines are indented by `margin` spaces. `room` is
// the number of columns of a line.
std::vector<std::string> FilledLines(std::string line, size_t margin, const std::vector<std::string>& arguments,
                                     absl::string_view tail, size_t room) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool last = i + 1 == arguments.size();
    const size_t needed = arguments[i].size() + (last ? tail.size() : 1);
    if (i > 0 && line.size() + 1 + needed > room) {
      lines.push_back(line);
      line = std::string(margin, ' ');
    } else if (i > 0) {
      line.push_back(' ');
    }
    absl::StrAppend(&line, arguments[i], last ? "" : ",");
  }
  lines.push_back(absl::StrCat(line, tail));
  return lines;
}

// clang-format chooses the layout with the fewest lines: arguments aligned behind the parenthesis, or below it with
// four spaces. In an assignment the whole call may stand on the next line. `begin`: "return ", "x = ", or empty.
std::vector<std::string> CallLines(const std::string& begin, const std::string& callee,
                                   const std::vector<std::string>& arguments, absl::string_view tail, size_t room) {
  const std::string head = absl::StrCat(begin, callee);
  std::vector<std::string> lines = FilledLines(head, head.size(), arguments, tail, room);
  if (lines.size() == 1 && lines[0].size() <= room) return lines;
  if (absl::EndsWith(begin, "= ")) {
    const std::string call = absl::StrCat("    ", callee);
    std::vector<std::string> whole_call = FilledLines(call, call.size(), arguments, tail, room);
    std::vector<std::string> arguments_alone = FilledLines("    ", 4, arguments, tail, room);
    if (arguments_alone.size() < whole_call.size() && arguments_alone.size() + 1 < lines.size()) {
      arguments_alone.insert(arguments_alone.begin(), head);
      return arguments_alone;
    }
    if (whole_call.size() < lines.size() || lines[0].size() > room) {
      whole_call.insert(whole_call.begin(), begin.substr(0, begin.size() - 1));
      return whole_call;
    }
    return lines;
  }
  const bool fits =
      std::all_of(lines.begin(), lines.end(), [&](const std::string& line) { return line.size() <= room; });
  std::vector<std::string> below = FilledLines("    ", 4, arguments, tail, room);
  if (fits && below.size() + 1 >= lines.size()) return lines;
  below.insert(below.begin(), head);
  return below;
}

// The head of a function: parameters that do not fit go to the next line, aligned.
std::vector<std::string> FunctionLines(const std::string& head, const std::vector<std::string>& parameters,
                                       absl::string_view tail, size_t room) {
  std::vector<std::string> lines = FilledLines(head, head.size(), parameters, tail, room);
  if (std::all_of(lines.begin(), lines.end(), [&](const std::string& line) { return line.size() <= room; })) {
    return lines;
  }
  lines = FilledLines("    ", 4, parameters, tail, room);
  lines.insert(lines.begin(), head);
  return lines;
}

std::vector<std::string> TextsFrom(const std::vector<Expr>& list, size_t begin) {
  std::vector<std::string> texts;
  for (size_t i = begin; i < list.size(); ++i) texts.push_back(list[i].Text());
  return texts;
}

// "begin value;" on as few lines as possible.
std::vector<std::string> StatementLines(const std::string& begin, const Expr& value, size_t room) {
  const Expr::Node& node = value.node();
  if (node.kind == Expr::Kind::kCall && node.operands.size() > 1) {
    const std::string callee = absl::StrCat(node.operands[0].Text(), "(");
    const Expr::Node& first = node.operands[1].node();
    const bool is_list = first.kind == Expr::Kind::kBraces && first.text.empty() && first.names.empty();
    if (node.operands.size() == 2 && is_list) {
      // A list that is too long behind the parenthesis goes below it in one piece, if that is one line.
      const std::string list = absl::StrCat(node.operands[1].Text(), ");");
      const bool is_assigned = absl::EndsWith(begin, "= ");
      if (!is_assigned && begin.size() + callee.size() + list.size() > room && 4 + list.size() <= room) {
        return {absl::StrCat(begin, callee), absl::StrCat("    ", list)};
      }
      return CallLines(begin, absl::StrCat(callee, "{"), TextsFrom(first.operands, 0), "});", room);
    }
    return CallLines(begin, callee, TextsFrom(node.operands, 1), ");", room);
  }
  // An element of a list.
  if (node.kind == Expr::Kind::kIndex && node.operands[0].node().kind == Expr::Kind::kBraces) {
    const Expr::Node& list = node.operands[0].node();
    return CallLines(begin, absl::StrCat(list.text, "{"), TextsFrom(list.operands, 0),
                     absl::StrCat("}[", node.operands[1].Text(), "];"), room);
  }
  const std::string text = value.Text();
  if (begin.size() + text.size() + 1 <= room || !absl::EndsWith(begin, "= ")) return {absl::StrCat(begin, text, ";")};
  return {begin.substr(0, begin.size() - 1), absl::StrCat("    ", text, ";")};
}

// The lambda of an expression whose statements stand on lines of their own, or null.
const Expr::Node* OpenLambda(const Expr& expr) {
  const Expr::Node& node = expr.node();
  if (node.kind == Expr::Kind::kOpenLambda) return &node;
  for (const Expr& operand : node.operands) {
    if (const Expr::Node* const lambda = OpenLambda(operand)) return lambda;
  }
  return nullptr;
}

}  // namespace

For Counting(absl::string_view index, const Expr& count) {
  const Expr i = Name(index);
  return {std::string(index), 0, Infix(i, "<", count), Prefix("++", i)};
}

std::string Variable::Text() const { return absl::StrCat(type.Text(), name.empty() ? "" : " ", name); }

bool Code::Statement::SaysTheSame(const Statement& other, bool with_remarks) const {
  if (kind != other.kind || text != other.text || value != other.value || rows != other.rows) return false;
  if (parameters != other.parameters || tail != other.tail || end != other.end) return false;
  if (with_remarks && comment != other.comment) return false;
  if ((body == nullptr) != (other.body == nullptr)) return false;
  return body == nullptr || Same(*body, *other.body, with_remarks);
}

// The places of the first statements in which the codes differ, or of their ends.
std::pair<size_t, size_t> Code::Difference(const Code& a, const Code& b, bool with_remarks) {
  const auto skip = [&](const Code& code, size_t& at) {
    while (!with_remarks && at < code.statements_.size() && code.statements_[at].IsRemark()) ++at;
  };
  size_t i = 0, j = 0;
  while (true) {
    skip(a, i);
    skip(b, j);
    if (i == a.statements_.size() || j == b.statements_.size()) return {i, j};
    if (!a.statements_[i].SaysTheSame(b.statements_[j], with_remarks)) return {i, j};
    ++i;
    ++j;
  }
}

bool Code::Same(const Code& a, const Code& b, bool with_remarks) {
  return Difference(a, b, with_remarks) == std::pair(a.statements_.size(), b.statements_.size());
}

bool operator==(const Code& a, const Code& b) { return Code::Same(a, b, /*with_remarks=*/true); }
bool DoTheSame(const Code& a, const Code& b) { return Code::Same(a, b, /*with_remarks=*/false); }

Code::Statement& Code::Add(Statement statement) { return statements_.emplace_back(std::move(statement)); }

Code& Code::AddBlock(Statement statement) {
  statement.body = std::make_unique<Code>(indent_ + statement.body_indent);
  return *Add(std::move(statement)).body;
}

void Code::Gap() { Add({.kind = Statement::Kind::kGap}); }
void Code::EmptyLine() { Add({.kind = Statement::Kind::kEmptyLine}); }
void Code::Comment(absl::string_view text) { Add({.kind = Statement::Kind::kComment, .text = std::string(text)}); }
void Code::Directive(absl::string_view text) { Add({.kind = Statement::Kind::kDirective, .text = std::string(text)}); }

void Code::Do(const Expr& statement, absl::string_view comment) {
  Add({.value = statement, .comment = std::string(comment)});
}

void Code::Assign(const Expr& target, const Expr& value, absl::string_view symbol) {
  const bool is_name = target.node().kind == Expr::Kind::kText;
  Add({.text = absl::StrCat(target.Text(), " ", symbol, " "),
       .value = value,
       .declares = is_name ? target.Text() : ""});
}

void Code::Member(const Variable& variable, absl::string_view comment) {
  Add({.text = variable.Text(), .value = Expr(), .comment = std::string(comment), .declares = variable.name});
}

void Code::Declare(const Variable& variable, const Expr& value, absl::string_view comment) {
  Add({.text = absl::StrCat(variable.Text(), " = "),
       .value = value,
       .comment = std::string(comment),
       .declares = variable.name});
}

void Code::Construct(const Variable& variable, const Expr& braces, absl::string_view comment) {
  Add({.text = variable.Text(), .value = braces, .comment = std::string(comment), .declares = variable.name});
}

void Code::DeclareRows(const Variable& variable, const std::vector<Expr>& rows) {
  Add({.kind = Statement::Kind::kRows, .text = absl::StrCat(variable.Text(), " = {"), .rows = rows});
}

void Code::Return(const Expr& value) { Add({.text = "return ", .value = value}); }

Code& Code::OpenBraces(std::string head) {
  return AddBlock({.kind = Statement::Kind::kBlock, .text = std::move(head), .tail = "{", .end = "}"});
}
Code& Code::Open(const For& loop) { return OpenBraces(HeadOf(loop)); }
Code& Code::Open(const ForEach& loop) { return OpenBraces(HeadOf(loop)); }
Code& Code::Open(const If& condition) {
  return AddBlock(
      {.kind = Statement::Kind::kBlock, .text = "if (", .value = condition.condition, .tail = ") {", .end = "}"});
}

Code& Code::Open(const Function& function) {
  if (!function.constants.empty()) {
    Directive(absl::StrCat("template <", absl::StrJoin(Texts(function.constants), ", "), ">"));
  }
  std::string head =
      absl::StrCat(function.result.Text(), function.result.Text().empty() ? "" : " ", function.name, "(");
  std::string tail = absl::StrCat(")", function.suffix.empty() ? "" : " ", function.suffix);
  if (!function.initializers.empty())
    absl::StrAppend(&tail, " : ", absl::StrJoin(TextsFrom(function.initializers, 0), ", "));
  return AddBlock({.kind = Statement::Kind::kBlock,
                   .text = std::move(head),
                   .parameters = Texts(function.parameters),
                   .tail = absl::StrCat(tail, " {"),
                   .end = "}",
                   .is_function = true});
}

std::string Function::Text() const {
  return absl::StrCat(absl::StrJoin(Texts(constants), ", "), " ", result.Text(), " ", name, "(",
                      absl::StrJoin(Texts(parameters), ", "), ") ", suffix);
}

Code& Code::Open(const Struct& type) {
  const std::string base = type.base.empty() ? "" : absl::StrCat(" final : ", type.base);
  return AddBlock({.kind = Statement::Kind::kBlock,
                   .text = absl::StrCat("struct ", type.name, base, " {"),
                   .declares = type.name,
                   .end = "};",
                   .is_struct = true});
}

Code& Code::Open(const Namespace& space) {
  const std::string head = absl::StrCat("namespace", space.name.empty() ? "" : " ", space.name);
  return AddBlock({.kind = Statement::Kind::kBlock,
                   .text = absl::StrCat(head, " {"),
                   .end = absl::StrCat("}  // ", head),
                   .body_indent = 0});
}

Code& Code::OnLine(const ForEach& loop) { return AddBlock({.kind = Statement::Kind::kLine, .text = HeadOf(loop)}); }
Code& Code::OnLine(const For& loop) { return AddBlock({.kind = Statement::Kind::kLine, .text = HeadOf(loop)}); }
Code& Code::OnLine(const If& condition) {
  return AddBlock({.kind = Statement::Kind::kLine, .text = "if (", .value = condition.condition, .tail = ") "});
}

void Code::Append(Code other) {
  std::move(other.statements_.begin(), other.statements_.end(), std::back_inserter(statements_));
}

namespace {

bool Mentions(const Expr& expr, absl::string_view name) {
  const Expr::Node& node = expr.node();
  if (node.text.find('"') != 0 && HasWord(node.text, name)) return true;
  if (node.body != nullptr && Mentions(*node.body, name)) return true;
  return std::any_of(node.operands.begin(), node.operands.end(),
                     [&](const Expr& operand) { return Mentions(operand, name); });
}

}  // namespace

bool Mentions(const Code& code, absl::string_view name) {
  return std::any_of(code.statements_.begin(), code.statements_.end(), [&](const Code::Statement& statement) {
    if (statement.IsRemark()) return false;
    const auto in_tree = [&](const Expr& expr) { return Mentions(expr, name); };
    return HasWord(statement.text, name) || HasWord(statement.tail, name) ||
           (statement.value.has_value() && in_tree(*statement.value)) ||
           std::any_of(statement.rows.begin(), statement.rows.end(), in_tree) ||
           std::any_of(statement.parameters.begin(), statement.parameters.end(),
                       [&](const std::string& parameter) { return HasWord(parameter, name); }) ||
           (statement.body != nullptr && Mentions(*statement.body, name));
  });
}

class CodePrinter {
 public:
  void Print(const Code& code, int indent) {
    const std::vector<Code::Statement>& statements = code.statements_;
    for (size_t i = 0; i < statements.size();) {
      if (!statements[i].comment.empty()) {
        i = PrintCommented(statements, i, indent);
      } else {
        Print(statements[i++], indent);
      }
    }
  }

  using Statement = Code::Statement;
  void Print(const Statement& statement, int indent) {
    using Kind = Statement::Kind;
    switch (statement.kind) {
      case Kind::kGap:
        if (text.empty() || absl::EndsWith(text, "\n\n") || absl::EndsWith(text, "{\n")) return;
        return text.push_back('\n');
      case Kind::kEmptyLine:
        return text.push_back('\n');
      case Kind::kComment:
        return PrintComment(statement.text, indent);
      case Kind::kDirective:
        return Line(statement.text, absl::StartsWith(statement.text, "#") ? 0 : indent);
      case Kind::kSimple:
        return PrintSimple(statement, indent);
      case Kind::kRows:
        Line(statement.text, indent);
        for (const Expr& row : statement.rows) {
          const std::vector<std::string> fields = TextsFrom(row.node().operands, 0);
          Lines(CallLines("", "{", fields, "},", Room(indent + 4)), indent + 4);
        }
        return Line("};", indent);
      case Kind::kBlock:
        return PrintBlock(statement, indent);
      case Kind::kLine: {
        const CodePrinter body = Printed(*statement.body, 0);
        return Line(absl::StrCat(HeadOf(statement), absl::StripSuffix(body.text, "\n")), indent);
      }
    }
  }

  std::string text;

 private:
  using Kind = Statement::Kind;

  void Line(absl::string_view line, int indent) {
    absl::StrAppend(&text, std::string(static_cast<size_t>(indent), ' '), line, "\n");
  }
  void Lines(const std::vector<std::string>& lines, int indent) {
    for (const std::string& line : lines) Line(line, indent);
  }
  static size_t Room(int indent) { return static_cast<size_t>(kColumns - indent); }

  static CodePrinter Printed(const Code& code, int indent) {
    CodePrinter printer;
    printer.Print(code, indent);
    return printer;
  }

  void PrintComment(const std::string& comment, int indent) {
    const size_t room = Room(indent) - 3;
    std::string line;
    for (const absl::string_view word : absl::StrSplit(CommentText(comment), ' ', absl::SkipEmpty())) {
      if (!line.empty() && line.size() + 1 + word.size() > room) {
        Line(absl::StrCat("// ", line), indent);
        line.clear();
      }
      absl::StrAppend(&line, line.empty() ? "" : " ", word);
    }
    if (!line.empty() || comment.empty()) Line(line.empty() ? "//" : absl::StrCat("// ", line), indent);
  }

  void PrintSimple(const Statement& statement, int indent) {
    const Expr::Node* const lambda = OpenLambda(*statement.value);
    if (lambda == nullptr) return Lines(StatementLines(statement.text, *statement.value, Room(indent)), indent);
    const std::string whole = absl::StrCat(statement.text, statement.value->Text(), ";");
    const size_t body = whole.find('\n');
    if (const std::string inner = OneStatement(*lambda->body); !inner.empty()) {
      const std::string line = absl::StrCat(whole.substr(0, body), " ", inner, " ", whole.substr(body + 1));
      if (line.size() <= Room(indent)) return Line(line, indent);
    }
    Line(absl::string_view(whole).substr(0, body), indent);
    Print(*lambda->body, indent + 2);
    Line(absl::string_view(whole).substr(body + 1), indent);
  }

  // Of a block that is no function: "if (x == 0) {".
  static std::string HeadOf(const Statement& statement) {
    return absl::StrCat(statement.text, statement.value.has_value() ? statement.value->Text() : "", statement.tail);
  }

  void PrintBlock(const Statement& statement, int indent) {
    if (!statement.is_function) {
      Line(HeadOf(statement), indent);
    } else if (PrintedOnOneLine(statement, indent)) {
      return;
    } else {
      PrintFunctionHead(statement, indent);
    }
    Print(*statement.body, indent + statement.body_indent);
    Line(statement.end, indent);
  }

  void PrintFunctionHead(const Statement& statement, int indent) {
    const size_t initializers = statement.tail.find(" : ");
    const std::string line = absl::StrCat(statement.text, absl::StrJoin(statement.parameters, ", "), statement.tail);
    if (initializers != std::string::npos && line.size() > Room(indent)) {
      Line(absl::StrCat(statement.text, absl::StrJoin(statement.parameters, ", "), ")"), indent);
      return Line(absl::StrCat("    ", statement.tail.substr(initializers + 1)), indent);
    }
    Lines(FunctionLines(statement.text, statement.parameters, statement.tail, Room(indent)), indent);
  }

  // The only statement of a body, if it is a simple one; else empty.
  static std::string OneStatement(const Code& body) {
    if (body.statements_.size() != 1) return "";
    const Statement& only = body.statements_[0];
    if (only.kind != Kind::kSimple || !only.comment.empty() || OpenLambda(*only.value) != nullptr) return "";
    return absl::StrCat(only.text, only.value->Text(), ";");
  }

  bool PrintedOnOneLine(const Statement& function, int indent) {
    const bool is_empty = function.body->empty();
    const std::string inner = OneStatement(*function.body);
    if (!is_empty && inner.empty()) return false;
    const std::string line = absl::StrCat(function.text, absl::StrJoin(function.parameters, ", "), function.tail,
                                          is_empty ? "" : absl::StrCat(" ", inner, " "), "}");
    if (line.size() <= Room(indent)) {
      Line(line, indent);
      return true;
    }
    if (!is_empty) return false;
    Statement head = {
        .text = function.text, .parameters = function.parameters, .tail = absl::StrCat(function.tail, "}")};
    PrintFunctionHead(head, indent);
    return true;
  }

  // Statements with comments that follow one another. Returns the place behind them.
  size_t PrintCommented(const std::vector<Statement>& statements, size_t begin, int indent) {
    size_t end = begin;
    size_t width = 0;
    std::vector<std::string> lines;
    for (; end < statements.size() && !statements[end].comment.empty(); ++end) {
      lines.push_back(absl::StrCat(statements[end].text, statements[end].value->Text(), ";"));
      width = std::max(width, lines.back().size());
    }
    const size_t column = static_cast<size_t>(indent) + width + 5;
    for (size_t i = begin; i < end; ++i) {
      std::string comment = CommentText(statements[i].comment);
      if (column + comment.size() > kColumns) {
        comment.resize(column + 3 < kColumns ? kColumns - column - 3 : 0);
        absl::StrAppend(&comment, "...");
      }
      const std::string& line = lines[i - begin];
      Line(absl::StrCat(line, std::string(width - line.size() + 2, ' '), "// ", comment), indent);
    }
    return end;
  }
};

std::string FirstDifference(const Code& a, const Code& b) {
  const auto [i, j] = Code::Difference(a, b, /*with_remarks=*/false);
  const auto text = [](const Code& code, size_t at) {
    CodePrinter printer;
    if (at < code.statements_.size()) printer.Print(code.statements_[at], 0);
    return std::move(printer.text);
  };
  return absl::StrCat(text(a, i), text(b, j));
}

std::string Code::Text() const {
  CodePrinter printer;
  printer.Print(*this, indent_);
  return std::move(printer.text);
}

}  // namespace cleave::codegen::cpp
