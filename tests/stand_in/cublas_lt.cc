// cublasLtMatmul in plain loops: both factors are reordered as floats, multiplied column by column of the result, and
// stored through the epilogue.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <vector>

#include "cublasLt.h"
#include "low_precision.h"
#include "memory.h"
#include "schedule.h"

struct StandInCublasLt {};

struct StandInMatrixLayout {
  cudaDataType_t type;
  int64_t rows;
  int64_t columns;
  int64_t leading_dimension;
  int32_t order = CUBLASLT_ORDER_COL;
  int32_t batch = 1;
  int64_t batch_stride = 0;

  bool IsValid() const {
    const int64_t run = order == CUBLASLT_ORDER_COL ? rows : columns;
    return rows > 0 && columns > 0 && batch > 0 && leading_dimension >= run;
  }
  int64_t row_stride() const { return order == CUBLASLT_ORDER_COL ? 1 : leading_dimension; }
  int64_t column_stride() const { return order == CUBLASLT_ORDER_COL ? leading_dimension : 1; }
  bool is_8_bits() const { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }
  int64_t element_bytes() const { return type == CUDA_R_32F ? 4 : is_8_bits() ? 1 : 2; }
  // From the first element to behind the last one.
  size_t bytes() const {
    const int64_t last = (batch - 1) * batch_stride + (rows - 1) * row_stride() + (columns - 1) * column_stride();
    return static_cast<size_t>((last + 1) * element_bytes());
  }
  // Bytes by which every row, or column, and every matrix of the batch is aligned, if the first is.
  bool IsMultiple(int64_t bytes) const {
    return leading_dimension * element_bytes() % bytes == 0 &&
           (batch == 1 || batch_stride * element_bytes() % bytes == 0);
  }
};

struct StandInMatmulDesc {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  int32_t transpose_a = CUBLAS_OP_N;
  int32_t transpose_b = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;  // Sums of a factor are written there.
  const void* aux = nullptr;
  int64_t aux_leading_dimension = 0;
  int64_t aux_stride = 0;
  const float* scale_a = nullptr;
  const float* scale_b = nullptr;

  bool Has(uint32_t epilogues) const { return (epilogue & epilogues) != 0; }
  bool AddsBias() const { return Has(CUBLASLT_EPILOGUE_BIAS); }
  bool AppliesGelu() const { return Has(CUBLASLT_EPILOGUE_GELU); }
  bool AppliesSlope() const { return Has(CUBLASLT_EPILOGUE_DGELU & ~kAux); }
  bool HasAux() const { return Has(kAux); }
  bool SumsFactor() const { return Has(CUBLASLT_EPILOGUE_BGRADA | CUBLASLT_EPILOGUE_BGRADB); }
  bool UsesBias() const { return AddsBias() || SumsFactor(); }

  static constexpr uint32_t kAux = 128;
};

struct StandInMatmulPreference {
  uint64_t workspace_bytes = 0;
  uint32_t reduction_schemes = CUBLASLT_REDUCTION_SCHEME_MASK;
  uint32_t alignments[4] = {256, 256, 256, 256};  // Of a, b, c and d.
};

namespace {

// The product for which an algorithm is made, kept in the bytes that its user passes on.
struct Algorithm {
  uint32_t signature;
  uint32_t alignments[4];
  uint64_t workspace_bytes;
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t), "it travels in there");

struct Factors {
  StandInMatmulDesc operation;
  StandInMatrixLayout a, b, c, d;

  int64_t m() const { return operation.transpose_a == CUBLAS_OP_N ? a.rows : a.columns; }
  int64_t k() const { return operation.transpose_a == CUBLAS_OP_N ? a.columns : a.rows; }
  int64_t n() const { return operation.transpose_b == CUBLAS_OP_N ? b.columns : b.rows; }
  int64_t k_of_b() const { return operation.transpose_b == CUBLAS_OP_N ? b.rows : b.columns; }
};

// As on Hopper.
cublasStatus_t CheckFactorsOf8Bits(const Factors& f) {
  const bool are_both_e5m2 = f.a.type == CUDA_R_8F_E5M2 && f.b.type == CUDA_R_8F_E5M2;
  if (!f.a.is_8_bits() || !f.b.is_8_bits() || are_both_e5m2) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (f.operation.transpose_a != CUBLAS_OP_T || f.operation.transpose_b != CUBLAS_OP_N)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (f.d.is_8_bits() || f.operation.compute != CUBLAS_COMPUTE_32F) return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool is_known = !f.operation.SumsFactor() && !f.operation.AppliesSlope() && f.d.batch == 1;
  if (f.operation.AddsBias() && f.d.type == CUDA_R_32F) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (!is_known || f.operation.scale_a == nullptr || f.operation.scale_b == nullptr) return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool fits = f.a.IsMultiple(16) && f.b.IsMultiple(16) && f.d.IsMultiple(16);
  return fits ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t CheckFactors(const Factors& f) {
  for (const StandInMatrixLayout* layout : {&f.a, &f.b, &f.c, &f.d}) {
    if (!layout->IsValid()) return CUBLAS_STATUS_INVALID_VALUE;
    if (layout->batch != f.d.batch) return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (f.k() != f.k_of_b() || f.m() != f.d.rows || f.n() != f.d.columns) return CUBLAS_STATUS_INVALID_VALUE;
  if (f.c.rows != f.d.rows || f.c.columns != f.d.columns || f.c.order != f.d.order) return CUBLAS_STATUS_INVALID_VALUE;
  if (f.operation.scale != CUDA_R_32F) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (f.c.type != f.d.type) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (f.a.is_8_bits() || f.b.is_8_bits()) return CheckFactorsOf8Bits(f);
  if (f.a.type != f.b.type) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (f.a.type == CUDA_R_32F && f.d.type != CUDA_R_32F) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (f.operation.compute == CUBLAS_COMPUTE_32F_FAST_TF32 && f.a.type != CUDA_R_32F) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (f.operation.SumsFactor() && f.d.batch > 1) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (f.operation.HasAux()) {
    const bool is_aligned = reinterpret_cast<uintptr_t>(f.operation.aux) % 16 == 0;
    const int64_t leading = f.operation.aux_leading_dimension;
    if (leading < f.d.rows || leading % 8 != 0 || !is_aligned) return CUBLAS_STATUS_INVALID_VALUE;
    if (f.d.batch > 1 && f.operation.aux_stride % 8 != 0) return CUBLAS_STATUS_INVALID_VALUE;
  }
  return CUBLAS_STATUS_SUCCESS;
}

// FNV-1a of everything on which an algorithm depends.
uint32_t SignatureOf(const Factors& f) {
  uint32_t hash = 2166136261u;
  for (const int64_t value :
       {f.m(), f.n(), f.k(), int64_t{f.operation.compute}, int64_t{f.operation.transpose_a},
        int64_t{f.operation.transpose_b}, int64_t{f.operation.epilogue}, int64_t{f.a.type}, int64_t{f.b.type},
        int64_t{f.d.type}, int64_t{f.d.batch}, f.a.leading_dimension, f.b.leading_dimension, f.c.leading_dimension,
        f.d.leading_dimension, f.operation.aux_leading_dimension}) {
    for (int byte = 0; byte < 8; ++byte) hash = (hash ^ static_cast<uint32_t>(value >> 8 * byte & 0xFF)) * 16777619u;
  }
  return hash;
}

float Load(const void* values, cudaDataType_t type, int64_t index) {
  if (type == CUDA_R_16BF) return stand_in::FromBFloat16(static_cast<const uint16_t*>(values)[index]);
  if (type == CUDA_R_16F) return stand_in::FromFloat16(static_cast<const uint16_t*>(values)[index]);
  if (type == CUDA_R_8F_E4M3) return stand_in::FromFloat8(static_cast<const uint8_t*>(values)[index], 4);
  if (type == CUDA_R_8F_E5M2) return stand_in::FromFloat8(static_cast<const uint8_t*>(values)[index], 5);
  return static_cast<const float*>(values)[index];
}
void Store(void* values, cudaDataType_t type, int64_t index, float value) {
  if (type == CUDA_R_16BF) {
    static_cast<uint16_t*>(values)[index] = stand_in::ToBFloat16(value);
  } else if (type == CUDA_R_16F) {
    static_cast<uint16_t*>(values)[index] = stand_in::ToFloat16(value);
  } else {
    static_cast<float*>(values)[index] = value;
  }
}

// A matrix of the batch, or its transpose, as floats; runs have `rows` of them.
std::vector<float> InOrder(const void* values, const StandInMatrixLayout& layout, int64_t batch, bool transposed,
                           bool tf32) {
  const int64_t rows = transposed ? layout.columns : layout.rows;
  const int64_t columns = transposed ? layout.rows : layout.columns;
  const int64_t row_stride = transposed ? layout.column_stride() : layout.row_stride();
  const int64_t column_stride = transposed ? layout.row_stride() : layout.column_stride();
  std::vector<float> ordered(static_cast<size_t>(rows * columns));
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t at = batch * layout.batch_stride + i * row_stride + j * column_stride;
      const float value = Load(values, layout.type, at);
      ordered[static_cast<size_t>(j * rows + i)] = tf32 ? stand_in::RoundToTf32(value) : value;
    }
  }
  return ordered;
}

struct Pointers {
  const void* a;
  const void* b;
  const void* c;
  void* d;
};

// With gelu(x) = x s: s.
float ShareOf(float x) { return 1 / (1 + std::exp(-1.5957691216057308f * (x + 0.044715f * x * x * x))); }

float SlopeOfGelu(float x) {
  const float share = ShareOf(x);
  return share + x * share * (1 - share) * 1.5957691216057308f * (1 + 3 * 0.044715f * x * x);
}

// Adds up a factor, of `run` elements for each of the k, to the place of the bias.
void SumFactor(const Factors& f, const std::vector<float>& factor, int64_t run) {
  for (int64_t i = 0; i < run; ++i) {
    float sum = 0;
    for (int64_t kk = 0; kk < f.k(); ++kk) sum += factor[static_cast<size_t>(kk * run + i)];
    Store(const_cast<void*>(f.operation.bias), f.d.type, i, sum);
  }
}

void Multiply(const Factors& f, const Pointers& pointers, float alpha, float beta, int64_t batch) {
  const bool tf32 = f.operation.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  const int64_t m = f.m(), n = f.n(), k = f.k();
  const std::vector<float> a = InOrder(pointers.a, f.a, batch, f.operation.transpose_a == CUBLAS_OP_T, tf32);
  const std::vector<float> b = InOrder(pointers.b, f.b, batch, f.operation.transpose_b == CUBLAS_OP_T, tf32);
  if (f.operation.Has(CUBLASLT_EPILOGUE_BGRADA)) SumFactor(f, a, m);
  if (f.operation.Has(CUBLASLT_EPILOGUE_BGRADB)) {
    SumFactor(f, InOrder(pointers.b, f.b, batch, f.operation.transpose_b == CUBLAS_OP_N, tf32), n);
  }
  const float scale = f.a.is_8_bits() ? *f.operation.scale_a * *f.operation.scale_b : 1.0f;
  std::vector<float> column(static_cast<size_t>(m));
  for (int64_t j = 0; j < n; ++j) {
    std::fill(column.begin(), column.end(), 0.0f);
    for (int64_t kk = 0; kk < k; ++kk) {
      const float factor = b[static_cast<size_t>(j * k + kk)];
      const float* const from = a.data() + kk * m;
      float* const to = column.data();
      for (int64_t i = 0; i < m; ++i) to[i] += from[i] * factor;
    }
    for (int64_t i = 0; i < m; ++i) {
      const int64_t at_c = batch * f.c.batch_stride + i * f.c.row_stride() + j * f.c.column_stride();
      const int64_t at_d = batch * f.d.batch_stride + i * f.d.row_stride() + j * f.d.column_stride();
      float value = alpha * scale * column[static_cast<size_t>(i)];
      if (beta != 0) value += beta * Load(pointers.c, f.c.type, at_c);
      if (f.operation.AddsBias()) value += Load(f.operation.bias, f.d.type, i);
      const int64_t at_aux = batch * f.operation.aux_stride + i + j * f.operation.aux_leading_dimension;
      if (f.operation.AppliesSlope()) value *= SlopeOfGelu(Load(f.operation.aux, f.d.type, at_aux));
      if (f.operation.AppliesGelu()) {
        if (f.operation.HasAux()) Store(const_cast<void*>(f.operation.aux), f.d.type, at_aux, value);
        value *= ShareOf(value);
      }
      Store(pointers.d, f.d.type, at_d, value);
    }
  }
}

template <typename T>
cublasStatus_t Set(T& field, const void* value, size_t bytes) {
  if (value == nullptr || bytes != sizeof field) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&field, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

template <typename T>
cublasStatus_t DestroyObject(T* object) {
  delete object;
  return CUBLAS_STATUS_SUCCESS;
}

bool IsAligned(const void* values, uint32_t alignment) { return reinterpret_cast<uintptr_t>(values) % alignment == 0; }

}  // namespace

const char* cublasLtGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "success";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "the library was not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "an allocation failed";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "an invalid value was passed";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "a kernel could not be launched";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "the operation is not supported";
  }
  return "unknown";
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = new StandInCublasLt;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return DestroyObject(handle); }

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType_t type, uint64_t rows,
                                          uint64_t columns, int64_t leading_dimension) {
  *layout = new StandInMatrixLayout;
  (*layout)->type = type;
  (*layout)->rows = static_cast<int64_t>(rows);
  (*layout)->columns = static_cast<int64_t>(columns);
  (*layout)->leading_dimension = leading_dimension;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                                size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_ORDER:
      return Set(layout->order, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return Set(layout->batch, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return Set(layout->batch_stride, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) { return DestroyObject(layout); }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* operation, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  *operation = new StandInMatmulDesc{compute, scale};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return Set(operation->transpose_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return Set(operation->transpose_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return Set(operation->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return Set(operation->bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
      return Set(operation->aux, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
      return Set(operation->aux_leading_dimension, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE:
      return Set(operation->aux_stride, value, bytes);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
      return Set(operation->scale_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
      return Set(operation->scale_b, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation) { return DestroyObject(operation); }

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = new StandInMatmulPreference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                                                    size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return Set(preference->workspace_bytes, value, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return Set(preference->reduction_schemes, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      return Set(preference->alignments[0], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      return Set(preference->alignments[1], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      return Set(preference->alignments[2], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return Set(preference->alignments[3], value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return DestroyObject(preference);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t results[], int* found) {
  *found = 0;
  if (handle == nullptr || requested < 1) return CUBLAS_STATUS_INVALID_VALUE;
  const Factors factors = {*operation, *a, *b, *c, *d};
  const cublasStatus_t status = CheckFactors(factors);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  // With odd seeds 16 bits need places at multiples of 16 bytes, for which all devices have kernels.
  const bool is_strict = stand_in::Seed() % 2 == 1 && a->type != CUDA_R_32F;
  const uint32_t needed = is_strict ? 16 : 4;
  const auto is_odd_place = [&](uint32_t alignment) { return alignment < needed; };
  const bool has_odd_rows = is_strict && !(a->IsMultiple(16) && b->IsMultiple(16) && d->IsMultiple(16));
  const uint32_t signature = SignatureOf(factors);
  // Some devices have no algorithm, and say so in one of two ways.
  if (stand_in::RefusesAtRandom(signature)) {
    return signature % 2 == 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (has_odd_rows || std::any_of(std::begin(preference->alignments), std::end(preference->alignments), is_odd_place) ||
      (d->type != CUDA_R_32F && d->rows % 2 == 1 && operation->epilogue != CUBLASLT_EPILOGUE_DEFAULT)) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  Algorithm algorithm = {};
  algorithm.signature = signature;
  std::copy(std::begin(preference->alignments), std::end(preference->alignments), algorithm.alignments);
  // Long sums of small results are computed in two parts.
  const uint64_t parts = 2 * sizeof(float) * static_cast<uint64_t>(factors.m() * factors.n() * d->batch);
  const bool in_parts = (preference->reduction_schemes & CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) != 0 &&
                        factors.k() >= 4 * std::max(factors.m(), factors.n());
  if (in_parts && parts <= preference->workspace_bytes) algorithm.workspace_bytes = parts;
  results[0] = {};
  std::memcpy(&results[0].algo, &algorithm, sizeof algorithm);
  results[0].workspaceSize = algorithm.workspace_bytes;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t layout_a, const void* b, cublasLtMatrixLayout_t layout_b,
                              const void* beta, const void* c, cublasLtMatrixLayout_t layout_c, void* d,
                              cublasLtMatrixLayout_t layout_d, const cublasLtMatmulAlgo_t* algorithm_bytes,
                              void* workspace, size_t workspace_bytes, cudaStream_t stream) {
  if (handle == nullptr || alpha == nullptr || beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const Factors factors = {*operation, *layout_a, *layout_b, *layout_c, *layout_d};
  const cublasStatus_t status = CheckFactors(factors);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  Algorithm algorithm;
  std::memcpy(&algorithm, algorithm_bytes, sizeof algorithm);
  if (algorithm.signature != SignatureOf(factors)) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (algorithm.workspace_bytes > workspace_bytes) return CUBLAS_STATUS_INVALID_VALUE;
  const void* const pointers[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i) {
    if (pointers[i] == nullptr || !IsAligned(pointers[i], algorithm.alignments[i])) return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (operation->UsesBias() && operation->bias == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (layout_a->is_8_bits()) {
    stand_in::CheckOfDevice(operation->scale_a, sizeof(float), "the scale of a of cublasLtMatmul");
    stand_in::CheckOfDevice(operation->scale_b, sizeof(float), "the scale of b of cublasLtMatmul");
  }
  stand_in::CheckOfDevice(a, layout_a->bytes(), "a of cublasLtMatmul");
  stand_in::CheckOfDevice(b, layout_b->bytes(), "b of cublasLtMatmul");
  stand_in::CheckOfDevice(d, layout_d->bytes(), "d of cublasLtMatmul");
  if (c != d) stand_in::CheckOfDevice(c, layout_c->bytes(), "c of cublasLtMatmul");
  stand_in::CheckOfDevice(workspace, algorithm.workspace_bytes, "the workspace of cublasLtMatmul");
  if (algorithm.workspace_bytes > 0 && !IsAligned(workspace, 16)) return CUBLAS_STATUS_INVALID_VALUE;
  if (operation->UsesBias()) {
    const int64_t count = operation->Has(CUBLASLT_EPILOGUE_BGRADB) ? layout_d->columns : layout_d->rows;
    stand_in::CheckOfDevice(operation->bias, static_cast<size_t>(count * layout_d->element_bytes()),
                            "the bias of cublasLtMatmul");
  }
  if (operation->HasAux()) {
    const int64_t last = (layout_d->batch - 1) * operation->aux_stride +
                         (layout_d->columns - 1) * operation->aux_leading_dimension + layout_d->rows;
    stand_in::CheckOfDevice(operation->aux, static_cast<size_t>(last * layout_d->element_bytes()),
                            "the epilogue's own matrix of cublasLtMatmul");
  }
  float scale, old;
  std::memcpy(&scale, alpha, sizeof scale);
  std::memcpy(&old, beta, sizeof old);
  const uint64_t used = algorithm.workspace_bytes;
  const cudaError_t error = StandInEnqueue(stream, [=] {
    if (used > 0) std::memset(workspace, 0xFF, used);
    for (int64_t batch = 0; batch < factors.d.batch; ++batch) Multiply(factors, {a, b, c, d}, scale, old, batch);
  });
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
