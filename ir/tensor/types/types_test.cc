#include "ir/tensor/types/types.h"

#include <random>

#include "gtest/gtest.h"
#include "ir/tensor/types/tensor.h"

namespace cleave::ir {
namespace {

TEST(TypesTest, Text) {
  EXPECT_EQ((TensorType{DType::kF32, {256, 784}}).ToString(), "f32[256, 784]");
  EXPECT_EQ((TensorType{DType::kI32, {}}).ToString(), "i32[]");
  EXPECT_EQ(ShapeText({256, 784}), "256x784");
  EXPECT_EQ(ShapeText({}), "scalar");
}

TEST(TypesTest, NamesReadBack) {
  for (DType dtype : {DType::kF32, DType::kBf16, DType::kF16, DType::kI32})
    EXPECT_EQ(ParseDType(DTypeName(dtype)), dtype);
  for (Reduction reduction : {Reduction::kSum, Reduction::kMax, Reduction::kMin, Reduction::kProd}) {
    EXPECT_EQ(ParseReduction(ReductionName(reduction)), reduction);
  }
  EXPECT_EQ(ParseDType("f64"), std::nullopt);
  EXPECT_EQ(ParseReduction("mean"), std::nullopt);
}

TEST(TypesTest, Counts) {
  EXPECT_EQ(ElementCount({}), 1);
  EXPECT_EQ(ElementCount({3, 0, 2}), 0);
  EXPECT_EQ((TensorType{DType::kF32, {2, 3}}).bytes(), Bytes(24));
}

TEST(TensorTest, BoxAndPaste) {
  Tensor tensor{.shape = {2, 3}, .values = {0, 1, 2, 3, 4, 5}};
  EXPECT_EQ(Box(tensor, {0, 1}, {2, 2}), (Tensor{.shape = {2, 2}, .values = {1, 2, 4, 5}}));
  EXPECT_EQ(Box(tensor, {1, 3}, {1, 0}), (Tensor{.shape = {1, 0}, .values = {}}));
  PasteBox(Tensor{.shape = {1, 2}, .values = {7, 8}}, {1, 0}, tensor);
  EXPECT_EQ(tensor.values, (std::vector<double>{0, 1, 2, 7, 8, 5}));
  const Tensor scalar{.shape = {}, .values = {3}};
  EXPECT_EQ(Box(scalar, {}, {}), scalar);
}

// Cutting a tensor into boxes along every dimension and pasting them gives the tensor.
TEST(TensorTest, BoxesTile) {
  const uint64_t seed = 20;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int trial = 0; trial < 50; ++trial) {
    Shape shape(random() % 4);
    for (int64_t& size : shape) size = 1 + static_cast<int64_t>(random() % 4);
    Tensor tensor = Zeros(shape);
    for (double& value : tensor.values) value = static_cast<double>(random() % 1000);
    Tensor pasted = Zeros(shape);
    const size_t corners = size_t{1} << shape.size();
    for (size_t corner = 0; corner < corners; ++corner) {
      Shape begin(shape.size()), size(shape.size());
      for (size_t d = 0; d < shape.size(); ++d) {
        const int64_t middle = shape[d] / 2;
        begin[d] = (corner >> d & 1) != 0 ? middle : 0;
        size[d] = (corner >> d & 1) != 0 ? shape[d] - middle : middle;
      }
      PasteBox(Box(tensor, begin, size), begin, pasted);
    }
    EXPECT_EQ(pasted, tensor);
  }
}

TEST(TensorTest, Strides) {
  EXPECT_EQ(Strides({2, 3, 4}), (std::vector<int64_t>{12, 4, 1}));
  EXPECT_EQ(Strides({}), std::vector<int64_t>{});
}

}  // namespace
}  // namespace cleave::ir
