#include "base/match/match.h"

#include <string>
#include <variant>

#include "gtest/gtest.h"

namespace cleave {
namespace {

using Number = std::variant<int, double>;

TEST(MatchTest, CallsTheCaseOfTheAlternative) {
  const auto name = [](const Number& number) {
    return Match(
        number, [](int) { return std::string("int"); }, [](double) { return std::string("double"); });
  };
  EXPECT_EQ(name(1), "int");
  EXPECT_EQ(name(1.5), "double");
}

TEST(MatchTest, CasesCanChangeTheVariant) {
  Number number = 3;
  Match(
      number, [](int& value) { value += 1; }, [](double& value) { value += 0.5; });
  EXPECT_EQ(std::get<int>(number), 4);
}

}  // namespace
}  // namespace cleave
