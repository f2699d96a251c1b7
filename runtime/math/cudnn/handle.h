// cuDNN as the rank's thread uses it. Inside of runtime/math/cudnn only.
#ifndef CLEAVE_RUNTIME_MATH_CUDNN_HANDLE_H_
#define CLEAVE_RUNTIME_MATH_CUDNN_HANDLE_H_

// Whether the library and cudnn-frontend are there. Defining CLEAVE_WITHOUT_CUDNN leaves them out although they are.
#if defined(__has_include) && !defined(CLEAVE_WITHOUT_CUDNN)
#if __has_include(<cudnn.h>) && __has_include(<cudnn_frontend.h>)
#define CLEAVE_HAS_CUDNN 1
#endif
#endif
#ifndef CLEAVE_HAS_CUDNN
#define CLEAVE_HAS_CUDNN 0
#endif

#if CLEAVE_HAS_CUDNN

#include <cudnn.h>

#include <string>

namespace cleave::runtime {

// Ends the program when a call of the library failed in `what`.
void CheckCudnn(cudnnStatus_t status, const std::string& what);

// The library for the calling thread's rank, on its current stream.
cudnnHandle_t CudnnHandle();

}  // namespace cleave::runtime

#endif  // CLEAVE_HAS_CUDNN

#endif  // CLEAVE_RUNTIME_MATH_CUDNN_HANDLE_H_
