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
  EXPECT_EQ(LimitOf(builder.graph(), tokens), (IntegerLimit{.limit = 50}));
  const OpId column =
      builder.Add(OpKind::kReshape, {tokens}, {{attribute::kShape, std::vector<int64_t>{4, 1}}}, "moved");
  builder.Add(OpKind::kEmbedding, {column, Table(builder, "small", 7)}, {}, "second");
  EXPECT_EQ(LimitOf(builder.graph(), tokens), (IntegerLimit{.limit = 7}));
  EXPECT_EQ(LimitOf(builder.graph(), unused), (IntegerLimit{.limit = 0}));
}

TEST(LimitTest, WhatIsChosenForSomeElementsIsOfTheInput) {
  GraphBuilder builder;
  const OpId tokens = IntegerInput(builder, "tokens");
  const OpId mask = builder.Add(OpKind::kParameter, {}, {{attribute::kShape, std::vector<int64_t>{4}}}, "mask");
  const OpId none =
      builder.Add(OpKind::kConstant, {}, {{attribute::kDType, DType::kI32}, {attribute::kValue, -1.0}}, "none");
  const OpId some = builder.Add(OpKind::kWhere, {mask, tokens, none}, {}, "some");
  builder.Add(OpKind::kEmbedding, {some, Table(builder, "table", 50)}, {}, "rows");
  EXPECT_EQ(LimitOf(builder.graph(), tokens), (IntegerLimit{.limit = 50}));
}

// -100 may stand where no use reads it.
TEST(LimitTest, WhatAllUsesLeaveOutMayBeAny) {
  GraphBuilder builder;
  const auto constant = [&](double value) {
    return builder.Add(OpKind::kConstant, {}, {{attribute::kDType, DType::kI32}, {attribute::kValue, value}}, "number");
  };
  const OpId tokens = IntegerInput(builder, "tokens");
  const OpId is_real = builder.Add(OpKind::kNotEqual, {tokens, constant(-100)}, {}, "is_real");
  const OpId real = builder.Add(OpKind::kWhere, {is_real, tokens, constant(-1)}, {}, "real");
  builder.Add(OpKind::kEmbedding, {real, Table(builder, "table", 50)}, {}, "rows");
  builder.SetPhase(Phase::kMetric);
  builder.Add(OpKind::kEmbedding, {tokens, Table(builder, "metric", 50)}, {}, "seen");
  EXPECT_EQ(LimitOf(builder.graph(), tokens), (IntegerLimit{.limit = 50, .besides = -100}));
  builder.SetPhase(Phase::kForward);
  builder.Add(OpKind::kEmbedding, {tokens, Table(builder, "large", 60)}, {}, "others");
  EXPECT_EQ(LimitOf(builder.graph(), tokens), (IntegerLimit{.limit = 50}));
}

}  // namespace
}  // namespace cleave::ir
