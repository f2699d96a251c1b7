// MatMul by oneDNN's matmul primitive.
#include <type_traits>
#include <vector>

#include "runtime/device/work.h"
#include "runtime/math/math.h"  // IWYU pragma: associated
#include "runtime/math/onednn/engine.h"
#include "runtime/math/onednn/few_rows.h"
#include "runtime/math/onednn/in_float.h"
#include "runtime/math/prepared_list.h"

namespace cleave::runtime {
namespace {

// All that the choice of a kernel depends on.
struct Product {
  MatMulShape shape;
  dnnl_data_type_t factors = dnnl_f32;
  dnnl_data_type_t result = dnnl_f32;
  bool has_bias = false;
  bool adds = false;  // To what the result holds.

  bool operator==(const Product& other) const {
    return shape == other.shape && factors == other.factors && result == other.result && has_bias == other.has_bias &&
           adds == other.adds;
  }
};

// The primitive and the memory objects whose pointers each call sets.
struct PreparedProduct {
  Product product;
  dnnl_primitive_t primitive = nullptr;  // Null where the processor has no kernel.
  dnnl_memory_t a = nullptr;
  dnnl_memory_t b = nullptr;
  dnnl_memory_t bias = nullptr;
  dnnl_memory_t c = nullptr;
};

// One batch of rows x columns matrices; transposed ones are stored columns x rows.
dnnl_memory_desc_t DescribeMatrix(dnnl_data_type_t type, int64_t batch, int64_t rows, int64_t columns,
                                  bool transposed) {
  dnnl_memory_desc_t description;
  const dnnl_dims_t sizes = {batch, rows, columns};
  const dnnl_dims_t strides = {rows * columns, transposed ? 1 : columns, transposed ? rows : 1};
  // A single product is two-dimensional: oneDNN has faster kernels for it.
  const int first = batch == 1 ? 1 : 0;
  Check(dnnl_memory_desc_init_by_strides(&description, 3 - first, sizes + first, type, strides + first),
        "describing a matrix");
  return description;
}

dnnl_memory_desc_t DescribeBias(dnnl_data_type_t type, int dimensions, int64_t columns) {
  dnnl_memory_desc_t description;
  const dnnl_dims_t sizes = {1, 1, columns};
  const dnnl_dims_t strides = {columns, columns, 1};
  const int first = 3 - dimensions;
  Check(dnnl_memory_desc_init_by_strides(&description, dimensions, sizes + first, type, strides + first),
        "describing a bias");
  return description;
}

// What is done with a product before it is stored: with `adds`, the old result is added to it.
dnnl_primitive_attr_t DescribeStoring(bool adds) {
  dnnl_primitive_attr_t attributes = nullptr;
  Check(dnnl_primitive_attr_create(&attributes), "describing a result");
  if (!adds) return attributes;
  dnnl_post_ops_t operations = nullptr;
  Check(dnnl_post_ops_create(&operations), "describing a result");
  Check(dnnl_post_ops_append_sum(operations, 1.0f), "describing a result");
  Check(dnnl_primitive_attr_set_post_ops(attributes, operations), "describing a result");
  dnnl_post_ops_destroy(operations);
  return attributes;
}

PreparedProduct Prepare(const Product& product) {
  const MatMulShape& shape = product.shape;
  PreparedProduct prepared;
  prepared.product = product;
  const dnnl_memory_desc_t a = DescribeMatrix(product.factors, shape.batch, shape.m, shape.k, shape.transpose_a);
  const dnnl_memory_desc_t b = DescribeMatrix(product.factors, shape.batch, shape.k, shape.n, shape.transpose_b);
  const dnnl_memory_desc_t c = DescribeMatrix(product.result, shape.batch, shape.m, shape.n, false);
  const dnnl_memory_desc_t bias = DescribeBias(product.result, c.ndims, shape.n);

  dnnl_matmul_desc_t operation;
  Check(dnnl_matmul_desc_init(&operation, &a, &b, product.has_bias ? &bias : nullptr, &c), "describing a product");
  const dnnl_primitive_attr_t storing = DescribeStoring(product.adds);
  const dnnl_primitive_desc_t description = ChooseKernel(&operation, nullptr, "choosing a kernel", storing);
  dnnl_primitive_attr_destroy(storing);
  if (description == nullptr) return prepared;
  Check(dnnl_primitive_create(&prepared.primitive, description), "preparing a product");
  dnnl_primitive_desc_destroy(description);

  prepared.a = MakeMemory(a);
  prepared.b = MakeMemory(b);
  prepared.c = MakeMemory(c);
  if (product.has_bias) prepared.bias = MakeMemory(bias);
  return prepared;
}

// With nothing to contract, the product is zeros.
template <typename T>
void FillWithoutProduct(const MatMulShape& shape, T* c, const T* bias) {
  for (int64_t row = 0; row < shape.batch * shape.m; ++row) {
    for (int64_t column = 0; column < shape.n; ++column) {
      c[row * shape.n + column] = bias == nullptr ? static_cast<T>(0.0f) : bias[column];
    }
  }
}

template <typename In, typename Out>
void Multiply(bool adds, const MatMulShape& shape, const In* a, const In* b, Out* c, const Out* bias);

// Computes a product of f32, for processors that have no other. REQUIRES: it adds only to f32.
template <typename In, typename Out>
void MultiplyInFloat(bool adds, const MatMulShape& shape, const In* a, const In* b, Out* c, const Out* bias) {
  const ReadAsFloat wide_a(a, shape.batch * shape.m * shape.k);
  const ReadAsFloat wide_b(b, shape.batch * shape.k * shape.n);
  const ReadAsFloat wide_bias(bias, bias == nullptr ? 0 : shape.n);
  WrittenAsFloat<Out> wide_c(c, shape.batch * shape.m * shape.n);
  Multiply(adds, shape, wide_a.values(), wide_b.values(), wide_c.values(), wide_bias.values());
}

template <typename In, typename Out>
void Multiply(bool adds, const MatMulShape& shape, const In* a, const In* b, Out* c, const Out* bias) {
  if (shape.batch == 0 || shape.m == 0 || shape.n == 0) return;
  if (shape.k == 0 && adds) return;
  if (shape.k == 0) return FillWithoutProduct(shape, c, bias);
  if constexpr (!std::is_same_v<In, Float16>) {
    if (HasFewRows(shape)) return MultiplyFewRows(adds, shape, a, b, c, bias);
  }
  const Product product = {shape, kDnnlType<In>, kDnnlType<Out>, bias != nullptr, adds};
  thread_local auto& all = *new PreparedList<PreparedProduct>;
  const PreparedProduct& prepared =
      all.Get([&](const PreparedProduct& known) { return known.product == product; }, [&] { return Prepare(product); });
  if constexpr (!std::is_same_v<In, float>) {
    if (prepared.primitive == nullptr) return MultiplyInFloat(adds, shape, a, b, c, bias);
  }
  SetPointer(prepared.a, a);
  SetPointer(prepared.b, b);
  SetPointer(prepared.c, c);
  std::vector<dnnl_exec_arg_t> arguments = {
      {DNNL_ARG_SRC, prepared.a}, {DNNL_ARG_WEIGHTS, prepared.b}, {DNNL_ARG_DST, prepared.c}};
  if (product.has_bias) {
    SetPointer(prepared.bias, bias);
    arguments.push_back({DNNL_ARG_BIAS, prepared.bias});
  }
  Execute(prepared.primitive, arguments, "a matrix product");
}

}  // namespace

template <typename In, typename Out>
void MatMul(const MatMulShape& shape, const In* a, const In* b, Out* c, const Out* bias) {
  CountFlops(FlopsOf(shape));
  Multiply(/*adds=*/false, shape, a, b, c, bias);
}

template <typename In>
void AccumulateMatMul(bool first, const MatMulShape& shape, const In* a, const In* b, float* c) {
  const float* const no_bias = nullptr;
  CountFlops(FlopsOf(shape));
  Multiply(!first, shape, a, b, c, no_bias);
}

#define CLEAVE_PRODUCTS(In, Out) template void MatMul(const MatMulShape&, const In*, const In*, Out*, const Out*);
CLEAVE_PRODUCTS(float, float)
CLEAVE_PRODUCTS(BFloat16, float)
CLEAVE_PRODUCTS(BFloat16, BFloat16)
CLEAVE_PRODUCTS(Float16, float)
CLEAVE_PRODUCTS(Float16, Float16)
#undef CLEAVE_PRODUCTS
template void AccumulateMatMul(bool, const MatMulShape&, const float*, const float*, float*);
template void AccumulateMatMul(bool, const MatMulShape&, const BFloat16*, const BFloat16*, float*);
template void AccumulateMatMul(bool, const MatMulShape&, const Float16*, const Float16*, float*);

}  // namespace cleave::runtime
