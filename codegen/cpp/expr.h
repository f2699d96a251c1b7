// Expressions and types of C++ as trees. Parentheses come from the precedence of the operators when the tree is
// printed; who builds an expression does not think of them.
//
//   const Expr place = Name("slot") * 4096 + Choice(Infix(Name("i"), "==", 0), 64, Name("i") * 8);
//   place.Text() == "slot * 4096 + (i == 0 ? 64 : i * 8)"
//
// An Expr is a value: copies share their nodes, which never change.
#ifndef CLEAVE_CODEGEN_CPP_EXPR_H_
#define CLEAVE_CODEGEN_CPP_EXPR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace cleave::codegen::cpp {

class Code;
struct Field;

// How tightly the outermost operator binds, loosest first.
enum class Precedence { kConditional, kAnd, kEquality, kRelation, kSum, kProduct, kUnary, kPrimary };

class Expr {
 public:
  Expr() : Expr(OfName("")) {}
  // A whole number: "3", "-1".
  template <typename Int, typename = std::enable_if_t<std::is_integral_v<Int> && !std::is_same_v<Int, bool>>>
  Expr(Int number) : Expr(OfNumber(static_cast<int64_t>(number))) {}  // NOLINT: numbers are operands.

  std::string Text() const;
  size_t length() const { return Text().size(); }

  // The number, if it is a whole one.
  std::optional<int64_t> number() const;
  bool IsNegative() const;  // Begins with a minus sign.

  // "x.name", "x.name(arguments)", "x[index]".
  Expr Member(absl::string_view name) const;
  Expr Call(absl::string_view method, std::vector<Expr> arguments = {}) const;
  Expr At(const Expr& index) const;

  // Whether both are the same tree.
  friend bool operator==(const Expr& a, const Expr& b);
  friend bool operator!=(const Expr& a, const Expr& b) { return !(a == b); }

  // What the printer and a reader of trees need.
  enum class Kind {
    kText,         // A name, or a literal.
    kNumber,       // A whole number.
    kCall,         // operands[0](operands[1], ...)
    kMember,       // operands[0].text
    kIndex,        // operands[0][operands[1]]
    kPrefix,       // text operands[0]: "-x", "++i", "&x"
    kInfix,        // operands[0] text operands[1]
    kConditional,  // operands[0] ? operands[1] : operands[2]
    kBraces,       // text{.names = operands, ...}; the text is a type, or empty
    kLambda,       // text { return operands[0]; }
    kOpenLambda,   // text { body }, with the body on lines of its own
    kDecorated,    // A type: names[0] operands[0] names[1], "const T", "T*"
    kTemplate,     // text<operands>
  };
  struct Node;
  const Node& node() const { return *node_; }
  explicit Expr(std::shared_ptr<const Node> node) : node_(std::move(node)) {}

 private:
  static Expr OfNumber(int64_t number);
  static Expr OfName(absl::string_view name);

  std::shared_ptr<const Node> node_;
};

struct Expr::Node {
  Kind kind = Kind::kText;
  std::string text = {};
  std::vector<Expr> operands = {};
  std::vector<std::string> names = {};         // Of a braced list's fields, or what decorates a type.
  std::shared_ptr<const Code> body = nullptr;  // Of a lambda.
};

// An identifier, perhaps qualified, or a type: "h1_weight", "Reduction::kSum", "nullptr", "const float". REQUIRES: it
// has no operator, call or list, which would have no precedence.
Expr Name(absl::string_view name);

Expr Float(double number);   // "0.05f"
Expr Double(double number);  // "0.05"
Expr String(absl::string_view text);
Expr Bool(bool truth);

// "function(arguments)"
Expr Call(absl::string_view function, std::vector<Expr> arguments);
Expr Call(const Expr& function, std::vector<Expr> arguments);
Expr Cast(const Expr& type, const Expr& value);  // "static_cast<type>(value)"

Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator*(const Expr& a, const Expr& b);
Expr operator/(const Expr& a, const Expr& b);
Expr operator%(const Expr& a, const Expr& b);
Expr operator-(const Expr& x);

// "pointer + i * 8 + j": sums of whole numbers are the same in any order.
Expr Offset(const Expr& pointer, const Expr& index);

// "x + 3", "x - 3", "x".
Expr Shifted(const Expr& x, int64_t by);

// "a symbol b", for any symbol of precedence kProduct to kAnd, and for assignments: Infix(i, "+=", 2).
Expr Infix(const Expr& a, absl::string_view symbol, const Expr& b);
Expr Prefix(absl::string_view symbol, const Expr& x);
Expr Choice(const Expr& condition, const Expr& chosen, const Expr& other);

// "{1, .x = true}", "Region{...}". A field without a name is a plain element.
struct Field {
  std::string name;
  Expr value;
};
Expr Braces(std::vector<Expr> elements);
Expr Braces(const Expr& type, std::vector<Expr> elements);
Expr Numbers(absl::Span<const int64_t> numbers);  // "{256, 512}"
Expr Fields(std::vector<Field> fields);
Expr Fields(const Expr& type, std::vector<Field> fields);

// "[] { return value; }" on one line, and a lambda whose statements stand on lines of their own. `head`: what stands
// before the brace, "[](double step) -> double".
Expr Lambda(absl::string_view head, const Expr& value);
Expr Lambda(absl::string_view head, Code body);

// Types.
Expr Template(absl::string_view name, std::vector<Expr> arguments);  // "std::vector<float>"
Expr Const(const Expr& type);                                        // "const T"
Expr Pointer(const Expr& type);                                      // "T*"
Expr ConstPointer(const Expr& type);                                 // "T* const"
Expr RestrictPointer(const Expr& type);                              // "T* __restrict__"
Expr Reference(const Expr& type);                                    // "T&"

}  // namespace cleave::codegen::cpp

#endif  // CLEAVE_CODEGEN_CPP_EXPR_H_
