// Attention and its gradients by cuDNN, if it and cudnn-frontend are there when this is compiled.
//
//   if (!AttentionByLibrary(SdpaType::kBf16, shape, q, k, v, out, logsumexp)) AttentionByTiles(…);
//
// Arguments, and what is required of them, are those of runtime/kernels/attention.h. The functions return false, and
// have written nothing that counts, where the library does not compute this; the first rank prints why, once.
//
// Gradients are the same in each run. The library takes workspace for them, on most GPUs in proportion to the scores:
// larger ones are computed in slices, of fewer samples, then of fewer key heads. ir/program/memory/workspace.cc
// predicts what they take.
#ifndef CLEAVE_RUNTIME_MATH_CUDNN_SDPA_H_
#define CLEAVE_RUNTIME_MATH_CUDNN_SDPA_H_

#include "runtime/kernels/attention.h"

namespace cleave::runtime {

enum class SdpaType { kBf16, kF16 };

bool AttentionByLibrary(SdpaType type, const AttentionShape& shape, const void* q, const void* k, const void* v,
                        void* out, float* logsumexp);

bool AttentionGradientByLibrary(SdpaType type, const AttentionShape& shape, const void* q, const void* k, const void* v,
                                const void* out, const float* logsumexp, const void* dout, void* dq, void* dk,
                                void* dv);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_MATH_CUDNN_SDPA_H_
