#include "frontend/evaluate/statics/arithmetic.h"

#include <gtest/gtest.h>

#include "frontend/evaluate/frame/testing.h"

namespace cleave::frontend {
namespace {

// `expected`: the value as it would be written, or the mistake.
void CheckArithmetic(const std::string& expression, const std::string& expected) {
  TestBench bench(LetText(expression), {{"dp", 2}, {"tp", 2}});
  bench.Define("rank", *PerRank({Value{int64_t{0}}, Value{int64_t{1}}, Value{int64_t{2}}, Value{int64_t{3}}}));
  bench.DefineTensor("x", {ir::DType::kF32, {8, 6}});
  bench.Define("f32", Value{ir::DType::kF32});
  EXPECT_EQ(bench.TextOf(bench.context.Evaluate(bench.expression(), bench.frame)), expected) << expression;
}

TEST(ArithmeticTest, Ints) {
  CheckArithmetic("2 + 3 * 4", "14");
  CheckArithmetic("(2 + 3) * 4", "20");
  CheckArithmetic("1 - -2", "3");
  CheckArithmetic("7 / 2", "3");
  CheckArithmetic("-7 / 2", "-3");
  CheckArithmetic("7 % 4", "3");
  CheckArithmetic("-7 % 4", "-3");
  CheckArithmetic("2 ** 3 ** 2", "512");
  CheckArithmetic("-2 ** 2", "-4");
  CheckArithmetic("(-2) ** 63", "-9223372036854775808");
  CheckArithmetic("2 ** -2", "0.25");
  CheckArithmetic("0 ** 0", "1");
  CheckArithmetic("1 ** 1000000000000", "1");
  CheckArithmetic("2 ** 63", "E0208: the result does not fit in 64 bits");
  CheckArithmetic("0 ** -1", "E0208: the result is not a finite number");
  CheckArithmetic("2.0 ** 0.5 ** 1", "1.4142135623730951");
}

TEST(ArithmeticTest, FloatsAndIntsNextToThem) {
  CheckArithmetic("0.5 + 1", "1.5");
  CheckArithmetic("7 / 2.0", "3.5");
  CheckArithmetic("5.5 % 2", "1.5");
  CheckArithmetic("-0.5 * 3", "-1.5");
}

TEST(ArithmeticTest, Comparisons) {
  CheckArithmetic("3 == 3", "true");
  CheckArithmetic("3 != 3", "false");
  CheckArithmetic("2 < 3", "true");
  CheckArithmetic("3 <= 3", "true");
  CheckArithmetic("2 > 3", "false");
  CheckArithmetic("3 >= 4", "false");
  CheckArithmetic("1.5 < 2", "true");
  CheckArithmetic("2 == 2.0", "true");
  CheckArithmetic("\"a\" == \"a\"", "true");
  CheckArithmetic("\"a\" != \"b\"", "true");
  CheckArithmetic("(1, 2) == (1, 2)", "true");
  CheckArithmetic("true == false", "false");
}

TEST(ArithmeticTest, ResultsThatDoNotExist) {
  CheckArithmetic("1 / 0", "E0208: division by zero");
  CheckArithmetic("1 % 0", "E0208: division by zero");
  CheckArithmetic("1.0 / 0", "E0208: division by zero");
  CheckArithmetic("9223372036854775807 + 1", "E0208: the result does not fit in 64 bits");
  CheckArithmetic("-9223372036854775807 - 2", "E0208: the result does not fit in 64 bits");
  CheckArithmetic("9223372036854775807 * 2", "E0208: the result does not fit in 64 bits");
  CheckArithmetic("(-9223372036854775807 - 1) / -1", "E0208: the result does not fit in 64 bits");
  CheckArithmetic("1e308 * 10.0", "E0208: the result is not a finite number");
}

TEST(ArithmeticTest, ValuesThatAnOperatorDoesNotTake) {
  CheckArithmetic("\"a\" + \"b\"", "E0204: `+` does not take these values");
  CheckArithmetic("\"a\" < \"b\"", "E0204: `<` does not take these values");
  CheckArithmetic("true + 1", "E0204: `+` does not take these values");
  CheckArithmetic("(1, 2) == 1", "E0204: `==` does not take these values");
  CheckArithmetic("-true", "E0204: `-` takes a number or a tensor");
}

TEST(ArithmeticTest, RankByRank) {
  CheckArithmetic("rank + 1", "1 on rank 0, 2 on rank 1");
  CheckArithmetic("rank / 4", "0");
  CheckArithmetic("-rank", "0 on rank 0, -1 on rank 1");
  CheckArithmetic("rank == 3", "false on rank 0, true on rank 3");
  CheckArithmetic("6 / rank", "E0208: division by zero");
}

TEST(StaticFunctionTest, NumbersOnly) {
  const auto check = [](const std::string& name, const Value& value, const std::string& expected) {
    TestBench bench(LetText("1"), {{"world", 2}});
    const auto result = StaticFunction(name, {value}, Span(), bench.ops.graph(), bench.reporter);
    EXPECT_EQ(result ? bench.TextOf(*result) : "nothing", expected) << name;
  };
  check("sqrt", Value{int64_t{16}}, "4.0");
  check("exp", Value{0.0}, "1.0");
  check("log", Value{1.0}, "0.0");
  check("sqrt", Value{-1.0}, "E0208: `sqrt` has no finite result here");
  check("log", Value{int64_t{0}}, "E0208: `log` has no finite result here");
  check("sqrt", *PerRank({Value{1.0}, Value{4.0}}), "1.0 on rank 0, 2.0 on rank 1");
  check("tanh", Value{1.0}, "nothing");
  check("sqrt", Value{std::string("4")}, "nothing");
}

}  // namespace
}  // namespace cleave::frontend
