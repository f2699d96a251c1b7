// The formatter walks the tree in the order of the text. Every statement, setting, pin and attribute is an element that
// gets lines of its own: comments that come before it, its text, and the comment that ends its line. The finished lines
// are aligned where comments follow one another.
#include "dsl/format/format.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/match/match.h"
#include "dsl/format/comments.h"
#include "dsl/format/expression_format.h"
#include "dsl/syntax/print.h"

namespace cleave::dsl {
namespace {

constexpr size_t kLastCommentColumn = 80;
constexpr int32_t kEndOfFile = std::numeric_limits<int32_t>::max();

struct Line {
  std::string text;     // Indented; several lines for a broken list; empty for a blank line.
  std::string comment;  // At its end.
};

// Comments at the ends of neighbouring lines begin in one column, unless that is far to the right.
std::string JoinAligned(const std::vector<Line>& lines) {
  const auto width = [](const Line& line) {
    const size_t newline = line.text.rfind('\n');
    return line.text.size() - (newline == std::string::npos ? 0 : newline + 1);
  };
  std::string text;
  for (size_t begin = 0; begin < lines.size();) {
    size_t end = begin;
    size_t column = 0;
    while (end < lines.size() && !lines[end].comment.empty()) {
      column = std::max(column, width(lines[end]) + 2);
      ++end;
    }
    const bool aligns = column <= kLastCommentColumn;
    for (size_t i = begin; i < end; ++i) {
      const size_t padding = aligns ? column - width(lines[i]) : 2;
      absl::StrAppend(&text, lines[i].text, std::string(padding, ' '), lines[i].comment, "\n");
    }
    if (end < lines.size()) absl::StrAppend(&text, lines[end++].text, "\n");
    begin = end;
  }
  return text;
}

// Where the part of a statement behind its attributes has certainly begun: its first name or value.
int32_t ContentBegin(const syntax::Statement& statement) {
  return Match(
      statement.kind, [](const syntax::Input& input) { return input.name.span.begin; },
      [](const syntax::Param& param) { return param.name.span.begin; },
      [](const syntax::Update& update) { return update.name.span.begin; },
      [](const syntax::Let& let) { return let.names.front().span.begin; },
      [](const syntax::Assign& assign) { return assign.names.front().span.begin; },
      [](const syntax::For& loop) { return loop.variable.span.begin; },
      [](const syntax::If& choice) { return choice.branches.front().condition->span.begin; },
      [](const auto& with_value) { return with_value.value.span.begin; });
}

int32_t ContentBegin(const syntax::Item& item) {
  return Match(
      item.kind, [](const syntax::Import& import) { return import.path_span.begin; },
      [](const syntax::Train& train) { return train.model.span.begin; },
      [](const syntax::Parallel& parallel) { return parallel.body_begin.begin; },
      [](const syntax::Expect& expect) { return expect.body_begin.begin; },
      [](const auto& named) { return named.name.span.begin; });
}

bool BeginsWithLocal(const syntax::Expression& expression) {
  return Match(
      expression.kind, [](const syntax::Name& name) { return name.text == "local"; },
      [](const syntax::Binary& binary) { return BeginsWithLocal(*binary.left); },
      [](const syntax::Call& call) { return BeginsWithLocal(*call.callee); },
      [](const syntax::Index& index) { return BeginsWithLocal(*index.base); },
      [](const syntax::Field& field) { return BeginsWithLocal(*field.base); },
      [](const syntax::With& with) { return BeginsWithLocal(*with.base); }, [](const auto&) { return false; });
}

class Formatter {
 public:
  explicit Formatter(const syntax::File& file) : file_(file), comments_(file) {}

  std::string Run() && {
    for (size_t i = 0; i < file_.items.size(); ++i) {
      const int32_t next = i + 1 < file_.items.size() ? file_.items[i + 1].span.begin : kEndOfFile;
      wants_blank_ = i > 0;
      FormatItem(file_.items[i], next);
    }
    wants_blank_ = false;
    EmitComments(kEndOfFile);
    return JoinAligned(lines_);
  }

 private:
  void FormatItem(const syntax::Item& item, int32_t next) {
    FormatAttributes(item.attributes, ContentBegin(item));
    Match(
        item.kind,
        [&](const syntax::Import& import) {
          Emit(item.span, absl::StrCat("import ", syntax::QuoteString(import.path.value), ";"), next);
        },
        [&](const syntax::Record& record) {
          FormatFields(item.span, absl::StrCat("record ", record.name.text), record, next);
        },
        [&](const syntax::Model& model) {
          std::string head = absl::StrCat("model ", model.name.text);
          if (!model.parameters.empty()) head += FormatParameters(model.parameters, Behind(head, 2));
          FormatBody(item.span, head, model.body_begin, model.body, next);
        },
        [&](const syntax::Function& function) {
          const std::string head = FormatSignature("fn ", function.name, function.parameters, function.results);
          FormatBody(item.span, head, function.body_begin, function.body, next);
        },
        [&](const syntax::OpDefinition& op) {
          const std::vector<syntax::Type> results = op.result ? std::vector{*op.result} : std::vector<syntax::Type>();
          const std::string head = FormatSignature("op ", op.name, op.parameters, results);
          FormatSettings(item.span, head, op.body_begin, op.settings, {}, next);
        },
        [&](const syntax::Train& train) {
          FormatSettings(item.span, absl::StrCat("train ", train.model.text), train.body_begin, train.settings, {},
                         next);
        },
        [&](const syntax::Parallel& parallel) {
          FormatSettings(item.span, "parallel", parallel.body_begin, parallel.settings, parallel.pins, next);
        },
        [&](const syntax::Expect& expect) { FormatExpectations(item.span, expect, next); });
  }

  std::string FormatSignature(absl::string_view word, const syntax::Identifier& name,
                              const std::vector<syntax::Parameter>& parameters,
                              const std::vector<syntax::Type>& results) const {
    std::string text = absl::StrCat(word, name.text);
    const absl::string_view arrow = results.empty() ? "" : " -> ";
    const std::string tail = absl::StrCat(arrow, FormatResults(results, {.one_line = true}));
    absl::StrAppend(&text, FormatParameters(parameters, Behind(text, static_cast<int>(tail.size()) + 2)), arrow);
    return text + FormatResults(results, Behind(text, 2));
  }

  // `head {`, the statements, `}`. `next` is where the element after this one begins.
  void FormatBody(Span span, const std::string& head, Span brace, const std::vector<syntax::Statement>& body,
                  int32_t next) {
    const int32_t close = span.end - 1;
    if (body.empty() && !comments_.HasBetween(brace.end, close)) return Emit(span, absl::StrCat(head, " {}"), next);
    OpenWith(body, span.begin, head, brace, close);
    CloseBody(span.end, next);
  }

  // `head {` and the statements, behind which a brace stands at byte `close`.
  void OpenWith(const std::vector<syntax::Statement>& body, int32_t begin, const std::string& head, Span brace,
                int32_t close) {
    OpenBody(begin, head, brace, body.empty() ? close : body[0].span.begin);
    for (size_t i = 0; i < body.size(); ++i) {
      FormatStatement(body[i], i + 1 < body.size() ? body[i + 1].span.begin : close);
    }
  }

  // `if … {`, the statements, `} else {`, …, `}`.
  void FormatConditional(Span span, const syntax::If& choice, int32_t next) {
    for (size_t i = 0; i < choice.branches.size(); ++i) {
      const syntax::Branch& branch = choice.branches[i];
      int32_t begin = span.begin;
      std::string head = "if ";
      if (i > 0) {
        head = branch.condition ? "} else if " : "} else";
        // Comments around the word `else` would be read as those of the body before when this is formatted again.
        EmitComments(branch.body_begin.end);
        indent_ -= kIndentWidth;
        begin = last_end_ = choice.branches[i - 1].body_end.begin;
      }
      if (branch.condition) head += FormatExpression(*branch.condition, Behind(head, 2));
      if (choice.branches.size() == 1) return FormatBody(span, head, branch.body_begin, branch.body, next);
      OpenWith(branch.body, begin, head, branch.body_begin, branch.body_end.begin);
    }
    CloseBody(span.end, next);
  }

  // The same for settings and pins, in the order of the text.
  void FormatSettings(Span span, const std::string& head, Span brace, const std::vector<syntax::Setting>& settings,
                      const std::vector<syntax::Pin>& pins, int32_t next) {
    struct Entry {
      Span span;
      const syntax::Setting* setting;
      const syntax::Pin* pin;
    };
    std::vector<Entry> entries;
    for (const syntax::Setting& setting : settings) entries.push_back({setting.span, &setting, nullptr});
    for (const syntax::Pin& pin : pins) entries.push_back({pin.span, nullptr, &pin});
    std::stable_sort(entries.begin(), entries.end(),
                     [](const Entry& a, const Entry& b) { return a.span.begin < b.span.begin; });
    const int32_t close = span.end - 1;
    if (entries.empty() && !comments_.HasBetween(brace.end, close)) return Emit(span, absl::StrCat(head, " {}"), next);
    OpenBody(span.begin, head, brace, entries.empty() ? close : entries[0].span.begin);
    for (size_t i = 0; i < entries.size(); ++i) {
      const int32_t entry_next = i + 1 < entries.size() ? entries[i + 1].span.begin : close;
      if (const syntax::Setting* setting = entries[i].setting) {
        const std::string name = absl::StrCat(setting->name.text, " = ");
        Emit(entries[i].span, absl::StrCat(name, FormatExpression(setting->value, Behind(name, 1)), ";"), entry_next);
      } else {
        const syntax::Pin& pin = *entries[i].pin;
        const std::string name = absl::StrCat("pin ", syntax::QuoteString(pin.target.value), " = ");
        Emit(entries[i].span, absl::StrCat(name, FormatAttributeBody(pin.attribute, Behind(name, 1)), ";"), entry_next);
      }
    }
    CloseBody(span.end, next);
  }

  // The same for the fields of a record.
  void FormatFields(Span span, const std::string& head, const syntax::Record& record, int32_t next) {
    FormatEach(
        span, head, record.body_begin, record.fields,
        [&](const syntax::Parameter& field) { return FormatParameter(field, Behind("", 1)); }, next);
  }

  void FormatExpectations(Span span, const syntax::Expect& expect, int32_t next) {
    FormatEach(
        span, "expect", expect.body_begin, expect.expectations,
        [&](const syntax::Expectation& expectation) {
          std::string text = FormatExpression(expectation.what, Behind("", 1));
          if (!expectation.value) return text;
          text += " = ";
          return text + FormatExpression(*expectation.value, Behind(text, 1));
        },
        next);
  }

  // The same for parts of one kind, whose text `format` makes without its semicolon.
  template <typename Part, typename FormatPart>
  void FormatEach(Span span, const std::string& head, Span brace, const std::vector<Part>& parts,
                  const FormatPart& format, int32_t next) {
    const int32_t close = span.end - 1;
    if (parts.empty() && !comments_.HasBetween(brace.end, close)) return Emit(span, absl::StrCat(head, " {}"), next);
    OpenBody(span.begin, head, brace, parts.empty() ? close : parts[0].span.begin);
    for (size_t i = 0; i < parts.size(); ++i) {
      Emit(parts[i].span, absl::StrCat(format(parts[i]), ";"), i + 1 < parts.size() ? parts[i + 1].span.begin : close);
    }
    CloseBody(span.end, next);
  }

  void OpenBody(int32_t begin, const std::string& head, Span brace, int32_t first) {
    Emit(Span{.file = brace.file, .begin = begin, .end = brace.end}, absl::StrCat(head, " {"), first);
    indent_ += kIndentWidth;
    after_brace_ = true;
  }

  void CloseBody(int32_t end, int32_t next) {
    EmitComments(end);
    indent_ -= kIndentWidth;
    Line line{.text = absl::StrCat(std::string(static_cast<size_t>(indent_), ' '), "}"), .comment = ""};
    last_end_ = end;
    line.comment = comments_.TakeRestOfLine(next);
    if (!line.comment.empty()) last_end_ = comments_.taken_until();
    after_brace_ = false;
    lines_.push_back(std::move(line));
  }

  void FormatAttributes(const std::vector<syntax::Attribute>& attributes, int32_t content_begin) {
    for (size_t i = 0; i < attributes.size(); ++i) {
      const int32_t next = i + 1 < attributes.size() ? attributes[i + 1].span.begin : content_begin;
      Emit(attributes[i].span, FormatAttribute(attributes[i], Behind("", 0)), next);
      after_attribute_ = true;
    }
  }

  void FormatStatement(const syntax::Statement& statement, int32_t next) {
    FormatAttributes(statement.attributes, ContentBegin(statement));
    Span span = statement.span;
    if (!statement.attributes.empty()) span.begin = ContentBegin(statement);
    const auto emit = [&](std::string head, const syntax::Expression& value, absl::string_view tail) {
      const std::string text = FormatExpression(value, Behind(head, static_cast<int>(tail.size())));
      Emit(span, absl::StrCat(head, text, tail), next);
    };
    Match(
        statement.kind,
        [&](const syntax::Input& input) {
          const std::string head = absl::StrCat("input ", input.name.text, ": ", FormatType(input.type));
          if (!input.file.has_value()) return Emit(span, absl::StrCat(head, ";"), next);
          emit(absl::StrCat(head, " = "), *input.file, ";");
        },
        [&](const syntax::Param& param) {
          emit(absl::StrCat(param.is_state ? "state " : "param ", param.name.text, ": ", FormatType(param.type), " = "),
               param.initializer, ";");
        },
        [&](const syntax::Let& let) {
          const std::string head = let.is_mutable ? "let mut " : "let ";
          emit(absl::StrCat(head, FormatNames(let.names, Behind(head, 2)),
                            let.type ? absl::StrCat(": ", FormatType(*let.type)) : "", " = "),
               let.value, ";");
        },
        [&](const syntax::Assign& assign) {
          emit(absl::StrCat(FormatNames(assign.names, Behind("", 2)), " = "), assign.value, ";");
        },
        [&](const syntax::Update& update) {
          emit(absl::StrCat("update ", update.name.text, " = "), update.value, ";");
        },
        [&](const syntax::For& loop) {
          const std::string head = absl::StrCat(
              "for ", loop.variable.text, " in ",
              loop.end ? FormatRange(&loop.begin, &*loop.end) : FormatExpression(loop.begin, {.one_line = true}));
          FormatBody(span, head, loop.body_begin, loop.body, next);
        },
        [&](const syntax::If& choice) { FormatConditional(span, choice, next); },
        [&](const syntax::Loss& loss) { emit("loss ", loss.value, ";"); },
        [&](const syntax::Metric& metric) { emit("metric ", metric.value, ";"); },
        [&](const syntax::Return& value) { emit("return ", value.value, ";"); },
        [&](const syntax::Print& print) {
          // A value whose name is `local` must not read as the word.
          const bool is_name = std::holds_alternative<syntax::Name>(print.value.kind);
          const bool wraps = !print.is_local && !is_name && BeginsWithLocal(print.value);
          const std::string head = print.is_local ? "print(local " : "print(";
          Emit(span, absl::StrCat(head, FormatLooked(print.value, print.part, wraps, Behind(head, 2)), ");"), next);
        },
        [&](const syntax::AssertFinite& check) {
          const std::string head = "assert_finite(";
          Emit(span, absl::StrCat(head, FormatLooked(check.value, check.part, false, Behind(head, 2)), ");"), next);
        },
        [&](const syntax::Evaluate& evaluate) { emit("", evaluate.value, ";"); });
  }

  // Where a text behind `head` stands.
  Place Behind(const std::string& head, int reserve) const {
    return {.indent = indent_, .column = ColumnAfter(head, indent_), .reserve = reserve};
  }

  // Comments before byte `end`, on lines of their own, with the blank lines before them.
  void EmitComments(int32_t end) {
    for (const syntax::Comment* comment : comments_.TakeBefore(end)) {
      EmitBlank(comment->span.begin);
      EmitComment(*comment);
    }
  }

  void EmitComment(const syntax::Comment& comment) {
    lines_.push_back(
        {.text = absl::StrCat(std::string(static_cast<size_t>(indent_), ' '), comment.text), .comment = ""});
    last_end_ = comment.span.end;
  }

  // A blank line before the element that begins at byte `begin`, if there was one or an item begins; never right behind
  // `{`.
  void EmitBlank(int32_t begin) {
    const bool had_blank = comments_.HasBlankLine(last_end_, begin) && !after_attribute_;
    if (!lines_.empty() && !after_brace_ && (wants_blank_ || had_blank)) lines_.push_back({});
    wants_blank_ = false;
    after_brace_ = false;
    after_attribute_ = false;
    last_end_ = begin;
  }

  // One element: the comments before and within it, its text, and the comment that ends its line.
  void Emit(Span span, std::string text, int32_t next) {
    const bool after_attribute = after_attribute_;
    EmitComments(span.begin);
    after_attribute_ = after_attribute;
    EmitBlank(span.begin);
    for (const syntax::Comment* within : comments_.TakeBefore(span.end)) EmitComment(*within);
    Line line{.text = absl::StrCat(std::string(static_cast<size_t>(indent_), ' '), text), .comment = ""};
    last_end_ = span.end;
    line.comment = comments_.TakeRestOfLine(next);
    if (!line.comment.empty()) last_end_ = comments_.taken_until();
    lines_.push_back(std::move(line));
  }

  const syntax::File& file_;
  CommentCursor comments_;
  std::vector<Line> lines_;
  int indent_ = 0;
  int32_t last_end_ = 0;          // The end of the text on the last line.
  bool wants_blank_ = false;      // An item comes next, and it is not the first.
  bool after_brace_ = false;      // The last line opened a body.
  bool after_attribute_ = false;  // The last line is an attribute of what comes next.
};

}  // namespace

std::string Format(const syntax::File& file) { return Formatter(file).Run(); }

}  // namespace cleave::dsl
