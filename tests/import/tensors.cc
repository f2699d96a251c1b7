#include "tests/import/tensors.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/npy/npy.h"

namespace cleave::tests {

ir::Tensor TensorOf(const tools::WeightSource& source, const std::string& name) {
  const tools::WeightTensor* const found = source.Find(name);
  EXPECT_NE(found, nullptr) << name;
  std::vector<float> values;
  EXPECT_FALSE(source.Read(*found, values).has_value());
  ir::Tensor tensor = ir::Zeros(ir::Shape(found->shape.begin(), found->shape.end()));
  tensor.values.assign(values.begin(), values.end());
  return tensor;
}

ir::Tensor ArrayOf(const std::string& npy_file) {
  const auto file = runtime::NpyFile::Open(npy_file);
  EXPECT_TRUE(file.ok()) << npy_file;
  const std::vector<int64_t>& shape = file.value().header().shape;
  ir::Tensor tensor = ir::Zeros(ir::Shape(shape.begin(), shape.end()));
  const auto read = [&](auto zero) {
    std::vector<decltype(zero)> values(tensor.values.size(), zero);
    EXPECT_FALSE(file.value().ReadRun(0, static_cast<int64_t>(values.size()), values.data()).has_value());
    tensor.values.assign(values.begin(), values.end());
  };
  if (file.value().is_float()) {
    read(float{0});
  } else {
    read(int32_t{0});
  }
  return tensor;
}

}  // namespace cleave::tests
