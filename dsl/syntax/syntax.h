// The syntax tree of a `.model` file: what the user wrote, with nothing looked up and nothing decided.
//
//   let h1 = relu(dense(x, 512));
//
// is a Statement holding Let{name "h1", value Call{callee Name "relu", arguments {Call{Name "dense", {Name "x",
// 512}}}}}.
//
// How to read it: a File is a list of Items (import, record, model, fn, op, train, parallel, expect); bodies are lists
// of Statements; values are Expressions. Item, Statement and Expression each hold a span and a `kind`, a closed
// std::variant to be matched with `Match`. Nodes are plain values: copying is deep, `==` compares everything, spans
// included. Two trees are equal up to their spans when PrintTree (print.h) gives the same text.
//
// Invariants of a tree that Parse returns
//   * every node has a span inside the file; the span of a node covers those of its children;
//   * expressions are at most kMaxExpressionDepth levels deep, so that recursive walks are safe;
//   * numbers fit their type, names have at most kMaxNameBytes bytes of [A-Za-z0-9_];
//   * grouping parentheses leave no trace: `(a + b) * c` is Binary{kMultiply, Binary{kAdd, a, b}, c}. Within
//     attributes, pins, `parallel` and `op` blocks, and behind the `=` of an expectation, every pair of parentheses
//     makes a Tuple, `(1)` too.
// Words such as `auto`, `data_parallel`, `world`, `rank`, `local` are ordinary Names: their meaning depends on the
// place.
#ifndef CLEAVE_DSL_SYNTAX_SYNTAX_H_
#define CLEAVE_DSL_SYNTAX_SYNTAX_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/source/source.h"
#include "dsl/syntax/box.h"

namespace cleave::dsl::syntax {

inline constexpr int kMaxBracketDepth = 256;
inline constexpr int kMaxExpressionDepth = 1000;
inline constexpr int kMaxNameBytes = 255;

// A word where something is defined or named: `h1` in `let h1 = …`, `transpose_b` in `f(transpose_b = true)`.
struct Identifier {
  Span span;
  std::string text;

  bool operator==(const Identifier&) const = default;
};

// ---------------------------------------------------------------------------------------------------------------------
// Expressions

struct Expression;

// `256`, `1_000`. Never negative: `-1` is Negate of 1.
struct IntegerLiteral {
  int64_t value = 0;
  std::string text;  // As written.

  bool operator==(const IntegerLiteral&) const = default;
};

// `0.1`, `1e-3`. Always finite.
struct FloatLiteral {
  double value = 0;
  std::string text;  // As written.

  bool operator==(const FloatLiteral&) const = default;
};

// `40GiB`, `1.5MiB`, `512KB`.
struct SizeLiteral {
  int64_t bytes = 0;
  std::string text;  // As written.

  bool operator==(const SizeLiteral&) const = default;
};

// `20ms`, `1.5s`.
struct TimeLiteral {
  double seconds = 0;
  std::string text;  // As written.

  bool operator==(const TimeLiteral&) const = default;
};

// `"data/mnist"`; `value` has its escapes (\" \\ \n \t) resolved.
struct StringLiteral {
  std::string value;

  bool operator==(const StringLiteral&) const = default;
};

struct BoolLiteral {
  bool value = false;

  bool operator==(const BoolLiteral&) const = default;
};

// The use of a name.
struct Name {
  std::string text;

  bool operator==(const Name&) const = default;
};

// `_`: in a layout a dimension that is not cut; in `vmap(f, axes = (0, _))` an argument that is not mapped over.
struct Wildcard {
  bool operator==(const Wildcard&) const = default;
};

// `-x`.
struct Negate {
  Box<Expression> operand;

  bool operator==(const Negate&) const = default;
};

// `!x`.
struct Not {
  Box<Expression> operand;

  bool operator==(const Not&) const = default;
};

enum class BinaryOperator {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kRemainder,
  kPower,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kAnd,
  kOr,
};

// `a + b`. Arithmetic, `&&` and `||` are left associative, but for `**`; comparisons do not chain.
struct Binary {
  BinaryOperator op = BinaryOperator::kAdd;
  Span operator_span;
  Box<Expression> left;
  Box<Expression> right;

  bool operator==(const Binary&) const = default;
};

// An argument of a call or attribute, or an element of a tuple: `x`, or `lr = 0.1`. Order and duplicates are as
// written.
struct Argument {
  Span span;
  std::optional<Identifier> name;
  Box<Expression> value;

  bool operator==(const Argument&) const = default;
};

// `dense(x, 512)`, `vmap(f)(x, w)`.
struct Call {
  Box<Expression> callee;
  std::vector<Argument> arguments;

  bool operator==(const Call&) const = default;
};

// `layer dense(8)`: what fixes the arguments of a function but its tensors. `call` is a Call of a Name.
struct Layer {
  Box<Expression> call;

  bool operator==(const Layer&) const = default;
};

// One place between the brackets of `x[…]`: an index, or a range whose ends may be left out (`..`, `a ..`, `.. b`, `a
// .. b`).
struct Subscript {
  Span span;
  bool is_range = false;
  std::optional<Box<Expression>> begin;  // The index itself unless is_range.
  std::optional<Box<Expression>> end;    // Only of a range.
  std::optional<Box<Expression>> step;   // Only of a range: `0..8..2`.

  bool operator==(const Subscript&) const = default;
};

// `image[rank * n .. (rank + 1) * n]`, `x[.., 0]`.
struct Index {
  Box<Expression> base;
  std::vector<Subscript> subscripts;

  bool operator==(const Index&) const = default;
};

// `()`, `(a,)`, `(4, 2)`, `(dp = 4, tp = 2)`.
struct Tuple {
  std::vector<Argument> elements;

  bool operator==(const Tuple&) const = default;
};

// `c.heads`: a part of a record.
struct Field {
  Box<Expression> base;
  Identifier name;

  bool operator==(const Field&) const = default;
};

// `c with (heads = 4)`: a copy of a record with other fields.
struct With {
  Box<Expression> base;
  std::vector<Argument> fields;

  bool operator==(const With&) const = default;
};

struct MapEntry {
  Span span;
  Span key_span;
  StringLiteral key;
  Box<Expression> value;

  bool operator==(const MapEntry&) const = default;
};

// `{ "dense2.weight": (8, 1) }`, only as the value of an argument, a setting or another map's entry. Entries as
// written, duplicates included.
struct Map {
  std::vector<MapEntry> entries;

  bool operator==(const Map&) const = default;
};

// `#[shard((4, 2), (1, 2))]`, `#[replicate]`. In a pin the same without `#[` and `]`.
struct Attribute {
  Span span;
  Identifier name;
  std::vector<Argument> arguments;
  bool has_parentheses = false;  // `#[region()]` as opposed to `#[region]`.

  bool operator==(const Attribute&) const = default;
};

// `#[region(…)] block(x)`: attributes inside an expression, for the outermost call of `operand`. Binds like unary
// minus.
struct Attributed {
  std::vector<Attribute> attributes;  // At least one.
  Box<Expression> operand;

  bool operator==(const Attributed&) const = default;
};

struct Expression {
  using Kind = std::variant<IntegerLiteral, FloatLiteral, SizeLiteral, TimeLiteral, StringLiteral, BoolLiteral, Name,
                            Wildcard, Negate, Not, Binary, Call, Layer, Index, Tuple, Field, With, Map, Attributed>;
  Span span;
  Kind kind;

  bool operator==(const Expression&) const = default;
};

// ---------------------------------------------------------------------------------------------------------------------
// Types

// One dimension between the brackets of a type: an integer expression, or `..n`, which stands for any number of
// dimensions. Anything that parses is kept; the frontend checks which forms are allowed where.
struct Dimension {
  Span span;
  std::variant<Identifier, Expression> kind;  // Identifier: the `n` of `..n`.

  bool is_rest() const { return kind.index() == 0; }
  bool operator==(const Dimension&) const = default;
};

// `int`, `float`, `f32[batch, 1, 28, 28]`, `f32[]`.
struct Type {
  Span span;
  Identifier element;                                // `int`, `f32`, ….
  std::optional<std::vector<Dimension>> dimensions;  // Absent without brackets.

  bool operator==(const Type&) const = default;
};

// ---------------------------------------------------------------------------------------------------------------------
// Statements

struct Statement;

// `input image: f32[batch, 784];`, or without a batch `input edge: i32[2, 500] = npy("edge.npy");`
struct Input {
  Identifier name;
  Type type;
  std::optional<Expression> file;

  bool operator==(const Input&) const = default;
};

// `param weight: f32[units, k] = he_uniform();` (`#[local]` is an attribute of the statement), or
// `state mean: f32[k] = zeros();`.
struct Param {
  bool is_state = false;  // Not trained: it is what an `update` says.
  Identifier name;
  Type type;
  Expression initializer;

  bool operator==(const Param&) const = default;
};

// `let h = …;`, `let mut x = …;`, `let y: f32[n, 10] = …;`, `let (a, _) = …;`
struct Let {
  bool is_mutable = false;
  std::vector<Identifier> names;  // One, or those of the elements of a tuple; `_` is an element that gets no name.
  std::optional<Type> type;       // Only of one name.
  Expression value;

  bool operator==(const Let&) const = default;
};

// `x = block(x, heads);`, `(h, c) = cell(x, h, c);`
struct Assign {
  std::vector<Identifier> names;  // As in Let.
  Expression value;

  bool operator==(const Assign&) const = default;
};

// `update mean = 0.9 * mean + 0.1 * batch_mean;`: what a state is after the step.
struct Update {
  Identifier name;
  Expression value;

  bool operator==(const Update&) const = default;
};

// `for i in 0..depth { … }`: i takes the values begin, …, end - 1.
struct For {
  Identifier variable;
  Expression begin;               // The tuple itself where there is no end.
  std::optional<Expression> end;  // Absent over the elements of a tuple.
  std::vector<Statement> body;
  Span body_begin;  // The opening brace.

  bool operator==(const For& other) const;
};

// `if deep { … }`: a part of an If.
struct Branch {
  std::optional<Expression> condition;  // Absent behind a last `else`.
  std::vector<Statement> body;
  Span body_begin;  // The opening brace.
  Span body_end;    // The closing brace.

  bool operator==(const Branch& other) const;
};

// `if deep { … } else if wide { … } else { … }`: the body of the first branch whose condition holds.
struct If {
  std::vector<Branch> branches;  // At least one; only the last may have no condition.

  bool operator==(const If&) const = default;
};

// `loss cross_entropy(logits, label);`
struct Loss {
  Expression value;

  bool operator==(const Loss&) const = default;
};

// `metric accuracy(logits, label);`
struct Metric {
  Expression value;

  bool operator==(const Metric&) const = default;
};

// `return y;`
struct Return {
  Expression value;

  bool operator==(const Return&) const = default;
};

// `print(x);`, `print(local x);`, `print(w.grad);`
struct Print {
  bool is_local = false;
  Expression value;
  std::optional<Identifier> part = {};  // `grad`

  bool operator==(const Print&) const = default;
};

// `assert_finite(x);`, `assert_finite(w.grad);`
struct AssertFinite {
  Expression value;
  std::optional<Identifier> part = {};

  bool operator==(const AssertFinite&) const = default;
};

// A call whose result is not used: `send(x, 1);`.
struct Evaluate {
  Expression value;

  bool operator==(const Evaluate&) const = default;
};

struct Statement {
  using Kind =
      std::variant<Input, Param, Let, Assign, Update, For, If, Loss, Metric, Return, Print, AssertFinite, Evaluate>;
  Span span;  // With the attributes and the semicolon.
  std::vector<Attribute> attributes;
  Kind kind;

  bool operator==(const Statement&) const = default;
};

// ---------------------------------------------------------------------------------------------------------------------
// Items

// `x: f32[..n, k]`, `units: int = 10`: a parameter of a model, function or op, or a field of a record.
struct Parameter {
  Span span;  // Of a field with its semicolon.
  Identifier name;
  Type type;
  std::optional<Expression> default_value;

  bool operator==(const Parameter&) const = default;
};

// `lr = 0.1;` in a train, parallel or op block. Order and duplicates are as written.
struct Setting {
  Span span;
  Identifier name;
  Expression value;

  bool operator==(const Setting&) const = default;
};

// `import "blocks.model";`: the functions and ops of another file.
struct Import {
  Span path_span;
  StringLiteral path;

  bool operator==(const Import&) const = default;
};

// `record Config { width: int; heads: int = 8; }`
struct Record {
  Identifier name;
  std::vector<Parameter> fields;
  Span body_begin;  // The opening brace.

  bool operator==(const Record&) const = default;
};

// `model MnistMlp(batch: int = 256) { … }`
struct Model {
  Identifier name;
  std::vector<Parameter> parameters;
  std::vector<Statement> body;
  Span body_begin;  // The opening brace.
  Span body_end;    // The closing brace.

  bool operator==(const Model&) const = default;
};

// `fn dense(x: f32[..n, k], units: int) -> f32[..n, units] { … }`, `fn halves(x: f32[n]) -> (f32[n / 2], f32[n / 2])`
struct Function {
  Identifier name;
  std::vector<Parameter> parameters;
  std::vector<Type> results;  // Of several the value is a tuple.
  std::vector<Statement> body;
  Span body_begin;  // The opening brace.
  Span body_end;    // The closing brace: where a missing `return` is noticed.

  bool operator==(const Function&) const = default;
};

// `op soft_cap(x: f32[n, k], cap: float) -> f32[n, k] { rule = "n k -> n k"; … }`
struct OpDefinition {
  Identifier name;
  std::vector<Parameter> parameters;
  std::optional<Type> result;
  std::vector<Setting> settings;
  Span body_begin;  // The opening brace.

  bool operator==(const OpDefinition&) const = default;
};

// `train MnistMlp { data = …; optimizer = …; }`
struct Train {
  Identifier model;
  std::vector<Setting> settings;
  Span body_begin;  // The opening brace.

  bool operator==(const Train&) const = default;
};

// `pin "h1.matmul" = shard((4, 2), (1, 2));`
struct Pin {
  Span span;
  Span target_span;
  StringLiteral target;
  Attribute attribute;

  bool operator==(const Pin&) const = default;
};

// `parallel { devices = 8; search = sapp; pin "h1.weight" = layout("tp", _); }`
struct Parallel {
  std::vector<Setting> settings;
  std::vector<Pin> pins;
  Span body_begin;  // The opening brace.

  bool operator==(const Parallel&) const = default;
};

// `all_gather <= 2;`, `layout(h1.weight) = (tp, _);`
struct Expectation {
  Span span;
  Expression what;
  std::optional<Expression> value;  // Behind `=`.

  bool operator==(const Expectation&) const = default;
};

// `expect { step <= 20ms; … }`
struct Expect {
  std::vector<Expectation> expectations;
  Span body_begin;  // The opening brace.

  bool operator==(const Expect&) const = default;
};

struct Item {
  using Kind = std::variant<Import, Record, Model, Function, OpDefinition, Train, Parallel, Expect>;
  Span span;  // With the attributes and the closing brace or semicolon.
  std::vector<Attribute> attributes;
  Kind kind;

  bool operator==(const Item&) const = default;
};

// A comment, `// …` or `/* … */`, without the newline that ends it.
struct Comment {
  Span span;
  std::string text;       // With its slashes.
  bool own_line = false;  // Nothing but space stands before it on its line.

  bool operator==(const Comment&) const = default;
};

struct File {
  FileId file;
  std::vector<Item> items;
  // For the formatter; no part of the meaning.
  std::vector<Comment> comments;     // In the order of the text.
  std::vector<int32_t> blank_lines;  // Byte offsets at which blank lines begin, ascending.

  bool operator==(const File&) const = default;
};

inline bool For::operator==(const For& other) const {
  return variable == other.variable && begin == other.begin && end == other.end && body == other.body &&
         body_begin == other.body_begin;
}

inline bool Branch::operator==(const Branch& other) const {
  return condition == other.condition && body == other.body && body_begin == other.body_begin &&
         body_end == other.body_end;
}

}  // namespace cleave::dsl::syntax

#endif  // CLEAVE_DSL_SYNTAX_SYNTAX_H_
