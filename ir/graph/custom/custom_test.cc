#include "ir/graph/custom/custom.h"

#include "gtest/gtest.h"

namespace cleave::ir {
namespace {

CustomForm Mixed() {
  return {.name = "mixed",
          .arguments = {{"x"}, {"cap", 0.1}, {"count", int64_t{-3}}, {"deep", true}, {"scale", 2.0}, {"y"}, {"z"}},
          .rule = "n k, k, n -> n k",
          .whole = {"k"},
          .linear = {{"x", "y"}, {"z"}},
          .body = "custom/mixed.h"};
}

TEST(CustomFormTest, IsReadBackAsWritten) {
  for (const CustomForm& form : {Mixed(), CustomForm{.name = "f", .arguments = {{"x"}}, .body = "custom/f.h"}}) {
    Attributes attributes;
    form.Write(attributes);
    const absl::StatusOr<CustomForm> again = CustomForm::Read(attributes);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, form);
  }
}

TEST(CustomFormTest, InputsAreTheTensors) {
  EXPECT_EQ(Mixed().Tensors(), (std::vector<std::string>{"x", "y", "z"}));
  EXPECT_EQ(Mixed().LinearInputs(), (std::vector<std::vector<int>>{{0, 1}, {2}}));
}

TEST(CustomFormTest, NamesOfBackwardFunctions) {
  EXPECT_EQ(BackwardName(Mixed(), {DType::kF32, DType::kF32, DType::kI32}, 1), "mixed_backward_y");
  EXPECT_EQ(BackwardName(Mixed(), {DType::kI32, DType::kF32, DType::kI32}, 1), "mixed_backward");
}

TEST(CustomFormTest, MistakesInAttributesAreErrors) {
  Attributes attributes;
  EXPECT_FALSE(CustomForm::Read(attributes).ok());
  Mixed().Write(attributes);
  attributes.Set(attribute::kLinear, std::string("x, w"));
  EXPECT_EQ(CustomForm::Read(attributes).status().message(), "`linear` names `w`, which is no tensor of the op");
  Mixed().Write(attributes);
  attributes.Set(attribute::kArguments, std::string("x, cap = none"));
  EXPECT_FALSE(CustomForm::Read(attributes).ok());
}

}  // namespace
}  // namespace cleave::ir
