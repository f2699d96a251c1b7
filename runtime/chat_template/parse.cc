// Reading guide: recursive descent over the tokens of scan.h. `Nodes` reads what stands between tags up to one of some
// closing tags, `Statement` one tag, and `Expression` down to `Primary` an expression, a function for each level of
// precedence. The first problem is kept, and ends everything: at the end of the tokens nothing more is read.
#include "runtime/chat_template/parse.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "runtime/chat_template/ascii.h"
#include "runtime/chat_template/scan.h"

namespace cleave::runtime {
namespace {

using Kind = TemplateToken::Kind;
using ExprKind = TemplateExpr::Kind;
using NodeKind = TemplateNode::Kind;

// Tags and brackets within each other: each takes some frames of the stack.
constexpr int kDeepest = 150;

// Expressions in one another; a chain of operators is as deep as it is long.
constexpr int kDeepestExpression = 500;

class Parser {
 public:
  Parser(std::vector<TemplateToken> tokens, ParsedTemplate& parsed) : tokens_(std::move(tokens)), parsed_(parsed) {}

  std::optional<TemplateProblem> Run() {
    parsed_.nodes = Nodes({});
    return problem_;
  }

 private:
  // Counts how deep the parser is.
  class Nesting {
   public:
    explicit Nesting(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > kDeepest) parser_.Fail("this is nested too deep");
    }
    ~Nesting() { --parser_.depth_; }

   private:
    Parser& parser_;
  };

  const TemplateToken& Now() const { return tokens_[at_]; }

  void FailAt(size_t offset, const std::string& message) {
    if (!problem_.has_value()) problem_ = TemplateProblem{offset, message};
    at_ = tokens_.size() - 1;
  }
  void Fail(const std::string& message) { FailAt(Now().offset, message); }

  static std::string Shown(const TemplateToken& token) {
    switch (token.kind) {
      case Kind::kText:
      case Kind::kBeginOutput:
      case Kind::kBeginBlock:
        return "text";
      case Kind::kEndOutput:
        return "`}}`";
      case Kind::kEndBlock:
        return "`%}`";
      case Kind::kString:
        return "a string";
      case Kind::kName:
      case Kind::kWhole:
      case Kind::kFloat:
      case Kind::kSign:
        return Concat("`", token.text, "`");
      case Kind::kEnd:
        break;
    }
    return "the end";
  }

  bool Is(Kind kind, std::string_view text) const { return Now().kind == kind && Now().text == text; }
  bool IsSign(std::string_view sign) const { return Is(Kind::kSign, sign); }
  bool IsWord(std::string_view word) const { return Is(Kind::kName, word); }

  bool Take(Kind kind, std::string_view text) {
    if (!Is(kind, text)) return false;
    ++at_;
    return true;
  }
  bool TakeSign(std::string_view sign) { return Take(Kind::kSign, sign); }
  bool TakeWord(std::string_view word) { return Take(Kind::kName, word); }

  void ExpectSign(std::string_view sign) {
    if (!TakeSign(sign)) Fail(Concat("expected `", sign, "`, not ", Shown(Now())));
  }

  void Expect(Kind kind) {
    if (Now().kind == kind && kind != Kind::kEnd) {
      ++at_;
    } else {
      Fail(Concat("expected ", Shown({kind, 0, ""}), ", not ", Shown(Now())));
    }
  }

  std::string ExpectName() {
    if (Now().kind == Kind::kName) return tokens_[at_++].text;
    Fail(Concat("expected a name, not ", Shown(Now())));
    return "";
  }

  // Up to a tag that begins with one of these words, which is the next one then, or to the end.
  std::vector<TemplateNode> Nodes(std::initializer_list<std::string_view> ends) {
    const Nesting nesting(*this);
    std::vector<TemplateNode> nodes;
    while (Now().kind != Kind::kEnd) {
      const TemplateToken& token = Now();
      if (token.kind == Kind::kText) {
        nodes.push_back({.kind = NodeKind::kText, .offset = token.offset, .name = token.text});
        ++at_;
      } else if (token.kind == Kind::kBeginOutput) {
        ++at_;
        TemplateNode node{.kind = NodeKind::kOutput, .offset = Now().offset};
        node.exprs.push_back(Tuple());
        Expect(Kind::kEndOutput);
        nodes.push_back(std::move(node));
      } else {
        const TemplateToken& word = tokens_[at_ + 1];
        if (word.kind == Kind::kName && std::find(ends.begin(), ends.end(), word.text) != ends.end()) return nodes;
        ++at_;
        nodes.push_back(Statement());
      }
    }
    if (ends.size() > 0) Fail(Concat("expected `{% ", *(ends.end() - 1), " %}`, not the end"));
    return nodes;
  }

  // The word of the tag that has ended Nodes.
  std::string TakeEnd() {
    if (Now().kind == Kind::kEnd) return "";
    ++at_;
    return ExpectName();
  }

  // What stands between this tag, which is read but for its end, and the one with the word `end`.
  std::vector<TemplateNode> Body(std::string_view end) {
    Expect(Kind::kEndBlock);
    std::vector<TemplateNode> nodes = Nodes({end});
    TakeEnd();
    Expect(Kind::kEndBlock);
    return nodes;
  }

  TemplateNode Statement() {
    TemplateNode node{.kind = NodeKind::kText, .offset = Now().offset};
    const std::string word = ExpectName();
    if (word == "if") {
      If(node);
    } else if (word == "for") {
      For(node);
    } else if (word == "set") {
      Set(node);
    } else if (word == "macro") {
      ParseMacro(node);
    } else if (word == "generation") {
      node.kind = NodeKind::kGeneration;
      parsed_.has_generation = true;
      node.bodies.push_back(Body("endgeneration"));
    } else if (word == "break" || word == "continue") {
      node.kind = word == "break" ? NodeKind::kBreak : NodeKind::kContinue;
      if (loops_ == 0) FailAt(node.offset, Concat("`{% ", word, " %}` stands in no loop"));
      Expect(Kind::kEndBlock);
    } else {
      const bool is_part = BeginsWith(word, "end") || word == "else" || word == "elif";
      FailAt(node.offset, Concat("`{% ", word, " %}` ", is_part ? "ends nothing here" : "is not supported"));
    }
    return node;
  }

  void If(TemplateNode& node) {
    node.kind = NodeKind::kIf;
    std::string word = "if";
    while (!problem_.has_value() && word != "endif") {
      if (word != "else") node.exprs.push_back(Tuple());
      Expect(Kind::kEndBlock);
      node.bodies.push_back(word == "else" ? Nodes({"endif"}) : Nodes({"elif", "else", "endif"}));
      word = TakeEnd();
    }
    Expect(Kind::kEndBlock);
  }

  void For(TemplateNode& node) {
    node.kind = NodeKind::kFor;
    do {
      node.names.push_back(ExpectName());
    } while (TakeSign(","));
    if (!TakeWord("in")) Fail(Concat("expected `in`, not ", Shown(Now())));
    node.exprs.push_back(Tuple(/*has_condition=*/false));
    node.exprs.push_back(TakeWord("if") ? Expression() : nullptr);
    if (IsWord("recursive")) Fail("`recursive` is not supported");
    Expect(Kind::kEndBlock);
    ++loops_;
    node.bodies.push_back(Nodes({"else", "endfor"}));
    --loops_;
    const bool has_else = TakeEnd() == "else";
    node.bodies.push_back(has_else ? Body("endfor") : std::vector<TemplateNode>());
    if (!has_else) Expect(Kind::kEndBlock);
  }

  void Set(TemplateNode& node) {
    node.kind = NodeKind::kSet;
    node.names.push_back(ExpectName());
    if (TakeSign(".")) {
      node.name = ExpectName();
    } else {
      while (TakeSign(",")) node.names.push_back(ExpectName());
    }
    if (TakeSign("=")) {
      node.exprs.push_back(Tuple());
      Expect(Kind::kEndBlock);
      return;
    }
    if (IsSign("|")) Fail("a filter of `{% set %}` is not supported");
    if (!node.name.empty() || node.names.size() > 1) ExpectSign("=");
    node.kind = NodeKind::kSetBlock;
    node.bodies.push_back(Body("endset"));
  }

  void ParseMacro(TemplateNode& node) {
    node.kind = NodeKind::kMacro;
    node.name = ExpectName();
    ExpectSign("(");
    while (!problem_.has_value() && !IsSign(")")) {
      if (!node.names.empty()) ExpectSign(",");
      node.names.push_back(ExpectName());
      if (TakeSign("=")) {
        node.exprs.push_back(Expression());
      } else if (!node.exprs.empty()) {
        Fail("a parameter without a value follows one with a value");
      }
    }
    ExpectSign(")");
    const int loops = std::exchange(loops_, 0);
    node.bodies.push_back(Body("endmacro"));
    loops_ = loops;
  }

  TemplateExprPtr New(ExprKind kind, size_t offset, std::string name = "") {
    auto expr = std::make_unique<TemplateExpr>();
    expr->kind = kind;
    expr->offset = offset;
    expr->name = std::move(name);
    return expr;
  }

  template <typename... Items>
  TemplateExprPtr New(ExprKind kind, size_t offset, std::string name, Items... items) {
    TemplateExprPtr expr = New(kind, offset, std::move(name));
    (Add(*expr, std::move(items)), ...);
    return expr;
  }

  void Add(TemplateExpr& expr, TemplateExprPtr item) {
    if (item != nullptr) expr.depth = std::max(expr.depth, item->depth + 1);
    if (expr.depth > kDeepestExpression) FailAt(expr.offset, "this expression is too long");
    expr.items.push_back(std::move(item));
  }

  TemplateExprPtr Constant(size_t offset, Value value) {
    TemplateExprPtr expr = New(ExprKind::kConstant, offset);
    expr->value = std::move(value);
    return expr;
  }

  // An expression, or several with commas, which are a list.
  TemplateExprPtr Tuple(bool has_condition = true) {
    const size_t offset = Now().offset;
    TemplateExprPtr first = has_condition ? Expression() : Or();
    if (!IsSign(",")) return first;
    TemplateExprPtr list = New(ExprKind::kList, offset, "", std::move(first));
    while (TakeSign(",")) {
      if (Now().kind == Kind::kEndBlock || Now().kind == Kind::kEndOutput || IsSign(")")) break;
      Add(*list, has_condition ? Expression() : Or());
    }
    return list;
  }

  TemplateExprPtr Expression() {
    const Nesting nesting(*this);
    TemplateExprPtr value = Or();
    while (IsWord("if")) {
      const size_t offset = Now().offset;
      ++at_;
      TemplateExprPtr condition = Or();
      TemplateExprPtr otherwise = TakeWord("else") ? Expression() : nullptr;
      value = New(ExprKind::kCondition, offset, "", std::move(value), std::move(condition), std::move(otherwise));
    }
    return value;
  }

  TemplateExprPtr Or() {
    TemplateExprPtr left = And();
    while (IsWord("or")) {
      const size_t offset = tokens_[at_++].offset;
      left = New(ExprKind::kOr, offset, "", std::move(left), And());
    }
    return left;
  }

  TemplateExprPtr And() {
    TemplateExprPtr left = Not();
    while (IsWord("and")) {
      const size_t offset = tokens_[at_++].offset;
      left = New(ExprKind::kAnd, offset, "", std::move(left), Not());
    }
    return left;
  }

  TemplateExprPtr Not() {
    const size_t offset = Now().offset;
    if (!TakeWord("not")) return Compare();
    const Nesting nesting(*this);
    return New(ExprKind::kNot, offset, "", Not());
  }

  // The operator of a comparison; empty: none.
  std::string TakeComparison() {
    for (const char* const sign : {"==", "!=", ">=", "<=", ">", "<"}) {
      if (TakeSign(sign)) return sign;
    }
    if (TakeWord("in")) return "in";
    if (!IsWord("not") || tokens_[at_ + 1].kind != Kind::kName || tokens_[at_ + 1].text != "in") return "";
    at_ += 2;
    return "not in";
  }

  TemplateExprPtr Compare() {
    TemplateExprPtr left = Sum();
    const size_t offset = Now().offset;
    std::string name = TakeComparison();
    if (name.empty()) return left;
    TemplateExprPtr comparison = New(ExprKind::kCompare, offset, "", std::move(left));
    for (; !name.empty(); name = TakeComparison()) {
      if (name == "in" || name == "not in") NoteMember(comparison->items.back());
      comparison->names.push_back(name);
      Add(*comparison, Sum());
    }
    return comparison;
  }

  // The sign among these that is next; empty: none.
  std::string TakeOneOf(std::initializer_list<const char*> signs) {
    for (const char* const sign : signs) {
      if (TakeSign(sign)) return sign;
    }
    return "";
  }

  template <typename Operand>
  TemplateExprPtr LeftToRight(std::initializer_list<const char*> signs, const Operand& operand) {
    TemplateExprPtr left = operand();
    while (!problem_.has_value()) {
      const size_t offset = Now().offset;
      const std::string sign = TakeOneOf(signs);
      if (sign.empty()) break;
      left = New(ExprKind::kBinary, offset, sign, std::move(left), operand());
    }
    return left;
  }

  TemplateExprPtr Sum() {
    return LeftToRight({"+", "-"}, [&] { return Join(); });
  }
  TemplateExprPtr Join() {
    return LeftToRight({"~"}, [&] { return Product(); });
  }
  TemplateExprPtr Product() {
    return LeftToRight({"*", "//", "/", "%"}, [&] { return Power(); });
  }
  TemplateExprPtr Power() {
    return LeftToRight({"**"}, [&] { return Unary(/*has_filters=*/true); });
  }

  TemplateExprPtr Unary(bool has_filters) {
    const size_t offset = Now().offset;
    if (IsSign("-") || IsSign("+")) {
      const Nesting nesting(*this);
      const ExprKind kind = tokens_[at_++].text == "-" ? ExprKind::kNegative : ExprKind::kPositive;
      TemplateExprPtr operand = New(kind, offset, "", Unary(/*has_filters=*/false));
      return has_filters ? Filters(Postfix(std::move(operand))) : Postfix(std::move(operand));
    }
    TemplateExprPtr value = Postfix(Primary());
    return has_filters ? Filters(std::move(value)) : std::move(value);
  }

  TemplateExprPtr Primary() {
    const Nesting nesting(*this);
    const TemplateToken& token = Now();
    if (token.kind == Kind::kString) {
      MarkedText text;
      for (; Now().kind == Kind::kString; ++at_) text.Append(MarkedText(Now().text));
      return Constant(token.offset, TextValue(std::move(text)));
    }
    if (token.kind == Kind::kWhole || token.kind == Kind::kFloat) {
      ++at_;
      int64_t whole = 0;
      double number = 0;
      if (token.kind == Kind::kWhole && ReadNumber(token.text, whole)) return Constant(token.offset, whole);
      if (token.kind == Kind::kFloat && ReadNumber(token.text, number)) return Constant(token.offset, number);
      FailAt(token.offset, Concat("`", token.text, "` is too large"));
      return Constant(token.offset, None{});
    }
    if (token.kind == Kind::kName) return Name();
    if (TakeSign("(")) {
      if (TakeSign(")")) return New(ExprKind::kList, token.offset);
      TemplateExprPtr value = Tuple();
      ExpectSign(")");
      return value;
    }
    if (IsSign("[") || IsSign("{")) return Collection();
    Fail(Concat("expected a value, not ", Shown(token)));
    return Constant(token.offset, None{});
  }

  TemplateExprPtr Name() {
    const TemplateToken& token = tokens_[at_++];
    const std::string& name = token.text;
    if (name == "true" || name == "True") return Constant(token.offset, true);
    if (name == "false" || name == "False") return Constant(token.offset, false);
    if (name == "none" || name == "None") return Constant(token.offset, None{});
    parsed_.variables.insert(name);
    return New(ExprKind::kName, token.offset, name);
  }

  TemplateExprPtr Collection() {
    const size_t offset = Now().offset;
    const bool is_dict = tokens_[at_++].text == "{";
    const char* const close = is_dict ? "}" : "]";
    TemplateExprPtr items = New(is_dict ? ExprKind::kDict : ExprKind::kList, offset);
    while (!problem_.has_value() && !IsSign(close)) {
      if (!items->items.empty()) ExpectSign(",");
      if (IsSign(close)) break;
      Add(*items, Expression());
      if (!is_dict) continue;
      ExpectSign(":");
      Add(*items, Expression());
    }
    ExpectSign(close);
    return items;
  }

  TemplateExprPtr Postfix(TemplateExprPtr value) {
    while (!problem_.has_value()) {
      const size_t offset = Now().offset;
      if (TakeSign(".")) {
        if (Now().kind == Kind::kWhole) Fail("a number behind `.` is not supported");
        const std::string name = ExpectName();
        parsed_.members.insert(name);
        value = New(ExprKind::kAttribute, offset, name, std::move(value));
      } else if (TakeSign("[")) {
        value = Subscript(offset, std::move(value));
      } else if (IsSign("(")) {
        value = New(ExprKind::kCall, offset, "", std::move(value));
        Arguments(*value);
      } else {
        break;
      }
    }
    return value;
  }

  TemplateExprPtr Subscript(size_t offset, TemplateExprPtr value) {
    TemplateExprPtr parts[3];
    int colons = 0;
    while (!problem_.has_value() && !IsSign("]")) {
      if (IsSign(":") && colons < 2) {
        ++at_;
        ++colons;
      } else {
        if (parts[colons] != nullptr) ExpectSign("]");
        parts[colons] = Expression();
      }
    }
    ExpectSign("]");
    if (colons > 0) {
      return New(ExprKind::kSlice, offset, "", std::move(value), std::move(parts[0]), std::move(parts[1]),
                 std::move(parts[2]));
    }
    if (parts[0] == nullptr) FailAt(offset, "expected a value in `[]`");
    NoteMember(parts[0]);
    return New(ExprKind::kItem, offset, "", std::move(value), std::move(parts[0]));
  }

  // A text that may be the name of a member.
  void NoteMember(const TemplateExprPtr& expr) {
    if (expr == nullptr) return;
    if (const Text* const text = expr->value.Get<Text>()) parsed_.members.insert((*text)->text());
  }

  // Those of the arguments of a call or a filter.
  void NoteMembersOf(const TemplateExpr& call) {
    const TemplateExpr& callee = *call.items[0];
    const std::string& name = call.kind == ExprKind::kCall ? callee.name : call.name;
    const auto is_this = [&](const char* each) { return name == each; };
    static constexpr const char* kReaders[] = {"get", "map", "selectattr", "rejectattr", "join"};
    if (std::none_of(std::begin(kReaders), std::end(kReaders), is_this)) return;
    for (size_t i = 1; i < call.items.size(); ++i) NoteMember(call.items[i]);
  }

  // In brackets, if there are any.
  void Arguments(TemplateExpr& call) {
    if (!TakeSign("(")) return;
    bool is_first = true;
    while (!problem_.has_value() && !IsSign(")")) {
      if (!std::exchange(is_first, false)) ExpectSign(",");
      if (IsSign(")")) break;
      if (IsSign("*") || IsSign("**")) Fail(Concat("`", Now().text, "` before an argument is not supported"));
      if (Now().kind == Kind::kName && tokens_[at_ + 1].kind == Kind::kSign && tokens_[at_ + 1].text == "=") {
        call.names.push_back(Now().text);
        at_ += 2;
      } else if (!call.names.empty()) {
        Fail("an argument without a name follows one with a name");
      }
      Add(call, Expression());
    }
    ExpectSign(")");
    NoteMembersOf(call);
  }

  TemplateExprPtr Filters(TemplateExprPtr value) {
    while (!problem_.has_value()) {
      const size_t offset = Now().offset;
      if (TakeSign("|")) {
        value = New(ExprKind::kFilter, offset, ExpectName(), std::move(value));
        Arguments(*value);
      } else if (TakeWord("is")) {
        value = Test(offset, std::move(value));
      } else if (IsSign("(")) {
        value = New(ExprKind::kCall, offset, "", std::move(value));
        Arguments(*value);
      } else {
        break;
      }
    }
    return value;
  }

  TemplateExprPtr Test(size_t offset, TemplateExprPtr value) {
    const bool is_negated = TakeWord("not");
    TemplateExprPtr test = New(ExprKind::kTest, offset, ExpectName(), std::move(value));
    const TemplateToken& next = Now();
    const bool is_operator =
        next.kind == Kind::kName && (next.text == "else" || next.text == "or" || next.text == "and" ||
                                     next.text == "is" || next.text == "if" || next.text == "in" || next.text == "not");
    if (IsSign("(")) {
      Arguments(*test);
    } else if ((next.kind == Kind::kName && !is_operator) || next.kind == Kind::kString || next.kind == Kind::kWhole ||
               next.kind == Kind::kFloat || IsSign("[") || IsSign("{")) {
      Add(*test, Postfix(Primary()));
    }
    return is_negated ? New(ExprKind::kNot, offset, "", std::move(test)) : std::move(test);
  }

  std::vector<TemplateToken> tokens_;
  ParsedTemplate& parsed_;
  std::optional<TemplateProblem> problem_;
  size_t at_ = 0;
  int depth_ = 0;
  int loops_ = 0;
};

}  // namespace

std::optional<TemplateProblem> ParseTemplate(const std::string& text, ParsedTemplate& parsed) {
  std::vector<TemplateToken> tokens;
  if (auto problem = ScanTemplate(text, tokens)) return problem;
  return Parser(std::move(tokens), parsed).Run();
}

}  // namespace cleave::runtime
