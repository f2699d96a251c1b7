#include "ir/graph/ops/parameter_file.h"

#include "gtest/gtest.h"

namespace cleave::ir {
namespace {

TEST(ParameterFileTest, NameStandsForTheNameOfTheParameter) {
  Attributes attributes;
  attributes.Set(attribute::kFile, "weights/{name}.npy");
  EXPECT_EQ(ParameterFileOf("x.0.qkv.weight", attributes), "weights/x.0.qkv.weight.npy");
  attributes.Set(attribute::kFile, "{name}/{name}.npy");
  EXPECT_EQ(ParameterFileOf("w", attributes), "w/w.npy");
  attributes.Set(attribute::kFile, "{names}.npy");
  EXPECT_EQ(ParameterFileOf("w", attributes), "{names}.npy");
  attributes.Set(attribute::kFile, "");
  EXPECT_EQ(ParameterFileOf("w", attributes), "");
}

}  // namespace
}  // namespace cleave::ir
