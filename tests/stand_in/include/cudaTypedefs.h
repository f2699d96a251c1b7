// A stand-in for the part of the CUDA driver API that runtime/ uses. Its functions are found by
// cudaGetDriverEntryPointByVersion (cuda_runtime.h): "cuStreamWriteValue64" from version 11070 on.
//
// CUDA_STAND_IN_FAULT=no_stream_writes: the device cannot do it, and says so.
#ifndef CUDATYPEDEFS_H_STAND_IN_
#define CUDATYPEDEFS_H_STAND_IN_

#include <cuda_runtime.h>

#include <cstdint>

// The numbers are those of CUDA.
enum CUresult {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_NOT_SUPPORTED = 801,
  CUDA_ERROR_UNKNOWN = 999
};

using CUstream = cudaStream_t;
using CUdeviceptr = unsigned long long;
using cuuint64_t = uint64_t;

enum { CU_STREAM_WRITE_VALUE_DEFAULT = 0 };

using PFN_cuStreamWriteValue64_v11070 = CUresult (*)(CUstream stream, CUdeviceptr address, cuuint64_t value,
                                                     unsigned flags);

#endif  // CUDATYPEDEFS_H_STAND_IN_
