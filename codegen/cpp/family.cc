// The members are walked in step, statement by statement (UniteCodes, UniteStatements) and node by node (UniteExprs).
// MemberOf walks the result once more and puts a member's numbers back.
#include "codegen/cpp/family.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "codegen/cpp/identifiers.h"

namespace cleave::codegen::cpp {
namespace {

using Kind = Expr::Kind;

bool IsString(const Expr& expr) { return expr.node().kind == Kind::kText && absl::StartsWith(expr.node().text, "\""); }

// The runs of digits of a text, and what stands between them.
struct Split {
  std::vector<std::string> between = {""};  // One more than numbers.
  std::vector<std::string> numbers;
};
Split SplitNumbers(absl::string_view text) {
  Split split;
  bool is_number = false;
  for (const char c : text) {
    const bool is_digit = absl::ascii_isdigit(static_cast<unsigned char>(c));
    if (is_digit && !is_number) split.numbers.emplace_back();
    if (!is_digit && is_number) split.between.emplace_back();
    is_number = is_digit;
    (is_digit ? split.numbers : split.between).back().push_back(c);
  }
  if (is_number) split.between.emplace_back();
  return split;
}

// One comment for all; empty where they differ in more than numbers.
std::string UniteComments(const std::vector<const std::string*>& comments) {
  Split united = SplitNumbers(*comments[0]);
  for (const std::string* comment : comments) {
    const Split other = SplitNumbers(*comment);
    if (other.between != united.between) return "";
    for (size_t i = 0; i < united.numbers.size(); ++i) {
      if (other.numbers[i] != united.numbers[i]) united.numbers[i] = "#";
    }
  }
  std::string text = united.between[0];
  for (size_t i = 0; i < united.numbers.size(); ++i) absl::StrAppend(&text, united.numbers[i], united.between[i + 1]);
  return text;
}

// What a call is known by: "Send" of `comm.Send(x)`, "At" of `arena.At<float>(64)`.
std::string CalleeName(const Expr& callee) {
  const std::string& text = callee.node().text;
  const size_t dot = text.find_last_of(".:");
  return dot == std::string::npos ? text : text.substr(dot + 1);
}

}  // namespace

class FamilyWalker {
 public:
  explicit FamilyWalker(absl::string_view table) { family_.table = std::string(table); }

  std::optional<Family> Unite(const std::vector<const Code*>& members) && {
    std::optional<Code> code = UniteCodes(members);
    if (!code.has_value()) return std::nullopt;
    family_.code = *std::move(code);
    return std::move(family_);
  }

  // `code` with other expressions.
  static Code Replaced(const Code& code, const std::function<Expr(const Expr& expr)>& replaced) {
    Code result(code.indent_);
    for (const Statement& from : code.statements_) {
      Statement& to = result.statements_.emplace_back(WithoutTrees(from));
      if (from.value.has_value()) to.value = replaced(*from.value);
      for (const Expr& row : from.rows) to.rows.push_back(replaced(row));
      if (from.body != nullptr) to.body = std::make_unique<Code>(Replaced(*from.body, replaced));
    }
    return result;
  }

 private:
  using Statement = Code::Statement;

  static Statement WithoutTrees(const Statement& from) {
    return {.kind = from.kind,
            .text = from.text,
            .comment = from.comment,
            .declares = from.declares,
            .parameters = from.parameters,
            .tail = from.tail,
            .end = from.end,
            .body_indent = from.body_indent,
            .is_function = from.is_function,
            .is_struct = from.is_struct};
  }

  // The statements up to the next one that does something. `places`: where the members are; they move there.
  static std::vector<std::vector<const Statement*>> TakeRemarks(const std::vector<const Code*>& members,
                                                                std::vector<size_t>& places) {
    std::vector<std::vector<const Statement*>> remarks(members.size());
    for (size_t m = 0; m < members.size(); ++m) {
      const std::vector<Statement>& statements = members[m]->statements_;
      for (; places[m] < statements.size() && statements[places[m]].IsRemark(); ++places[m]) {
        remarks[m].push_back(&statements[places[m]]);
      }
    }
    return remarks;
  }

  // Those of the first member, as far as all members have them.
  static void UniteRemarks(const std::vector<std::vector<const Statement*>>& remarks, Code& code) {
    for (size_t i = 0; i < remarks[0].size(); ++i) {
      const Statement& first = *remarks[0][i];
      std::vector<const std::string*> texts;
      for (const std::vector<const Statement*>& of_member : remarks) {
        if (i >= of_member.size() || of_member[i]->kind != first.kind) return;
        texts.push_back(&of_member[i]->text);
      }
      Statement remark = WithoutTrees(first);
      remark.text = UniteComments(texts);
      if (!remark.text.empty() || first.text.empty()) code.statements_.push_back(std::move(remark));
    }
  }

  std::optional<Code> UniteCodes(const std::vector<const Code*>& members) {
    Code code(members[0]->indent_);
    std::vector<size_t> places(members.size(), 0);
    while (true) {
      UniteRemarks(TakeRemarks(members, places), code);
      std::vector<const Statement*> statements;
      for (size_t m = 0; m < members.size(); ++m) {
        if (places[m] < members[m]->statements_.size()) statements.push_back(&members[m]->statements_[places[m]++]);
      }
      if (statements.empty()) return code;
      if (statements.size() < members.size() || !UniteStatements(statements, code)) return std::nullopt;
    }
  }

  bool UniteStatements(const std::vector<const Statement*>& members, Code& code) {
    const Statement& first = *members[0];
    for (const Statement* member : members) {
      const bool is_alike = member->kind == first.kind && member->text == first.text && member->tail == first.tail &&
                            member->end == first.end && member->parameters == first.parameters &&
                            member->rows == first.rows && member->value.has_value() == first.value.has_value() &&
                            (member->body == nullptr) == (first.body == nullptr);
      if (!is_alike) return false;
    }
    Statement& united = code.statements_.emplace_back(WithoutTrees(first));
    united.rows = first.rows;
    std::vector<const std::string*> comments;
    for (const Statement* member : members) comments.push_back(&member->comment);
    united.comment = UniteComments(comments);
    if (first.value.has_value()) {
      std::vector<Expr> values;
      for (const Statement* member : members) values.push_back(*member->value);
      united.value =
          UniteExprs(values, {.wish = first.declares, .is_name = !first.declares.empty(), .subject = first.declares});
      if (!united.value.has_value()) return false;
    }
    if (first.body == nullptr) return true;
    std::vector<const Code*> bodies;
    for (const Statement* member : members) bodies.push_back(member->body.get());
    if (first.is_struct) struct_ = first.declares;
    std::optional<Code> body = UniteCodes(bodies);
    if (first.is_struct) struct_.clear();
    if (!body.has_value()) return false;
    united.body = std::make_unique<Code>(*std::move(body));
    return true;
  }

  // Where an expression stands: what a column is called there, and what it is about. Equal columns about one thing are
  // one.
  struct Context {
    std::string wish;
    bool is_name = false;  // The wish is the name of a variable.
    std::string subject;
  };

  std::optional<Expr> UniteExprs(const std::vector<Expr>& members, const Context& context) {
    const Expr& first = members[0];
    const auto all = [&](const auto& holds) { return std::all_of(members.begin(), members.end(), holds); };
    if (all([&](const Expr& member) { return member == first; })) return first;
    if (struct_.empty()) return std::nullopt;
    if (all([](const Expr& member) { return member.number().has_value(); })) return ColumnOf(members, context);
    if (all(IsString)) {
      const std::string& text = first.node().text;
      const std::string name = WithoutNumbers(absl::string_view(text).substr(1, text.size() - 2));
      return ColumnOf(members, {.wish = absl::StrCat(name, ".name"), .subject = "string"});
    }
    const Expr::Node& node = first.node();
    const bool is_alike = all([&](const Expr& member) {
      const Expr::Node& other = member.node();
      return other.kind == node.kind && other.text == node.text && other.names == node.names &&
             other.operands.size() == node.operands.size() && (other.body == nullptr) == (node.body == nullptr);
    });
    const bool is_type = node.kind == Kind::kDecorated || node.kind == Kind::kTemplate;
    if (!is_alike || is_type) return std::nullopt;
    Expr::Node united = {.kind = node.kind, .text = node.text, .names = node.names};
    Context inner = context;
    if (node.kind == Kind::kCall) {
      inner.subject = CalleeName(node.operands[0]);
      if (inner.wish.empty()) inner = {.wish = inner.subject, .subject = inner.subject};
    } else if (node.kind == Kind::kInfix && node.text == "*") {
      inner = {.wish = absl::StrCat(context.wish, ".stride"), .subject = absl::StrCat(context.subject, " stride")};
    }
    for (size_t i = 0; i < node.operands.size(); ++i) {
      std::vector<Expr> operands;
      for (const Expr& member : members) operands.push_back(member.node().operands[i]);
      const std::optional<Expr> operand = UniteExprs(operands, inner);
      if (!operand.has_value()) return std::nullopt;
      united.operands.push_back(*operand);
    }
    if (node.body != nullptr) {
      std::vector<const Code*> bodies;
      for (const Expr& member : members) bodies.push_back(member.node().body.get());
      std::optional<Code> body = UniteCodes(bodies);
      if (!body.has_value()) return std::nullopt;
      united.body = std::make_shared<const Code>(*std::move(body));
    }
    return Expr(std::make_shared<const Expr::Node>(std::move(united)));
  }

  Expr ColumnOf(const std::vector<Expr>& values, const Context& context) {
    family_.structs.insert(struct_);
    std::vector<std::string> texts;
    for (const Expr& value : values) texts.push_back(value.Text());
    const auto [column, is_new] = columns_.try_emplace({context.subject, texts}, family_.columns.size());
    if (is_new) {
      family_.columns.push_back({.name = NameOf(context), .is_text = IsString(values[0]), .values = values});
    }
    return Name(family_.table).Member(family_.columns[column->second].name);
  }

  std::string NameOf(const Context& context) {
    return context.is_name && names_.Take(context.wish) ? context.wish : names_.Unique(context.wish);
  }

  Family family_;
  Identifiers names_;
  std::map<std::pair<std::string, std::vector<std::string>>, size_t> columns_;  // By subject and values.
  std::string struct_;                                                          // In which the walk is.
};

std::optional<Family> Unite(const std::vector<const Code*>& members, absl::string_view table) {
  CLEAVE_CHECK(!members.empty());
  return FamilyWalker(table).Unite(members);
}

Code MemberOf(const Family& family, size_t member) {
  std::map<std::string, const Expr*> values;
  for (const Family::Column& column : family.columns) values[column.name] = &column.values[member];
  const Expr table = Name(family.table);
  const std::function<Expr(const Expr&)> replaced = [&](const Expr& expr) -> Expr {
    const Expr::Node& node = expr.node();
    if (node.kind == Kind::kMember && node.operands[0] == table) return *values.at(node.text);
    if (node.operands.empty() && node.body == nullptr) return expr;
    Expr::Node result = {.kind = node.kind, .text = node.text, .names = node.names};
    for (const Expr& operand : node.operands) result.operands.push_back(replaced(operand));
    if (node.body != nullptr) result.body = std::make_shared<const Code>(FamilyWalker::Replaced(*node.body, replaced));
    return Expr(std::make_shared<const Expr::Node>(std::move(result)));
  };
  return FamilyWalker::Replaced(family.code, replaced);
}

}  // namespace cleave::codegen::cpp
