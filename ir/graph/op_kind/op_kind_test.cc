#include "ir/graph/op_kind/op_kind.h"

#include <sstream>

#include "gtest/gtest.h"

namespace cleave::ir {
namespace {

TEST(OpKindTest, EachNameIsParsedBack) {
  for (const OpKind kind : AllOpKinds()) EXPECT_EQ(ParseOpKind(OpKindName(kind)), kind);
}

TEST(OpKindTest, NamesAreThoseOfTheLanguage) {
  EXPECT_EQ(OpKindName(OpKind::kMatmul), "matmul");
  EXPECT_EQ(OpKindName(OpKind::kConv2dGradientInput), "conv2d_gradient_input");
  std::ostringstream out;
  out << OpKind::kTopK;
  EXPECT_EQ(out.str(), "top_k");
}

TEST(OpKindTest, OtherNamesAreNoKinds) {
  for (const char* name : {"", "relo", "Matmul", "matmul ", "a", "zzz"}) EXPECT_EQ(ParseOpKind(name), std::nullopt);
}

}  // namespace
}  // namespace cleave::ir
