// MatMul by oneDNN's matmul primitive, through its C interface (its C++ headers take seconds to compile).
#include <dnnl.h>

#include <cinttypes>
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/math/math.h"

namespace cleave::runtime {
namespace {

void Check(dnnl_status_t status, const char* what) {
  if (status == dnnl_success) return;
  Die(ExitCode::kFailed, Format("oneDNN failed in %s: status %d", what, static_cast<int>(status)));
}

// A prepared product: the primitive and the memory objects whose pointers each call sets.
struct Prepared {
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
dnnl_memory_desc_t Describe(int64_t batch, int64_t rows, int64_t columns, bool transposed) {
  dnnl_memory_desc_t description;
  const dnnl_dims_t sizes = {batch, rows, columns};
  const dnnl_dims_t strides = {rows * columns, transposed ? 1 : columns, transposed ? rows : 1};
  // A single product is two-dimensional: oneDNN has faster kernels for it.
  const int first = batch == 1 ? 1 : 0;
  Check(dnnl_memory_desc_init_by_strides(&description, 3 - first, sizes + first, dnnl_f32, strides + first),
        "describing a matrix");
  return description;
}

class Products {
 public:
  Products() {
    Check(dnnl_engine_create(&engine_, dnnl_cpu, 0), "starting its engine");
    Check(dnnl_stream_create(&stream_, engine_, dnnl_stream_default_flags), "starting its stream");
  }

  Prepared& Get(const MatMulShape& shape, const MatMulEpilogue& epilogue) {
    // A step repeats the same products in the same order, so the next one is usually the one after the last.
    for (size_t i = 0; i < prepared_.size(); ++i) {
      last_ = last_ + 1 < prepared_.size() ? last_ + 1 : 0;
      if (prepared_[last_]->Fits(shape, epilogue)) return *prepared_[last_];
    }
    prepared_.push_back(Prepare(shape, epilogue));
    last_ = prepared_.size() - 1;
    return *prepared_.back();
  }

  void Execute(const Prepared& product) {
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, product.a},
                                         {DNNL_ARG_WEIGHTS, product.b},
                                         {DNNL_ARG_DST, product.c},
                                         {DNNL_ARG_BIAS, product.bias}};
    Check(dnnl_primitive_execute(product.primitive, stream_, product.has_bias ? 4 : 3, arguments), "a matrix product");
    Check(dnnl_stream_wait(stream_), "waiting for a matrix product");
  }

  dnnl_stream_t stream() const { return stream_; }

 private:
  std::unique_ptr<Prepared> Prepare(const MatMulShape& shape, const MatMulEpilogue& epilogue) {
    auto product = std::make_unique<Prepared>();
    product->shape = shape;
    product->has_bias = epilogue.bias != nullptr;
    product->relu = epilogue.relu;
    const dnnl_memory_desc_t a = Describe(shape.batch, shape.m, shape.k, shape.transpose_a);
    const dnnl_memory_desc_t b = Describe(shape.batch, shape.k, shape.n, shape.transpose_b);
    const dnnl_memory_desc_t c = Describe(shape.batch, shape.m, shape.n, false);
    dnnl_memory_desc_t bias;
    const dnnl_dims_t bias_sizes = {1, 1, shape.n};
    const dnnl_dims_t bias_strides = {shape.n, shape.n, 1};
    Check(dnnl_memory_desc_init_by_strides(&bias, c.ndims, bias_sizes + 3 - c.ndims, dnnl_f32,
                                           bias_strides + 3 - c.ndims),
          "describing a bias");

    dnnl_matmul_desc_t operation;
    Check(dnnl_matmul_desc_init(&operation, &a, &b, product->has_bias ? &bias : nullptr, &c), "describing a product");
    dnnl_primitive_attr_t attributes;
    Check(dnnl_primitive_attr_create(&attributes), "creating attributes");
    if (epilogue.relu) {
      dnnl_post_ops_t after;
      Check(dnnl_post_ops_create(&after), "creating an epilogue");
      Check(dnnl_post_ops_append_eltwise(after, 1, dnnl_eltwise_relu, 0, 0), "creating an epilogue");
      Check(dnnl_primitive_attr_set_post_ops(attributes, after), "setting an epilogue");
      dnnl_post_ops_destroy(after);
    }
    dnnl_primitive_desc_t description;
    Check(dnnl_primitive_desc_create(&description, &operation, attributes, engine_, nullptr), "choosing a kernel");
    Check(dnnl_primitive_create(&product->primitive, description), "preparing a product");
    dnnl_primitive_desc_destroy(description);
    dnnl_primitive_attr_destroy(attributes);

    Check(dnnl_memory_create(&product->a, &a, engine_, DNNL_MEMORY_NONE), "creating memory");
    Check(dnnl_memory_create(&product->b, &b, engine_, DNNL_MEMORY_NONE), "creating memory");
    Check(dnnl_memory_create(&product->c, &c, engine_, DNNL_MEMORY_NONE), "creating memory");
    if (product->has_bias)
      Check(dnnl_memory_create(&product->bias, &bias, engine_, DNNL_MEMORY_NONE), "creating memory");
    return product;
  }

  dnnl_engine_t engine_ = nullptr;
  dnnl_stream_t stream_ = nullptr;
  std::vector<std::unique_ptr<Prepared>> prepared_;
  size_t last_ = 0;
};

void SetPointer(dnnl_memory_t memory, const float* values, dnnl_stream_t stream) {
  Check(dnnl_memory_set_data_handle_v2(memory, const_cast<float*>(values), stream), "setting a pointer");
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
  // Never destroyed: oneDNN's own globals may be gone before ours.
  static Products& products = *new Products;
  const Prepared& product = products.Get(shape, epilogue);
  SetPointer(product.a, a, products.stream());
  SetPointer(product.b, b, products.stream());
  SetPointer(product.c, c, products.stream());
  if (product.has_bias) SetPointer(product.bias, epilogue.bias, products.stream());
  products.Execute(product);
}

}  // namespace cleave::runtime
