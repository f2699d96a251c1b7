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

}  // namespace
}  // namespace cleave::ir
