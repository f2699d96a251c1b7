#include "absl/status/status.h"

#include "absl/status/statusor.h"
#include "base/status/status_macros.h"
#include "gtest/gtest.h"

namespace cleave {
namespace {

absl::StatusOr<int> Half(int number) {
  if (number % 2 != 0) return absl::InvalidArgumentError("odd");
  return number / 2;
}

absl::StatusOr<int> Quarter(int number) {
  CLEAVE_ASSIGN_OR_RETURN(const int half, Half(number));
  CLEAVE_ASSIGN_OR_RETURN(const int quarter, Half(half));
  return quarter;
}

absl::Status CountCalls(absl::Status result, int& calls) {
  const auto call = [&] {
    ++calls;
    return result;
  };
  CLEAVE_RETURN_IF_ERROR(call());
  ++calls;
  return absl::OkStatus();
}

TEST(StatusMacrosTest, AssignOrReturnPassesValuesAndErrors) {
  EXPECT_EQ(*Quarter(12), 3);
  EXPECT_EQ(Quarter(3).status(), absl::InvalidArgumentError("odd"));
  EXPECT_EQ(Quarter(6).status(), absl::InvalidArgumentError("odd"));
}

TEST(StatusMacrosTest, ReturnIfErrorEvaluatesOnceAndStopsAtAnError) {
  int calls = 0;
  EXPECT_TRUE(CountCalls(absl::OkStatus(), calls).ok());
  EXPECT_EQ(calls, 2);
  calls = 0;
  EXPECT_EQ(CountCalls(absl::NotFoundError("gone"), calls), absl::NotFoundError("gone"));
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace cleave
