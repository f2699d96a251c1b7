// Statements and definitions of C++ as a tree, printed in the layout of clang-format (Google style, 120 columns).
//
//   Code code;
//   Code& body = code.Open(Function{.result = Name("void"), .name = "Forward", .suffix = "override"});
//   body.Comment("The first layer.");
//   body.Do(Call("MatMul", {Fields({{"m", 64}, {"n", 512}}), Name("image"), Name("h1")}));
#ifndef CLEAVE_CODEGEN_CPP_CODE_H_
#define CLEAVE_CODEGEN_CPP_CODE_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "codegen/cpp/expr.h"

namespace cleave::codegen::cpp {

constexpr int kColumns = 120;

// "const float* weight": a parameter, or a variable without a value. The name may be empty.
struct Variable {
  Expr type;
  std::string name;

  std::string Text() const;
};

// What opens a block.
struct For {
  std::string index;  // An int64_t, or of another type.
  Expr from;
  Expr condition;
  Expr next;
  Expr type = Name("int64_t");
};
// for (int64_t i = 0; i < count; ++i)
For Counting(absl::string_view index, const Expr& count);
struct ForEach {
  Variable element;
  Expr range;
};
struct If {
  Expr condition;
};
struct Function {
  Expr result;
  std::string name;
  std::vector<Variable> parameters = {};
  std::string suffix = {};               // "override", "const override"
  std::vector<Variable> constants = {};  // Of a template.
  std::vector<Expr> initializers = {};   // Of a constructor: "comm(context.comm)".

  std::string Text() const;  // Its head, on one line.
};
struct Struct {
  std::string name;
  std::string base = {};  // Of which it is the last heir.
};
struct Namespace {
  std::string name;  // May be empty.
};

// The statements between two braces, or of a file.
class Code {
 public:
  // The statements stand in column `indent`; those of blocks that are opened in them, further right.
  explicit Code(int indent = 0) : indent_(indent) {}
  Code(Code&&) = default;
  Code& operator=(Code&&) = default;

  void Gap();                              // An empty line, unless one or an opening brace stands before it.
  void EmptyLine();                        // In any case.
  void Comment(absl::string_view text);    // Broken between words where it is too long.
  void Directive(absl::string_view text);  // "#pragma omp simd", at the beginning of its line.

  // Neighbours with comments have these in one column. Comments that would not fit are shortened.
  void Do(const Expr& statement, absl::string_view comment = "");                             // "statement;"
  void Assign(const Expr& target, const Expr& value, absl::string_view symbol = "=");         // "target = value;"
  void Member(const Variable& variable, absl::string_view comment = "");                      // "float x;"
  void Declare(const Variable& variable, const Expr& value, absl::string_view comment = "");  // "float x = value;"
  // "Arena arena{a, b};": the value is a braced list without a type.
  void Construct(const Variable& variable, const Expr& braces, absl::string_view comment = "");
  // "T x = {" and each of the lists on lines of its own.
  void DeclareRows(const Variable& variable, const std::vector<Expr>& rows);
  void Return(const Expr& value);

  // A block on lines of its own. Returns its statements; the reference stays valid. A function of one statement stands
  // on one line where it fits.
  Code& Open(const For& loop);
  Code& Open(const ForEach& loop);
  Code& Open(const If& condition);
  Code& Open(const Function& function);
  Code& Open(const Struct& type);
  Code& Open(const Namespace& space);
  // The same with one statement, on one line and without braces.
  Code& OnLine(const ForEach& loop);
  Code& OnLine(const For& loop);
  Code& OnLine(const If& condition);

  void Append(Code other);  // Behind these statements.

  bool empty() const { return statements_.empty(); }
  int indent() const { return indent_; }
  std::string Text() const;

  friend bool operator==(const Code& a, const Code& b);
  // Whether both do the same: comments and empty lines, which say why, may differ.
  friend bool DoTheSame(const Code& a, const Code& b);
  // Whether a statement has the name, as a word; comments do not count.
  friend bool Mentions(const Code& code, absl::string_view name);
  // The first statements in which they do not do the same.
  friend std::string FirstDifference(const Code& a, const Code& b);

 private:
  friend class CodePrinter;
  friend class FamilyWalker;

  struct Statement {
    enum class Kind { kGap, kEmptyLine, kComment, kDirective, kSimple, kRows, kBlock, kLine };
    Kind kind = Kind::kSimple;
    std::string text = {};           // Of comments and directives; what stands before `value`: "return ", "float x = ".
    std::optional<Expr> value = {};  // Of a simple statement; the condition of a block.
    std::vector<Expr> rows = {};
    std::string comment = {};                  // Behind it.
    std::string declares = {};                 // The name of a variable or of a struct; or which variable it sets.
    std::vector<std::string> parameters = {};  // Of a block: the text goes on with them and `tail`.
    std::string tail = {};
    std::string end = {};  // What closes the block.
    int body_indent = 2;
    bool is_function = false;
    bool is_struct = false;
    std::unique_ptr<Code> body = nullptr;

    bool IsRemark() const { return kind == Kind::kGap || kind == Kind::kEmptyLine || kind == Kind::kComment; }
    bool SaysTheSame(const Statement& other, bool with_remarks) const;
  };

  Statement& Add(Statement statement);
  Code& AddBlock(Statement statement);
  Code& OpenBraces(std::string head);
  static std::pair<size_t, size_t> Difference(const Code& a, const Code& b, bool with_remarks);
  static bool Same(const Code& a, const Code& b, bool with_remarks);

  int indent_ = 0;
  std::vector<Statement> statements_;
};

}  // namespace cleave::codegen::cpp

#endif  // CLEAVE_CODEGEN_CPP_CODE_H_
