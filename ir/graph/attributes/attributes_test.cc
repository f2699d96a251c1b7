#include "ir/graph/attributes/attributes.h"

#include "gtest/gtest.h"
#include "ir/graph/attributes/keys.h"

namespace cleave::ir {
namespace {

TEST(AttributesTest, EachTypeIsReadAsItWasWritten) {
  const Attributes attributes = {{attribute::kAxis, 2},
                                 {attribute::kKeepDims, true},
                                 {attribute::kEpsilon, 0.5},
                                 {attribute::kData, "image"},
                                 {attribute::kShape, {2, 3}},
                                 {attribute::kValues, {0.5, 1}},
                                 {attribute::kDType, DType::kBf16}};
  EXPECT_EQ(attributes.Get(attribute::kAxis), 2);
  EXPECT_TRUE(attributes.Get(attribute::kKeepDims));
  EXPECT_EQ(attributes.Get(attribute::kEpsilon), 0.5);
  EXPECT_EQ(attributes.Get(attribute::kData), "image");
  EXPECT_EQ(attributes.Get(attribute::kShape), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(attributes.Get(attribute::kValues), (std::vector<double>{0.5, 1}));
  EXPECT_EQ(attributes.Get(attribute::kDType), DType::kBf16);
  EXPECT_FALSE(attributes.Has(attribute::kAxes));
}

TEST(AttributesTest, AFlagThatIsAbsentIsNotSet) {
  EXPECT_FALSE(Attributes().IsSet(attribute::kLocal));
  EXPECT_FALSE(Attributes({{attribute::kLocal, false}}).IsSet(attribute::kLocal));
  EXPECT_TRUE(Attributes({{attribute::kLocal, true}}).IsSet(attribute::kLocal));
}

TEST(AttributesTest, OnlySomeKeys) {
  const Attributes attributes = {{attribute::kAxis, 2}, {attribute::kKeepDims, true}};
  EXPECT_EQ(attributes.Only(attribute::kAxis), Attributes({{attribute::kAxis, 2}}));
}

TEST(AttributesTest, WhatIsNotThereIsABug) {
  Attributes attributes;
  EXPECT_DEATH(attributes.Get(attribute::kAxis), "no attribute axis");
  attributes.SetNamed("axis", 0.5);
  EXPECT_DEATH(attributes.Get(attribute::kAxis), "attribute axis has another type");
}

}  // namespace
}  // namespace cleave::ir
