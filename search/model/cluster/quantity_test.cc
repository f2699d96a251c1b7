#include "search/model/cluster/quantity.h"

#include "gtest/gtest.h"

namespace cleave::search {
namespace {

TEST(ParseQuantityTest, ReadsNumberAndUnit) {
  EXPECT_EQ(*ParseQuantity(QuantityKind::kBytesPerSecond, "450GB/s"), 450e9);
  EXPECT_EQ(*ParseQuantity(QuantityKind::kBytesPerSecond, "1.5 GiB/s"), 1.5 * 1024 * 1024 * 1024);
  EXPECT_EQ(*ParseQuantity(QuantityKind::kBytes, "80GiB"), 80.0 * 1024 * 1024 * 1024);
  EXPECT_EQ(*ParseQuantity(QuantityKind::kBytes, "12B"), 12);
  EXPECT_DOUBLE_EQ(*ParseQuantity(QuantityKind::kSeconds, "5us"), 5e-6);
  EXPECT_DOUBLE_EQ(*ParseQuantity(QuantityKind::kSeconds, "1e-3s"), 1e-3);
  EXPECT_EQ(*ParseQuantity(QuantityKind::kSeconds, "0s"), 0);
  EXPECT_EQ(*ParseQuantity(QuantityKind::kFlops, "16GFLOP"), 16e9);
  EXPECT_EQ(*ParseQuantity(QuantityKind::kFlopsPerSecond, "312TFLOP/s"), 312e12);
}

TEST(ParseQuantityTest, SaysWhatIsWrong) {
  const auto message = [](absl::string_view text) {
    const absl::StatusOr<double> value = ParseQuantity(QuantityKind::kBytesPerSecond, text);
    return value.ok() ? std::string("accepted") : std::string(value.status().message());
  };
  EXPECT_EQ(message("450"), "\"450\" has no unit; expected one like \"450GB/s\"");
  EXPECT_EQ(message("450GB"), "\"450GB\" has an unknown unit; expected one like \"450GB/s\"");
  EXPECT_EQ(message("450gb/s"), "\"450gb/s\" has an unknown unit; expected one like \"450GB/s\"");
  EXPECT_EQ(message("100Gb/s"), "\"100Gb/s\" has an unknown unit; expected one like \"450GB/s\"");
  EXPECT_EQ(message("-1GB/s"), "\"-1GB/s\" is negative; expected one like \"450GB/s\"");
  EXPECT_EQ(message("nan GB/s"), "\"nan GB/s\" is not a finite number; expected one like \"450GB/s\"");
  EXPECT_EQ(message("inf GB/s"), "\"inf GB/s\" is not a finite number; expected one like \"450GB/s\"");
  EXPECT_EQ(message("GB/s"), "\"GB/s\" is not a number with a unit; expected one like \"450GB/s\"");
  EXPECT_EQ(message(""), "\"\" is not a number with a unit; expected one like \"450GB/s\"");
  EXPECT_EQ(message(std::string(5000, '1') + "GB/s"),
            "\"" + std::string(40, '1') + "\" is not a number with a unit; expected one like \"450GB/s\"");
}

TEST(FormatQuantityTest, ReadsBackToSixDigits) {
  EXPECT_EQ(FormatQuantity(QuantityKind::kBytesPerSecond, 450e9), "450GB/s");
  EXPECT_EQ(FormatQuantity(QuantityKind::kSeconds, 5e-6), "5us");
  EXPECT_EQ(FormatQuantity(QuantityKind::kSeconds, 0), "0ns");
  EXPECT_EQ(FormatQuantity(QuantityKind::kFlopsPerSecond, 312e12), "312TFLOP/s");
  for (double value : {1.0, 999.0, 1000.0, 123456.0, 7.25e9, 4.2e17}) {
    EXPECT_NEAR(*ParseQuantity(QuantityKind::kBytes, FormatQuantity(QuantityKind::kBytes, value)), value, 1e-5 * value);
  }
}

}  // namespace
}  // namespace cleave::search
