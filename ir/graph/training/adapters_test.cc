#include "ir/graph/training/adapters.h"

#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace cleave::ir {
namespace {

TEST(AdaptersTest, TextIsReadBack) {
  const std::vector<std::pair<AdapterForm, std::string>> forms = {
      {{.rank = 16, .alpha = 32}, "lora(rank = 16, alpha = 32.0)"},
      {{.rank = 8, .alpha = 0.1, .is_rank_stable = true}, "lora(rank = 8, alpha = 0.1, scale = rank_stable)"},
      {{.has_magnitude = true, .rank = 4, .alpha = 8, .dropout = 0.05}, "dora(rank = 4, alpha = 8.0, dropout = 0.05)"},
      {{.rank = 4, .alpha = 8, .also = "(\"*.norm1.*\", \"*.bias\")"},
       "lora(rank = 4, alpha = 8.0, also = (\"*.norm1.*\", \"*.bias\"))"}};
  for (const auto& [form, text] : forms) {
    EXPECT_EQ(AdapterText(form), text);
    EXPECT_EQ(ParseAdapter(text), form) << text;
  }
}

TEST(AdaptersTest, OtherTexts) {
  for (const char* text :
       {"", "lora", "lora()", "lora(rank = 0, alpha = 1)", "lora(rank = 4)", "lora(rank = 4, alpha = x)",
        "lora(rank = 4, alpha = 8.0, scale = rank)", "lora(rank = 4, alpha = 8.0) ", "lora(rank = 4, alpha = 8)",
        "lora(alpha = 8.0, rank = 4)", "qlora(rank = 4, alpha = 8.0)", "lora(rank = 4, alpha = nan)"}) {
    EXPECT_EQ(ParseAdapter(text), std::nullopt) << text;
  }
}

TEST(AdaptersTest, Factor) {
  EXPECT_EQ((AdapterForm{.rank = 16, .alpha = 32}).factor(), 2);
  EXPECT_EQ((AdapterForm{.rank = 16, .alpha = 32, .is_rank_stable = true}).factor(), 8);
}

}  // namespace
}  // namespace cleave::ir
