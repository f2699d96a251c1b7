// Scalars as text: calls of primitives by the names that the ops of the language have. A number that has a name is
// `lr=0.05`.

#include "base/text/text.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check/check.h"
#include "ir/graph/scalar/scalar.h"

namespace cleave::ir {
namespace {

struct NamedPrimitive {
  absl::string_view name;
  Primitive primitive;
  size_t operands;
};

constexpr std::array<NamedPrimitive, 25> kNamed = {{
    {"add", Primitive::kAdd, 2},
    {"sub", Primitive::kSubtract, 2},
    {"mul", Primitive::kMultiply, 2},
    {"div", Primitive::kDivide, 2},
    {"neg", Primitive::kNegate, 1},
    {"equal", Primitive::kEqual, 2},
    {"not_equal", Primitive::kNotEqual, 2},
    {"less", Primitive::kLess, 2},
    {"less_equal", Primitive::kLessEqual, 2},
    {"greater", Primitive::kGreater, 2},
    {"greater_equal", Primitive::kGreaterEqual, 2},
    {"where", Primitive::kSelect, 3},
    {"maximum", Primitive::kMaximum, 2},
    {"minimum", Primitive::kMinimum, 2},
    {"abs", Primitive::kAbs, 1},
    {"power_of_two", Primitive::kPowerOfTwo, 1},
    {"to_int32", Primitive::kToInt32, 1},
    {"exp", Primitive::kExp, 1},
    {"log", Primitive::kLog, 1},
    {"sqrt", Primitive::kSqrt, 1},
    {"sin", Primitive::kSin, 1},
    {"cos", Primitive::kCos, 1},
    {"tanh", Primitive::kTanh, 1},
    {"erf", Primitive::kErf, 1},
    {"pow", Primitive::kPow, 2},
}};

// Reads from the front of a text.
class ScalarReader {
 public:
  explicit ScalarReader(absl::string_view text) : rest_(text) {}

  std::optional<Scalar> ReadAll() {
    std::optional<Scalar> value = Read(0);
    return rest_.empty() ? value : std::nullopt;
  }

 private:
  // More than any formula of a model has (frontend/evaluate/statics), and few enough for a recursion.
  static constexpr int kMostLevels = 1000;

  std::optional<Scalar> Read(int level) {
    if (level > kMostLevels) return std::nullopt;
    const absl::string_view word = rest_.substr(0, rest_.find_first_of("(), "));
    rest_.remove_prefix(word.size());
    if (word.empty()) return std::nullopt;
    if (rest_.empty() || rest_[0] != '(') return LeafOf(word);
    for (const NamedPrimitive& named : kNamed) {
      if (named.name == word) return ReadOperands(named, level);
    }
    return std::nullopt;
  }

  static std::optional<Scalar> LeafOf(absl::string_view word) {
    double number = 0;
    if (absl::SimpleAtod(word, &number)) return Scalar(number);
    if (word[0] < 'a' || word[0] > 'z') return std::nullopt;
    const size_t equals = word.find('=');
    if (equals == absl::string_view::npos) return Variable(std::string(word));
    if (!absl::SimpleAtod(word.substr(equals + 1), &number)) return std::nullopt;
    return NamedNumber(std::string(word.substr(0, equals)), number);
  }

  std::optional<Scalar> ReadOperands(const NamedPrimitive& named, int level) {
    std::vector<Scalar> operands;
    absl::string_view before = "(";
    for (size_t i = 0; i < named.operands; ++i) {
      if (!Take(before)) return std::nullopt;
      std::optional<Scalar> operand = Read(level + 1);
      if (!operand.has_value()) return std::nullopt;
      operands.push_back(*std::move(operand));
      before = ", ";
    }
    if (!Take(")")) return std::nullopt;
    return Scalar(named.primitive, std::move(operands));
  }

  bool Take(absl::string_view expected) {
    if (rest_.substr(0, expected.size()) != expected) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }

  absl::string_view rest_;
};

}  // namespace

std::string ScalarText(const Scalar& value) {
  if (value.Is(Primitive::kNumber)) {
    return absl::StrCat(value.name(), value.name().empty() ? "" : "=", FormatDouble(value.number()));
  }
  if (value.Is(Primitive::kVariable)) return value.variable();
  for (const NamedPrimitive& named : kNamed) {
    if (!value.Is(named.primitive)) continue;
    return absl::StrCat(
        named.name, "(",
        absl::StrJoin(value.operands(), ", ",
                      [](std::string* out, const Scalar& operand) { absl::StrAppend(out, ScalarText(operand)); }),
        ")");
  }
  CLEAVE_CHECK(false) << "a primitive without a name";
}

std::optional<Scalar> ParseScalar(absl::string_view text) { return ScalarReader(text).ReadAll(); }

}  // namespace cleave::ir
