#include "base/units/units.h"

#include "gtest/gtest.h"

namespace cleave {
namespace {

TEST(UnitsTest, FormatsBytesWithBinaryPrefixes) {
  EXPECT_EQ(FormatBytes(Bytes(0)), "0 B");
  EXPECT_EQ(FormatBytes(Bytes(1023)), "1023 B");
  EXPECT_EQ(FormatBytes(Bytes(4096)), "4.0 KiB");
  EXPECT_EQ(FormatBytes(Bytes(1048575)), "1.0 MiB");
  EXPECT_EQ(FormatBytes(Bytes(int64_t{40} << 30)), "40.0 GiB");
}

TEST(UnitsTest, FormatsSeconds) {
  EXPECT_EQ(FormatSeconds(Seconds(8.5e-7)), "850 ns");
  EXPECT_EQ(FormatSeconds(Seconds(2.5e-5)), "25.0 us");
  EXPECT_EQ(FormatSeconds(Seconds(0.00321)), "3.21 ms");
  EXPECT_EQ(FormatSeconds(Seconds(1.5)), "1.50 s");
}

TEST(UnitsTest, AddsAndScales) {
  Bytes total = Bytes(4) * 3 + Bytes(1);
  total += Bytes(2);
  EXPECT_EQ(total, Bytes(15));
  EXPECT_LT(Bytes(1), Bytes(2));
}

}  // namespace
}  // namespace cleave
