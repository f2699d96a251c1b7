#include "codegen/cpp/expr.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "base/text/text.h"
#include "codegen/cpp/code.h"
#include "codegen/cpp/literal.h"

namespace cleave::codegen::cpp {
namespace {

using Kind = Expr::Kind;

Expr Make(Expr::Node node) { return Expr(std::make_shared<const Expr::Node>(std::move(node))); }

Precedence PrecedenceOfSymbol(absl::string_view symbol) {
  if (symbol == "*" || symbol == "/" || symbol == "%") return Precedence::kProduct;
  if (symbol == "+" || symbol == "-") return Precedence::kSum;
  if (symbol == "==" || symbol == "!=") return Precedence::kEquality;
  if (symbol == "&&") return Precedence::kAnd;
  if (symbol == "<" || symbol == "<=" || symbol == ">" || symbol == ">=") return Precedence::kRelation;
  CLEAVE_CHECK(symbol == "+=" || symbol == "-=" || symbol == "=") << "no operator `" << symbol << "`";
  return Precedence::kConditional;
}

Precedence PrecedenceOf(const Expr& expr) {
  switch (expr.node().kind) {
    case Kind::kText:
    case Kind::kNumber:
      return expr.IsNegative() ? Precedence::kUnary : Precedence::kPrimary;
    case Kind::kPrefix:
      return Precedence::kUnary;
    case Kind::kInfix:
      return PrecedenceOfSymbol(expr.node().text);
    case Kind::kConditional:
      return Precedence::kConditional;
    case Kind::kCall:
    case Kind::kMember:
    case Kind::kIndex:
    case Kind::kBraces:
    case Kind::kLambda:
    case Kind::kOpenLambda:
    case Kind::kDecorated:
    case Kind::kTemplate:
      return Precedence::kPrimary;
  }
  CLEAVE_UNREACHABLE();
}

Precedence Tighter(Precedence precedence) { return static_cast<Precedence>(static_cast<int>(precedence) + 1); }

class Printer {
 public:
  std::string Print(const Expr& expr) && {
    Add(expr);
    return std::move(text_);
  }

 private:
  void Add(absl::string_view text) { absl::StrAppend(&text_, text); }

  // In parentheses where it binds less than `least`.
  void AddBound(const Expr& expr, Precedence least) {
    const bool is_loose = PrecedenceOf(expr) < least;
    if (is_loose) Add("(");
    Add(expr);
    if (is_loose) Add(")");
  }

  void AddList(const std::vector<Expr>& list, size_t begin) {
    for (size_t i = begin; i < list.size(); ++i) {
      if (i > begin) Add(", ");
      Add(list[i]);
    }
  }

  void Add(const Expr& expr) {
    const Expr::Node& node = expr.node();
    switch (node.kind) {
      case Kind::kText:
      case Kind::kNumber:
        return Add(node.text);
      case Kind::kCall:
        AddBound(node.operands[0], Precedence::kPrimary);
        Add("(");
        AddList(node.operands, 1);
        return Add(")");
      case Kind::kMember:
        AddBound(node.operands[0], Precedence::kPrimary);
        Add(".");
        return Add(node.text);
      case Kind::kIndex:
        AddBound(node.operands[0], Precedence::kPrimary);
        Add("[");
        Add(node.operands[1]);
        return Add("]");
      case Kind::kPrefix:
        Add(node.text);
        return AddBound(node.operands[0], Precedence::kPrimary);  // Two minus signs in a row would be a decrement.
      case Kind::kInfix: {
        // In a chain of one operator only the left operand needs no parentheses: floating-point sums have an order.
        const Precedence own = PrecedenceOfSymbol(node.text);
        AddBound(node.operands[0], own);
        absl::StrAppend(&text_, " ", node.text, " ");
        return AddBound(node.operands[1], own == Precedence::kConditional ? own : Tighter(own));
      }
      case Kind::kConditional:
        AddBound(node.operands[0], Tighter(Precedence::kConditional));
        Add(" ? ");
        AddBound(node.operands[1], Tighter(Precedence::kConditional));
        Add(" : ");
        return Add(node.operands[2]);  // A last alternative that is a choice itself needs no parentheses.
      case Kind::kBraces:
        Add(node.text);
        Add("{");
        for (size_t i = 0; i < node.operands.size(); ++i) {
          if (i > 0) Add(", ");
          if (!node.names.empty() && !node.names[i].empty()) absl::StrAppend(&text_, ".", node.names[i], " = ");
          Add(node.operands[i]);
        }
        return Add("}");
      case Kind::kLambda:
        absl::StrAppend(&text_, node.text, " { return ");
        Add(node.operands[0]);
        return Add("; }");
      case Kind::kOpenLambda:
        return absl::StrAppend(&text_, node.text, " {\n}");  // The printer of statements writes the body.
      case Kind::kDecorated:
        Add(node.names[0]);
        Add(node.operands[0]);
        return Add(node.names[1]);
      case Kind::kTemplate:
        Add(node.text);
        Add("<");
        AddList(node.operands, 0);
        return Add(">");
    }
  }

  std::string text_;
};

Expr Literal(absl::string_view text) { return Make({.kind = Kind::kText, .text = std::string(text)}); }

// Whether names and types have such characters.
bool IsOfName(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("_:.<>*& []", c);
}

Expr Decorated(absl::string_view prefix, const Expr& type, absl::string_view suffix) {
  return Make({.kind = Kind::kDecorated, .operands = {type}, .names = {std::string(prefix), std::string(suffix)}});
}

}  // namespace

Expr Expr::OfNumber(int64_t number) { return Make({.kind = Kind::kNumber, .text = absl::StrCat(number)}); }

Expr Expr::OfName(absl::string_view name) { return Name(name); }

std::string Expr::Text() const { return Printer().Print(*this); }

std::optional<int64_t> Expr::number() const {
  if (node_->kind != Kind::kNumber) return std::nullopt;
  int64_t value = 0;
  CLEAVE_CHECK(absl::SimpleAtoi(node_->text, &value)) << node_->text;
  return value;
}

bool Expr::IsNegative() const {
  return (node_->kind == Kind::kText || node_->kind == Kind::kNumber) && absl::StartsWith(node_->text, "-");
}

Expr Expr::Member(absl::string_view name) const {
  return Make({.kind = Kind::kMember, .text = std::string(name), .operands = {*this}});
}

Expr Expr::Call(absl::string_view method, std::vector<Expr> arguments) const {
  return cpp::Call(Member(method), std::move(arguments));
}

Expr Expr::At(const Expr& index) const { return Make({.kind = Kind::kIndex, .operands = {*this, index}}); }

bool operator==(const Expr& a, const Expr& b) {
  if (a.node_ == b.node_) return true;
  const Expr::Node& x = *a.node_;
  const Expr::Node& y = *b.node_;
  if (x.kind != y.kind || x.text != y.text || x.names != y.names || x.operands != y.operands) return false;
  return x.body == y.body || (x.body != nullptr && y.body != nullptr && *x.body == *y.body);
}

Expr Name(absl::string_view name) {
  CLEAVE_CHECK(std::all_of(name.begin(), name.end(), IsOfName)) << "`" << name << "` is no name but an expression";
  return Literal(name);
}
Expr Float(double number) { return Literal(FloatLiteral(number)); }
Expr Double(double number) { return Literal(FormatDouble(number)); }
Expr String(absl::string_view text) { return Literal(StringLiteral(text)); }
Expr Bool(bool truth) { return Name(truth ? "true" : "false"); }

Expr Call(absl::string_view function, std::vector<Expr> arguments) {
  return Call(Name(function), std::move(arguments));
}

Expr Call(const Expr& function, std::vector<Expr> arguments) {
  std::vector<Expr> operands = {function};
  operands.insert(operands.end(), std::make_move_iterator(arguments.begin()), std::make_move_iterator(arguments.end()));
  return Make({.kind = Kind::kCall, .operands = std::move(operands)});
}

Expr Cast(const Expr& type, const Expr& value) { return Call(Template("static_cast", {type}), {value}); }

Expr operator+(const Expr& a, const Expr& b) { return Infix(a, "+", b); }
Expr operator-(const Expr& a, const Expr& b) { return Infix(a, "-", b); }
Expr operator*(const Expr& a, const Expr& b) { return Infix(a, "*", b); }
Expr operator/(const Expr& a, const Expr& b) { return Infix(a, "/", b); }
Expr operator%(const Expr& a, const Expr& b) { return Infix(a, "%", b); }
Expr operator-(const Expr& x) { return Prefix("-", x); }

Expr Offset(const Expr& pointer, const Expr& index) {
  const Expr::Node& node = index.node();
  if (node.kind != Kind::kInfix || PrecedenceOfSymbol(node.text) != Precedence::kSum) return pointer + index;
  return Infix(Offset(pointer, node.operands[0]), node.text, node.operands[1]);
}

Expr Shifted(const Expr& x, int64_t by) {
  if (by == 0) return x;
  return by > 0 ? x + by : x - -by;
}

Expr Infix(const Expr& a, absl::string_view symbol, const Expr& b) {
  PrecedenceOfSymbol(symbol);  // Checks it.
  return Make({.kind = Kind::kInfix, .text = std::string(symbol), .operands = {a, b}});
}

Expr Prefix(absl::string_view symbol, const Expr& x) {
  return Make({.kind = Kind::kPrefix, .text = std::string(symbol), .operands = {x}});
}

Expr Choice(const Expr& condition, const Expr& chosen, const Expr& other) {
  return Make({.kind = Kind::kConditional, .operands = {condition, chosen, other}});
}

Expr Braces(std::vector<Expr> elements) { return Make({.kind = Kind::kBraces, .operands = std::move(elements)}); }

Expr Braces(const Expr& type, std::vector<Expr> elements) {
  return Make({.kind = Kind::kBraces, .text = type.Text(), .operands = std::move(elements)});
}

Expr Numbers(absl::Span<const int64_t> numbers) { return Braces({numbers.begin(), numbers.end()}); }

Expr Fields(std::vector<Field> fields) { return Fields(Expr(), std::move(fields)); }

Expr Fields(const Expr& type, std::vector<Field> fields) {
  Expr::Node node = {.kind = Kind::kBraces, .text = type.Text()};
  for (Field& field : fields) {
    node.operands.push_back(std::move(field.value));
    node.names.push_back(std::move(field.name));
  }
  return Make(std::move(node));
}

Expr Lambda(absl::string_view head, const Expr& value) {
  return Make({.kind = Kind::kLambda, .text = std::string(head), .operands = {value}});
}

Expr Lambda(absl::string_view head, Code body) {
  return Make(
      {.kind = Kind::kOpenLambda, .text = std::string(head), .body = std::make_shared<const Code>(std::move(body))});
}

Expr Template(absl::string_view name, std::vector<Expr> arguments) {
  return Make({.kind = Kind::kTemplate, .text = std::string(name), .operands = std::move(arguments)});
}

Expr Const(const Expr& type) { return Decorated("const ", type, ""); }
Expr Pointer(const Expr& type) { return Decorated("", type, "*"); }
Expr ConstPointer(const Expr& type) { return Decorated("", type, "* const"); }
Expr RestrictPointer(const Expr& type) { return Decorated("", type, "* __restrict__"); }
Expr Reference(const Expr& type) { return Decorated("", type, "&"); }

}  // namespace cleave::codegen::cpp
