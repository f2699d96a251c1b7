#include "dsl/format/random_tree.h"

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace cleave::dsl {
namespace {

using syntax::Expression;

class TreeGenerator {
 public:
  explicit TreeGenerator(uint64_t seed) : random_(seed) {}

  syntax::File File(int size) {
    syntax::File file;
    for (int i = 0; i < size; ++i) file.items.push_back(Item());
    return file;
  }

 private:
  int Below(int count) { return static_cast<int>(random_() % static_cast<uint64_t>(count)); }
  bool Chance(int percent) { return Below(100) < percent; }

  template <typename F>
  auto Several(int most, F make) {
    std::vector<decltype(make())> list;
    for (int i = Below(most + 1); i > 0; --i) list.push_back(make());
    return list;
  }

  // Words, including those that are names except where a statement or an item begins.
  std::string Word() {
    static const char* const kWords[] = {"x",
                                         "y",
                                         "weight",
                                         "h1",
                                         "auto",
                                         "data",
                                         "loss",
                                         "input",
                                         "import",
                                         "in",
                                         "model",
                                         "parallel",
                                         "local",
                                         "layer",
                                         "print",
                                         "record",
                                         "state",
                                         "update",
                                         "metric",
                                         "pin",
                                         "op",
                                         "param",
                                         "train",
                                         "world",
                                         "data_parallel",
                                         "assert_finite",
                                         "_x",
                                         "a_rather_long_name_for_a_value"};
    return kWords[Below(static_cast<int>(std::size(kWords)))];
  }

  std::string PlainWord() { return absl::StrCat("f", Below(9)); }

  syntax::Identifier Identifier() { return {.span = {}, .text = Word()}; }

  Expression Make(Expression::Kind kind) { return {.span = {}, .kind = std::move(kind)}; }

  syntax::StringLiteral String() {
    static const char* const kStrings[] = {"",        "data/mnist",   "a\"b", "back\\slash", "tab\tnewline\n",
                                           "größe …", "// no comment"};
    return {.value = kStrings[Below(static_cast<int>(std::size(kStrings)))]};
  }

  Expression Leaf() {
    switch (Below(8)) {
      case 0: {
        const int value = Below(1000);
        return Make(syntax::IntegerLiteral{.value = value, .text = absl::StrCat(value)});
      }
      case 1: {
        static const std::pair<double, const char*> kFloats[] = {{0.5, "0.5"}, {1e-3, "1e-3"}, {2500.0, "2.5E3"}};
        const auto& [value, text] = kFloats[Below(3)];
        return Make(syntax::FloatLiteral{.value = value, .text = text});
      }
      case 2:
        return Make(syntax::SizeLiteral{.bytes = int64_t{40} << 30, .text = "40GiB"});
      case 3:
        return Make(String());
      case 4:
        return Make(syntax::BoolLiteral{.value = Chance(50)});
      case 5:
        return Make(syntax::Wildcard{});
      case 6:
        return Make(syntax::TimeLiteral{.seconds = 0.0205, .text = "20.5ms"});
      default:
        return Make(syntax::Name{.text = Word()});
    }
  }

  // Within attributes no expression may need parentheses to group, as they would make a tuple: there operands are
  // leaves.
  Expression Operand(int depth) { return in_tuples_ ? Leaf() : Value(depth); }

  Expression Value(int depth) {
    if (depth <= 0) return Leaf();
    const int inner = depth - 1;
    switch (Below(11)) {
      case 0:
        if (Chance(40)) return Make(syntax::Not{.operand = Operand(inner)});
        return Make(syntax::Negate{.operand = Operand(inner)});
      case 1:
        return Make(syntax::Binary{.op = static_cast<syntax::BinaryOperator>(Below(14)),
                                   .operator_span = {},
                                   .left = Operand(inner),
                                   .right = Operand(inner)});
      case 2:
      case 3:
        return Make(syntax::Call{.callee = Callee(inner), .arguments = Arguments(inner)});
      case 4:
        return Make(syntax::Index{.base = Callee(inner), .subscripts = Subscripts(inner)});
      case 5:
        return Make(syntax::Tuple{.elements = Arguments(inner)});
      case 6: {
        // Attributes of attributes would be read as one list.
        Expression operand = Operand(inner);
        if (std::holds_alternative<syntax::Attributed>(operand.kind)) return operand;
        std::vector<syntax::Attribute> attributes = Several(1, [&] { return Attribute(inner); });
        attributes.push_back(Attribute(inner));
        return Make(syntax::Attributed{.attributes = std::move(attributes), .operand = std::move(operand)});
      }
      case 7:
        return Make(syntax::Layer{
            .call = Make(syntax::Call{.callee = Make(syntax::Name{.text = Word()}), .arguments = Arguments(inner)})});
      case 8:
        return Make(syntax::Field{.base = Callee(inner), .name = Identifier()});
      case 9:
        return Make(syntax::With{.base = Callee(inner), .fields = Arguments(inner)});
      default:
        return Leaf();
    }
  }

  // What may be given to an argument, a setting or an entry of a map.
  Expression ValueOrMap(int depth) {
    if (depth <= 0 || Chance(85)) return Value(depth);
    return Make(syntax::Map{.entries = Several(3, [&] {
                              return syntax::MapEntry{
                                  .span = {}, .key_span = {}, .key = String(), .value = ValueOrMap(depth - 1)};
                            })});
  }

  Expression Callee(int depth) { return Chance(70) ? Make(syntax::Name{.text = Word()}) : Operand(depth); }

  syntax::Argument Argument(int depth) {
    syntax::Argument argument{.span = {}, .name = std::nullopt, .value = ValueOrMap(depth)};
    if (Chance(30)) argument.name = Identifier();
    return argument;
  }

  std::vector<syntax::Argument> Arguments(int depth) {
    return Several(4, [&] { return Argument(depth); });
  }

  syntax::Subscript Subscript(int depth) {
    syntax::Subscript subscript{
        .span = {}, .is_range = Chance(60), .begin = std::nullopt, .end = std::nullopt, .step = std::nullopt};
    if (!subscript.is_range || Chance(60)) subscript.begin = Operand(depth);
    if (subscript.is_range && Chance(60)) subscript.end = Operand(depth);
    if (subscript.is_range && Chance(30)) subscript.step = Operand(depth);
    return subscript;
  }

  std::vector<syntax::Subscript> Subscripts(int depth) {
    std::vector<syntax::Subscript> subscripts = Several(2, [&] { return Subscript(depth); });
    subscripts.push_back(Subscript(depth));
    return subscripts;
  }

  syntax::Attribute Attribute(int depth) {
    const bool outside = std::exchange(in_tuples_, true);
    syntax::Attribute attribute{.span = {}, .name = Identifier(), .arguments = {}, .has_parentheses = Chance(80)};
    if (attribute.has_parentheses) attribute.arguments = Arguments(depth);
    in_tuples_ = outside;
    return attribute;
  }

  std::vector<syntax::Attribute> Attributes() {
    if (Chance(70)) return {};
    return Several(2, [&] { return Attribute(2); });
  }

  syntax::Dimension Dimension() {
    if (Chance(20)) return {.span = {}, .kind = Identifier()};
    return {.span = {}, .kind = Value(1)};
  }

  syntax::Type Type() {
    syntax::Type type{.span = {}, .element = Identifier(), .dimensions = std::nullopt};
    if (Chance(70)) type.dimensions = Several(4, [&] { return Dimension(); });
    return type;
  }

  std::vector<syntax::Type> Results() {
    return Several(3, [&] { return Type(); });
  }

  std::optional<syntax::Type> MaybeType() { return Chance(50) ? std::optional(Type()) : std::nullopt; }

  syntax::Parameter Parameter() {
    syntax::Parameter parameter{.span = {}, .name = Identifier(), .type = Type(), .default_value = std::nullopt};
    if (Chance(40)) parameter.default_value = Value(2);
    return parameter;
  }

  std::vector<syntax::Parameter> Parameters() {
    return Several(5, [&] { return Parameter(); });
  }

  // The names of a `let` or an assignment.
  std::vector<syntax::Identifier> Names() {
    if (Chance(70)) return {Identifier()};
    std::vector<syntax::Identifier> names = {Identifier(), {.span = {}, .text = "_"}};
    for (int i = Below(12); i > 0; --i) names.push_back(Identifier());
    return names;
  }

  // Of a value that is looked at: the last name behind a dot is no field of the value.
  std::optional<syntax::Identifier> PartOf(const Expression& value) {
    const bool is_field = std::holds_alternative<syntax::Field>(value.kind);
    return is_field || Chance(30) ? std::optional(Identifier()) : std::nullopt;
  }

  syntax::Let Let() {
    syntax::Let let{.is_mutable = Chance(30), .names = Names(), .type = std::nullopt, .value = Value(5)};
    if (let.names.size() == 1) let.type = MaybeType();
    return let;
  }

  std::vector<syntax::Setting> Settings() {
    return Several(4, [&] { return syntax::Setting{.span = {}, .name = Identifier(), .value = ValueOrMap(3)}; });
  }

  std::vector<syntax::Statement> Body(int depth) {
    return Several(
        5, [&] { return syntax::Statement{.span = {}, .attributes = Attributes(), .kind = StatementKind(depth)}; });
  }

  syntax::If If(int depth) {
    syntax::If choice;
    for (int i = Below(3); i >= 0; --i) {
      choice.branches.push_back({.condition = Value(2), .body = Body(depth - 1), .body_begin = {}, .body_end = {}});
    }
    if (choice.branches.size() > 1 && Chance(50)) choice.branches.back().condition.reset();
    return choice;
  }

  syntax::Statement::Kind StatementKind(int depth) {
    switch (Below(12)) {
      case 0:
        return syntax::Input{
            .name = Identifier(), .type = Type(), .file = Chance(30) ? std::optional(Value(3)) : std::nullopt};
      case 1:
        return syntax::Param{.is_state = Chance(30), .name = Identifier(), .type = Type(), .initializer = Value(3)};
      case 2:
        return syntax::Assign{.names = Names(), .value = Value(4)};
      case 3:
        if (depth > 0) {
          if (Chance(50)) return If(depth);
          syntax::For loop{.variable = Identifier(),
                           .begin = Value(2),
                           .end = std::nullopt,
                           .body = Body(depth - 1),
                           .body_begin = {}};
          if (Chance(70)) loop.end = Value(2);
          return loop;
        }
        return syntax::Loss{.value = Value(4)};
      case 4:
        return syntax::Metric{.value = Value(4)};
      case 5:
        return syntax::Return{.value = Value(4)};
      case 6: {
        syntax::Print print{.is_local = Chance(50), .value = Value(4)};
        print.part = PartOf(print.value);
        return print;
      }
      case 7: {
        syntax::AssertFinite check{.value = Value(4)};
        check.part = PartOf(check.value);
        return check;
      }
      case 8:
        return syntax::Update{.name = Identifier(), .value = Value(4)};
      case 9:
        return syntax::Evaluate{
            .value = Make(syntax::Call{.callee = Make(syntax::Name{.text = PlainWord()}), .arguments = Arguments(3)})};
      default:
        return Let();
    }
  }

  // A bound, or a layout.
  syntax::Expectation Expectation() {
    syntax::Expectation expectation{.span = {}, .what = Value(3), .value = std::nullopt};
    in_tuples_ = true;
    if (Chance(50)) expectation.value = Value(3);
    in_tuples_ = false;
    return expectation;
  }

  syntax::Item::Kind ItemKind() {
    switch (Below(8)) {
      case 0:
        return syntax::Model{
            .name = Identifier(), .parameters = Parameters(), .body = Body(3), .body_begin = {}, .body_end = {}};
      case 1:
        return syntax::Function{.name = Identifier(),
                                .parameters = Parameters(),
                                .results = Results(),
                                .body = Body(3),
                                .body_begin = {},
                                .body_end = {}};
      case 2:
        return syntax::Train{.model = Identifier(), .settings = Settings(), .body_begin = {}};
      case 3:
        return syntax::Import{.path_span = {}, .path = String()};
      case 4:
        return syntax::Record{.name = Identifier(), .fields = Parameters(), .body_begin = {}};
      case 5:
        return syntax::Expect{.expectations = Several(4, [&] { return Expectation(); }), .body_begin = {}};
      default:
        break;
    }
    // Parentheses make tuples in the blocks below, in the defaults of an op's parameters they do not.
    if (Chance(50)) {
      syntax::OpDefinition op{
          .name = Identifier(), .parameters = Parameters(), .result = MaybeType(), .settings = {}, .body_begin = {}};
      in_tuples_ = true;
      op.settings = Settings();
      in_tuples_ = false;
      return op;
    }
    in_tuples_ = true;
    syntax::Parallel parallel{.settings = Settings(), .pins = {}, .body_begin = {}};
    in_tuples_ = false;
    parallel.pins = Several(
        3, [&] { return syntax::Pin{.span = {}, .target_span = {}, .target = String(), .attribute = Attribute(3)}; });
    return parallel;
  }

  syntax::Item Item() { return {.span = {}, .attributes = Attributes(), .kind = ItemKind()}; }

  std::mt19937_64 random_;
  bool in_tuples_ = false;
};

}  // namespace

syntax::File RandomTree(uint64_t seed, int size) { return TreeGenerator(seed).File(size); }

}  // namespace cleave::dsl
