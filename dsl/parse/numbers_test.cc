#include "dsl/parse/numbers.h"

#include <gtest/gtest.h>

namespace cleave::dsl {
namespace {

TEST(NumbersTest, Integers) {
  EXPECT_EQ(IntegerValue("0"), 0);
  EXPECT_EQ(IntegerValue("007"), 7);
  EXPECT_EQ(IntegerValue("1_000_000"), 1'000'000);
  EXPECT_EQ(IntegerValue("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(IntegerValue("9223372036854775808"), std::nullopt);
  EXPECT_EQ(IntegerValue("99999999999999999999999"), std::nullopt);
}

TEST(NumbersTest, Floats) {
  EXPECT_EQ(FloatValue("0.1"), 0.1);
  EXPECT_EQ(FloatValue("1_0.2_5"), 10.25);
  EXPECT_EQ(FloatValue("1e-3"), 1e-3);
  EXPECT_EQ(FloatValue("1.7976931348623157e308"), 1.7976931348623157e308);
  EXPECT_EQ(FloatValue("1e-400"), 0.0);
  EXPECT_EQ(FloatValue("1e309"), std::nullopt);
}

TEST(NumbersTest, Sizes) {
  EXPECT_EQ(SizeValue("0B"), 0);
  EXPECT_EQ(SizeValue("3KiB"), 3072);
  EXPECT_EQ(SizeValue("3KB"), 3000);
  EXPECT_EQ(SizeValue("16MiB"), int64_t{16} << 20);
  EXPECT_EQ(SizeValue("40GiB"), int64_t{40} << 30);
  EXPECT_EQ(SizeValue("2TB"), 2'000'000'000'000);
  EXPECT_EQ(SizeValue("1.5KiB"), 1536);
  EXPECT_EQ(SizeValue("0.0001KB"), 0);
  EXPECT_EQ(SizeValue("8388607TiB"), int64_t{8388607} << 40);
  EXPECT_EQ(SizeValue("8388608TiB"), std::nullopt);
  EXPECT_EQ(SizeValue("8388608.5TiB"), std::nullopt);
}

TEST(NumbersTest, Times) {
  EXPECT_EQ(TimeValue("20ms"), 0.02);
  EXPECT_EQ(TimeValue("3us"), 3e-6);
  EXPECT_EQ(TimeValue("1_000ns"), 1e-6);
  EXPECT_EQ(TimeValue("1.5s"), 1.5);
  EXPECT_EQ(TimeValue("0s"), 0.0);
}

}  // namespace
}  // namespace cleave::dsl
