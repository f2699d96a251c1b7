#include "tools/import/generation.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cleave::tools {
namespace {

constexpr char kTokenizer[] =
    R"({"added_tokens": [{"id": 7, "content": "<|end|>"}, {"id": "x"}], "model": {"vocab": {"a": 0, "b": 1}}})";

Generation Read(const std::string& text, const std::string& tokenizer = kTokenizer) {
  std::vector<OriginFile> files = {{"config.json", "{}"}, {"generation_config.json", text}};
  if (!tokenizer.empty()) files.push_back({"tokenizer.json", tokenizer});
  Diagnostics diagnostics;
  const std::optional<Generation> generation = ReadGeneration(files, diagnostics);
  EXPECT_EQ(generation.has_value(), !diagnostics.has_errors());
  EXPECT_TRUE(generation.has_value()) << text;
  return generation.value_or(Generation());
}

std::string Mistake(const std::string& text, const std::string& tokenizer = kTokenizer) {
  Diagnostics diagnostics;
  const auto generation =
      ReadGeneration({{"generation_config.json", text}, {"tokenizer.json", tokenizer}}, diagnostics);
  EXPECT_FALSE(generation.has_value()) << text;
  return diagnostics.items().empty() ? "" : diagnostics.items()[0].message;
}

TEST(GenerationTest, SamplesAsTransformersDoes) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(Read(R"({"do_sample": true, "temperature": 0.6, "top_p": 0.9})").flags,
            (Words{"--temperature", "0.6", "--top-k", "50", "--top-p", "0.9"}));
  EXPECT_EQ(Read(R"({"do_sample": true, "temperature": 1.0, "top_k": 0, "top_p": 1})").flags, Words());
  EXPECT_EQ(Read(R"({"do_sample": true, "top_k": 20, "temperature": null})").flags, (Words{"--top-k", "20"}));
  // Without sampling the rest has no effect.
  EXPECT_EQ(Read(R"({"temperature": 0.6, "top_p": 0.9})").flags, (Words{"--temperature", "0"}));
  EXPECT_EQ(Read(R"({"do_sample": false})").flags, (Words{"--temperature", "0"}));
  Diagnostics diagnostics;
  const auto without = ReadGeneration({{"config.json", "{}"}}, diagnostics);
  ASSERT_TRUE(without.has_value());
  EXPECT_EQ(without->flags, Words());
}

TEST(GenerationTest, EndsHaveTheirNames) {
  const auto ends = [](const std::string& text, const std::string& tokenizer) {
    std::vector<std::string> flags =
        Read(R"({"do_sample": true, "top_k": 0, "eos_token_id": )" + text + "}", tokenizer).flags;
    return flags;
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(ends("7", kTokenizer), (Words{"--end", "<|end|>"}));
  EXPECT_EQ(ends("[1, 7, 1]", kTokenizer), (Words{"--end", "b", "--end", "<|end|>"}));
  EXPECT_EQ(ends("[1, 7]", ""), (Words{"--end", "1", "--end", "7"}));
  EXPECT_EQ(ends("null", kTokenizer), Words());
  const Generation unknown = Read(R"({"eos_token_id": 5})");
  EXPECT_EQ(unknown.flags, (Words{"--temperature", "0"}));
  EXPECT_THAT(unknown.not_done, testing::ElementsAre("`eos_token_id` 5, which is no token of tokenizer.json"));
}

TEST(GenerationTest, NamesWhatProgramsDoNot) {
  EXPECT_THAT(
      Read(R"({"repetition_penalty": 1.1, "num_beams": 1, "typical_p": 1.0, "max_length": 20, "early_stopping": false,
                       "suppress_tokens": [1, 2], "min_p": null, "bos_token_id": 0, "transformers_version": "5"})")
          .not_done,
      testing::ElementsAre("`repetition_penalty` 1.1", "`suppress_tokens`"));
}

TEST(GenerationTest, Mistakes) {
  EXPECT_EQ(Mistake("["), "`generation_config.json` is not valid JSON at line 1, column 2");
  EXPECT_EQ(Mistake("[]"), "`generation_config.json` is not an object of JSON");
  EXPECT_EQ(Mistake(R"({"temperature": "hot"})"),
            "`generation_config.json` has a `temperature` that is not a number from 0 to 1e+06");
  EXPECT_EQ(Mistake(R"({"temperature": -1})"),
            "`generation_config.json` has a `temperature` that is not a number from 0 to 1e+06");
  EXPECT_EQ(Mistake(R"({"top_k": 1.5})"), "`generation_config.json` has a `top_k` that is not a whole number");
  EXPECT_EQ(Mistake(R"({"do_sample": 1})"), "`generation_config.json` has a `do_sample` that is not `true` or `false`");
  EXPECT_EQ(Mistake(R"({"eos_token_id": [1, "x"]})"),
            "`generation_config.json` has a `eos_token_id` that is not the number of a token, or at most 64 of them");
  EXPECT_EQ(Mistake(R"({"eos_token_id": -1})"),
            "`generation_config.json` has a `eos_token_id` that is not the number of a token, or at most 64 of them");
  EXPECT_EQ(Mistake(R"({"eos_token_id": 1})", "{"), "`tokenizer.json` is not valid JSON at line 1, column 2");
}

}  // namespace
}  // namespace cleave::tools
