#include "ir/graph/ops/limit.h"

#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"

namespace cleave::ir {
namespace {

OpId IntegerInput(GraphBuilder& builder, const std::string& name) {
  return builder.Add(
      OpKind::kInput, {},
      {{attribute::kDType, DType::kI32}, {attribute::kShape, std::vector<int64_t>{4}}, {attribute::kData, name}}, name);
}

OpId Table(GraphBuilder& builder, const std::string& name, int64_t rows) {
  return builder.Add(OpKind::kParameter, {}, {{attribute::kShape, std::vector<int64_t>{rows, 3}}}, name);
}

TEST(LimitTest, TheSmallestTableCountsAlsoBehindOpsThatMove) {
  GraphBuilder builder;
  const OpId unused = IntegerInput(builder, "unused");
  const OpId tokens = IntegerInput(builder, "tokens");
  builder.Add(OpKind::kEmbedding, {tokens, Table(builder, "large", 50)}, {}, "first");
  EXPECT_EQ(LimitOf(builder.graph(), tokens), 50);
  const OpId column =
      builder.Add(OpKind::kReshape, {tokens}, {{attribute::kShape, std::vector<int64_t>{4, 1}}}, "moved");
  builder.Add(OpKind::kEmbedding, {column, Table(builder, "small", 7)}, {}, "second");
  EXPECT_EQ(LimitOf(builder.graph(), tokens), 7);
  EXPECT_EQ(LimitOf(builder.graph(), unused), 0);
}

TEST(LimitTest, WhatIsChosenForSomeElementsIsOfTheInput) {
  GraphBuilder builder;
  const OpId tokens = IntegerInput(builder, "tokens");
  const OpId mask = builder.Add(OpKind::kParameter, {}, {{attribute::kShape, std::vector<int64_t>{4}}}, "mask");
  const OpId none =
      builder.Add(OpKind::kConstant, {}, {{attribute::kDType, DType::kI32}, {attribute::kValue, -1.0}}, "none");
  const OpId some = builder.Add(OpKind::kWhere, {mask, tokens, none}, {}, "some");
  builder.Add(OpKind::kEmbedding, {some, Table(builder, "table", 50)}, {}, "rows");
  EXPECT_EQ(LimitOf(builder.graph(), tokens), 50);
}

}  // namespace
}  // namespace cleave::ir
