// Attention by cuDNN where it is installed and computes it, else by the runtime's own kernels.
#include <type_traits>

#include "runtime/device/bfloat16.h"
#include "runtime/device/float16.h"
#include "runtime/device/work.h"
#include "runtime/kernels/attention.h"
#include "runtime/kernels/cuda/attention.cuh"
#include "runtime/math/cudnn/sdpa.h"

namespace cleave::runtime {
namespace {

template <typename T>
constexpr SdpaType kSdpaType = std::is_same_v<T, BFloat16> ? SdpaType::kBf16 : SdpaType::kF16;

}  // namespace

template <typename T>
void Attention(const AttentionShape& shape, const T* q, const T* k, const T* v, std::common_type_t<T>* out,
               float* logsumexp) {
  CountFlops(FlopsOf(shape));
  if constexpr (!std::is_same_v<T, float>) {
    if (AttentionByLibrary(kSdpaType<T>, shape, q, k, v, out, logsumexp)) return;
  }
  AttentionByTiles(shape, q, k, v, out, logsumexp);
}

template <typename T>
void AttentionGradient(const AttentionShape& shape, const T* q, const T* k, const T* v, const T* out,
                       const float* logsumexp, const T* dout, std::common_type_t<T>* dq, std::common_type_t<T>* dk,
                       std::common_type_t<T>* dv) {
  if (dq == nullptr && dk == nullptr && dv == nullptr) return;
  CountFlops(GradientFlopsOf(shape));
  if constexpr (!std::is_same_v<T, float>) {
    if (AttentionGradientByLibrary(kSdpaType<T>, shape, q, k, v, out, logsumexp, dout, dq, dk, dv)) return;
  }
  AttentionGradientByTiles(shape, q, k, v, out, logsumexp, dout, dq, dk, dv);
}

#define CLEAVE_ATTENTION_OF(T)                                                                                 \
  template void Attention(const AttentionShape&, const T*, const T*, const T*, T*, float*);                    \
  template void AttentionGradient(const AttentionShape&, const T*, const T*, const T*, const T*, const float*, \
                                  const T*, T*, T*, T*);
CLEAVE_ATTENTION_OF(float)
CLEAVE_ATTENTION_OF(BFloat16)
CLEAVE_ATTENTION_OF(Float16)
#undef CLEAVE_ATTENTION_OF

}  // namespace cleave::runtime
