// A stand-in for cuDNN, for tests on machines without a GPU: its handle, with which graphs run (cudnn_frontend.h).
// Numbers of enumerations are those of the library.
#ifndef CUDNN_H_STAND_IN_
#define CUDNN_H_STAND_IN_

#include "cuda_runtime.h"

enum cudnnStatus_t { CUDNN_STATUS_SUCCESS = 0, CUDNN_STATUS_BAD_PARAM = 2000, CUDNN_STATUS_EXECUTION_FAILED = 5000 };
const char* cudnnGetErrorString(cudnnStatus_t status);

using cudnnHandle_t = struct StandInCudnn*;
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle);
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle);
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream);
cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream);

#endif  // CUDNN_H_STAND_IN_
