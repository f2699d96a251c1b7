// Attention by the kernels of attention.cu, which know every shape of runtime/kernels/attention.h and need no library.
// Arguments, and what is required of them, are those of Attention and AttentionGradient there; what is computed is not
// counted (runtime/device/work.h). For runtime/math/cudnn, which calls these where the library does not compute it.
#ifndef CLEAVE_RUNTIME_KERNELS_CUDA_ATTENTION_CUH_
#define CLEAVE_RUNTIME_KERNELS_CUDA_ATTENTION_CUH_

#include "runtime/kernels/attention.h"

namespace cleave::runtime {

template <typename T>
void AttentionByTiles(const AttentionShape& shape, const T* q, const T* k, const T* v, T* out, float* logsumexp);

template <typename T>
void AttentionGradientByTiles(const AttentionShape& shape, const T* q, const T* k, const T* v, const T* out,
                              const float* logsumexp, const T* dout, T* dq, T* dk, T* dv);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_CUDA_ATTENTION_CUH_
