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

// A single product is two-dimensional: oneDNN has faster kernels for it.
int FirstDimension(const MatMulShape& shape) { return shape.batch == 1 ? 1 : 0; }

// One batch of rows x columns matrices; transposed ones are stored columns x rows.
OwnedLayout LayoutOfMatrices(dnnl_data_type_t type, int first, int64_t batch, int64_t rows, int64_t columns,
                             bool transposed) {
  const dnnl_dims_t sizes = {batch, rows, columns};
  const dnnl_dims_t strides = {rows * columns, transposed ? 1 : columns, transposed ? rows : 1};
  return MakeLayout("describing a matrix", kLayoutByStrides, 3 - first, sizes + first, type, strides + first);
}

OwnedLayout LayoutOfBias(dnnl_data_type_t type, int first, int64_t columns) {
  const dnnl_dims_t sizes = {1, 1, columns};
  const dnnl_dims_t strides = {columns, columns, 1};
  return MakeLayout("describing a bias", kLayoutByStrides, 3 - first, sizes + first, type, strides + first);
}

// What is done with a product before it is stored: with `adds`, the old result is added to it.
Attributes DescribeStoring(bool adds) {
  dnnl_primitive_attr_t created = nullptr;
  Check(dnnl_primitive_attr_create(&created), "describing a result");
  Attributes attributes(created);
  if (!adds) return attributes;
  dnnl_post_ops_t started = nullptr;
  Check(dnnl_post_ops_create(&started), "describing a result");
  const PostOps operations(started);
  // The old result has the type of the new.
  Check(kAppendSum(operations.get(), 1.0f, 0, dnnl_data_type_undef), "describing a result");
  Check(dnnl_primitive_attr_set_post_ops(attributes.get(), operations.get()), "describing a result");
  return attributes;
}

PreparedProduct Prepare(const Product& product) {
  const MatMulShape& shape = product.shape;
  PreparedProduct prepared;
  prepared.product = product;
  const int first = FirstDimension(shape);
  const OwnedLayout a = LayoutOfMatrices(product.factors, first, shape.batch, shape.m, shape.k, shape.transpose_a);
  const OwnedLayout b = LayoutOfMatrices(product.factors, first, shape.batch, shape.k, shape.n, shape.transpose_b);
  const OwnedLayout c = LayoutOfMatrices(product.result, first, shape.batch, shape.m, shape.n, false);
  const OwnedLayout bias = product.has_bias ? LayoutOfBias(product.result, first, shape.n) : nullptr;
  const Attributes storing = DescribeStoring(product.adds);
  const Kernel kernel = ChooseKernel("choosing a product", [&](dnnl_primitive_desc_t* chosen, dnnl_engine_t engine) {
    return ChooseProduct(chosen, engine, a.get(), b.get(), bias.get(), c.get(), storing.get());
  });
  if (kernel == nullptr) return prepared;
  prepared.primitive = MakePrimitive(kernel, "preparing a product");
  prepared.a = MakeMemory(a.get());
  prepared.b = MakeMemory(b.get());
  prepared.c = MakeMemory(c.get());
  if (product.has_bias) prepared.bias = MakeMemory(bias.get());
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
