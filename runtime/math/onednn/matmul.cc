// MatMul by oneDNN's matmul primitive.
#include <vector>

#include "runtime/math/math.h"
#include "runtime/math/onednn/engine.h"

namespace cleave::runtime {
namespace {

// A prepared product: the primitive and the memory objects whose pointers each call sets.
struct PreparedProduct {
  MatMulShape shape;
  bool has_bias = false;
  bool relu = false;
  dnnl_primitive_t primitive = nullptr;
  dnnl_memory_t a = nullptr;
  dnnl_memory_t b = nullptr;
  dnnl_memory_t bias = nullptr;
  dnnl_memory_t c = nullptr;

  bool Fits(const MatMulShape& other, const MatMulEpilogue& epilogue) const {
    return shape.batch == other.batch && shape.m == other.m && shape.n == other.n && shape.k == other.k &&
           shape.transpose_a == other.transpose_a && shape.transpose_b == other.transpose_b &&
           has_bias == (epilogue.bias != nullptr) && relu == epilogue.relu;
  }
};

// One batch of rows x columns matrices; transposed ones are stored columns x rows.
dnnl_memory_desc_t DescribeMatrix(int64_t batch, int64_t rows, int64_t columns, bool transposed) {
  dnnl_memory_desc_t description;
  const dnnl_dims_t sizes = {batch, rows, columns};
  const dnnl_dims_t strides = {rows * columns, transposed ? 1 : columns, transposed ? rows : 1};
  // A single product is two-dimensional: oneDNN has faster kernels for it.
  const int first = batch == 1 ? 1 : 0;
  Check(dnnl_memory_desc_init_by_strides(&description, 3 - first, sizes + first, dnnl_f32, strides + first),
        "describing a matrix");
  return description;
}

dnnl_memory_desc_t DescribeBias(int dimensions, int64_t columns) {
  dnnl_memory_desc_t description;
  const dnnl_dims_t sizes = {1, 1, columns};
  const dnnl_dims_t strides = {columns, columns, 1};
  const int first = 3 - dimensions;
  Check(dnnl_memory_desc_init_by_strides(&description, dimensions, sizes + first, dnnl_f32, strides + first),
        "describing a bias");
  return description;
}

dnnl_primitive_attr_t EpilogueAttributes(bool relu) {
  dnnl_primitive_attr_t attributes;
  Check(dnnl_primitive_attr_create(&attributes), "creating attributes");
  if (!relu) return attributes;
  dnnl_post_ops_t after;
  Check(dnnl_post_ops_create(&after), "creating an epilogue");
  Check(dnnl_post_ops_append_eltwise(after, 1, dnnl_eltwise_relu, 0, 0), "creating an epilogue");
  Check(dnnl_primitive_attr_set_post_ops(attributes, after), "setting an epilogue");
  dnnl_post_ops_destroy(after);
  return attributes;
}

PreparedProduct PrepareProduct(const MatMulShape& shape, const MatMulEpilogue& epilogue) {
  PreparedProduct product;
  product.shape = shape;
  product.has_bias = epilogue.bias != nullptr;
  product.relu = epilogue.relu;
  const dnnl_memory_desc_t a = DescribeMatrix(shape.batch, shape.m, shape.k, shape.transpose_a);
  const dnnl_memory_desc_t b = DescribeMatrix(shape.batch, shape.k, shape.n, shape.transpose_b);
  const dnnl_memory_desc_t c = DescribeMatrix(shape.batch, shape.m, shape.n, false);
  const dnnl_memory_desc_t bias = DescribeBias(c.ndims, shape.n);

  dnnl_matmul_desc_t operation;
  Check(dnnl_matmul_desc_init(&operation, &a, &b, product.has_bias ? &bias : nullptr, &c), "describing a product");
  const dnnl_primitive_attr_t attributes = EpilogueAttributes(epilogue.relu);
  dnnl_primitive_desc_t description;
  Check(dnnl_primitive_desc_create(&description, &operation, attributes, TheEngine().engine, nullptr),
        "choosing a kernel");
  Check(dnnl_primitive_create(&product.primitive, description), "preparing a product");
  dnnl_primitive_desc_destroy(description);
  dnnl_primitive_attr_destroy(attributes);

  product.a = MakeMemory(a);
  product.b = MakeMemory(b);
  product.c = MakeMemory(c);
  if (product.has_bias) product.bias = MakeMemory(bias);
  return product;
}

// With nothing to contract, the product is the epilogue of zeros.
void FillWithoutProduct(const MatMulShape& shape, float* c, const MatMulEpilogue& epilogue) {
  for (int64_t row = 0; row < shape.batch * shape.m; ++row) {
    for (int64_t column = 0; column < shape.n; ++column) {
      const float value = epilogue.bias == nullptr ? 0.0f : epilogue.bias[column];
      c[row * shape.n + column] = epilogue.relu && value < 0 ? 0.0f : value;
    }
  }
}

}  // namespace

void MatMul(const MatMulShape& shape, const float* a, const float* b, float* c, const MatMulEpilogue& epilogue) {
  if (shape.batch == 0 || shape.m == 0 || shape.n == 0) return;
  if (shape.k == 0) return FillWithoutProduct(shape, c, epilogue);
  static auto& products = *new PreparedList<PreparedProduct>;
  const PreparedProduct& product =
      products.Get([&](const PreparedProduct& known) { return known.Fits(shape, epilogue); },
                   [&] { return PrepareProduct(shape, epilogue); });
  SetPointer(product.a, a);
  SetPointer(product.b, b);
  SetPointer(product.c, c);
  std::vector<dnnl_exec_arg_t> arguments = {
      {DNNL_ARG_SRC, product.a}, {DNNL_ARG_WEIGHTS, product.b}, {DNNL_ARG_DST, product.c}};
  if (product.has_bias) {
    SetPointer(product.bias, epilogue.bias);
    arguments.push_back({DNNL_ARG_BIAS, product.bias});
  }
  Execute(product.primitive, arguments, "a matrix product");
}

}  // namespace cleave::runtime
