#include "codegen/roll/forms.h"

#include <map>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/testing/seed.h"

namespace cleave::codegen {
namespace {

using Kind = NumberForm::Kind;

TEST(NumberFormTest, IsTheShortestOne) {
  const auto kind = [](const std::map<int64_t, int64_t>& numbers) { return FormOf(numbers).kind; };
  EXPECT_EQ(FormOf({{0, 64}, {1, 192}, {2, 320}}).stride, 128);
  EXPECT_EQ(FormOf({{0, 64}, {1, 192}, {2, 320}}).base, 64);
  EXPECT_EQ(FormOf({{2, 100}, {3, 90}, {4, 80}}).base, 120);
  EXPECT_EQ(FormOf({{5, 7}}).stride, 0);
  EXPECT_EQ(FormOf({{0, 900}, {1, 64}, {2, 128}}).exceptions, (std::map<int64_t, int64_t>{{0, 900}}));
  EXPECT_EQ(kind({{0, 64}, {1, 192}, {2, 64}, {3, 192}}), Kind::kTurns);
  EXPECT_EQ(kind({{0, 7}, {2, 7}, {4, 7}}), Kind::kLine) << "other passes have none";
  EXPECT_EQ(kind({{0, 1}, {1, 7}, {2, 3}, {3, 50}, {4, 2}}), Kind::kTable);
}

// Whatever the numbers are, the form has them.
TEST(NumberFormTest, HasItsNumbers) {
  const uint64_t seed = ir::TestSeed();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937_64 random(seed);
  for (int n = 0; n < 2000; ++n) {
    const int64_t stride = static_cast<int64_t>(random() % 5) - 2;
    const uint64_t odd = random() % 4;  // One in so many is another number; 0: none.
    std::map<int64_t, int64_t> numbers;
    for (int64_t i = static_cast<int64_t>(random() % 3); i < 9; ++i) {
      if (random() % 8 == 0) continue;
      const bool is_odd = odd > 0 && random() % (odd * 2) == 0;
      numbers[i] = is_odd ? static_cast<int64_t>(random() % 100) : 10 + i * stride;
    }
    if (numbers.empty()) continue;
    const NumberForm form = FormOf(numbers);
    EXPECT_EQ(form.least, numbers.begin()->first);
    EXPECT_EQ(form.greatest, numbers.rbegin()->first);
    for (const auto& [i, number] : numbers) EXPECT_EQ(form.At(i), number) << "pass " << i;
  }
}

TEST(NameFormTest, NumbersOfPassesStandBetweenDots) {
  const auto form = FormOf({{0, {"embed.grad", 6, {}}}, {1, {"x.0.grad", 8, 0}}, {2, {"x.1.grad", 8, 1}}});
  ASSERT_TRUE(form.has_value());
  EXPECT_EQ(
      *form,
      (NameForm{
          .text = "x.#.grad", .shift = -1, .exceptions = {{0, "embed.grad"}}, .line = 8, .other_lines = {{0, 6}}}));
  EXPECT_EQ(form->NameAt(2), "x.1.grad");
  EXPECT_EQ(form->NameAt(0), "embed.grad");
  EXPECT_EQ(form->LineAt(0), 6);
  EXPECT_EQ(FormOf({{3, {"x.3.up.y.1.mul", 7, 3}}, {4, {"x.4.up.y.1.mul", 7, 4}}})->text, "x.#.up.y.1.mul");
  EXPECT_EQ(FormOf({{0, {"loss", 7, {}}}, {1, {"loss", 7, {}}}})->text, "loss");
  EXPECT_FALSE(FormOf({{0, {"a", 7, {}}}, {1, {"b", 7, {}}}}).has_value()) << "no pass tells the names";
  EXPECT_FALSE(
      FormOf({{0, {"x.0.a", 7, 0}}, {1, {"x.1.b", 7, 1}}, {2, {"x.2.c", 7, 2}}, {3, {"x.3.d", 7, 3}}}).has_value())
      << "too many exceptions";
}

TEST(SplitTest, PrefersABeginning) {
  EXPECT_EQ(Split("x.3.up.y.3.mul", 3), (SplitName{"x.", "up.y.3.mul"}));
  EXPECT_EQ(Split("x.3.up.y.3.mul", 3, "x.3.up.y."), (SplitName{"x.3.up.y.", "mul"}));
  EXPECT_EQ(Split("x.3.up", 2), std::nullopt);
}

}  // namespace
}  // namespace cleave::codegen
