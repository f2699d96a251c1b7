// A stand-in for the CUDA runtime, for tests on machines without a GPU: the part of its API that runtime/ and generated
// programs use, with the same meaning, on the CPU. A .cu file is compiled against it by `g++ -x c++`.
//
//   float* x;
//   cudaMalloc(&x, 4096);                      // Ordinary memory, filled with NaN, that is known to be the device's.
//   StandInLaunch(reinterpret_cast<const void*>(AddOne), 4, 256, 0, stream, [=] { AddOne(1024, x); });
//
// Work is done late, in any order that streams, events and graphs allow. README.md says what is checked that a GPU does
// not check, and how tests cause faults.
#ifndef CUDA_RUNTIME_H_STAND_IN_
#define CUDA_RUNTIME_H_STAND_IN_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "stand_in/in_kernels.h"

// The numbers are those of CUDA, because they are printed.
enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInitializationError = 3,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInvalidMemcpyDirection = 21,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorNoKernelImageForDevice = 209,
  cudaErrorUnsupportedPtxVersion = 222,
  cudaErrorSystemDriverMismatch = 803,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorNotReady = 600,
  cudaErrorIllegalAddress = 700,
  cudaErrorNotSupported = 801,
  cudaErrorStreamCaptureUnsupported = 900,
  cudaErrorStreamCaptureInvalidated = 901,
  cudaErrorStreamCaptureUnmatched = 903,
  cudaErrorStreamCaptureUnjoined = 904,
  cudaErrorStreamCaptureIsolation = 905,
  cudaErrorCapturedEvent = 907,
  cudaErrorGraphExecUpdateFailure = 910,
  cudaErrorUnknown = 999
};

cudaError_t cudaGetLastError();  // Of the calling thread; forgets it.
cudaError_t cudaPeekAtLastError();
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);

// --- Devices ---------------------------------------------------------------------------------------------------------

struct cudaUUID_t {
  char bytes[16];
};

struct cudaDeviceProp {
  char name[256];
  cudaUUID_t uuid;
  size_t totalGlobalMem;
  size_t sharedMemPerBlock;
  int maxThreadsPerBlock;
  int major;
  int minor;
  int multiProcessorCount;
  int l2CacheSize;
  int pciDomainID;
  int pciBusID;
  int pciDeviceID;
};

struct cudaFuncAttributes {
  int maxThreadsPerBlock;
  int binaryVersion;
};

enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };

enum cudaDeviceAttr {
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76
};

cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaSetDevice(int device);  // Of the calling thread.
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaMemGetInfo(size_t* free, size_t* total);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel);
template <typename... Parameters>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, void (*kernel)(Parameters...)) {
  return cudaFuncGetAttributes(attributes, reinterpret_cast<const void*>(kernel));
}

// cudaTypedefs.h says which there are.
constexpr unsigned long long cudaEnableDefault = 0;
enum cudaDriverEntryPointQueryResult {
  cudaDriverEntryPointSuccess = 0,
  cudaDriverEntryPointSymbolNotFound = 1,
  cudaDriverEntryPointVersionNotSufficent = 2
};
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version,
                                             unsigned long long flags, cudaDriverEntryPointQueryResult* status);

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value);

// --- Streams, events and graphs --------------------------------------------------------------------------------------

using cudaStream_t = struct StandInStream*;
using cudaEvent_t = struct StandInEvent*;
using cudaGraph_t = struct StandInGraph*;
using cudaGraphExec_t = struct StandInGraph*;

enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1 };
enum { cudaEventDefault = 0, cudaEventDisableTiming = 2 };
enum cudaStreamCaptureMode {
  cudaStreamCaptureModeGlobal = 0,
  cudaStreamCaptureModeThreadLocal = 1,
  cudaStreamCaptureModeRelaxed = 2
};
enum cudaStreamCaptureStatus {
  cudaStreamCaptureStatusNone = 0,
  cudaStreamCaptureStatusActive = 1,
  cudaStreamCaptureStatusInvalidated = 2
};

cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority);
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);

cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end);

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status);
constexpr unsigned long long cudaGraphInstantiateFlagUseNodePriority = 8;
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags = 0);
// The numbers are those of CUDA. That of nodes by which a stream writes has no name in its runtime.
enum cudaGraphNodeType {
  cudaGraphNodeTypeKernel = 0,
  cudaGraphNodeTypeMemcpy = 1,
  cudaGraphNodeTypeMemset = 2,
  cudaGraphNodeTypeEmpty = 5,
  kStandInBatchMemOp = 12
};
using cudaGraphNode_t = const struct StandInNode*;
// With `nodes` null they are only counted.
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count);
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type);
struct cudaGraphExecUpdateResultInfo {};
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* info);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);

// Called by each thread of a kernel when it begins: where the arguments lie.
void StandInBeginThread(const void* arguments, size_t bytes);

void StandInLaunchThreads(const void* kernel, dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream,
                          std::function<void()> thread);

// Replaces `kernel<<<grid, block, shared_bytes, stream>>>(…)` of nvcc; `thread` is the call of one thread.
// cudaGetLastError returns errors.
template <typename Thread>
void StandInLaunch(const void* kernel, dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream, Thread thread) {
  StandInLaunchThreads(kernel, grid, block, shared_bytes, stream, [thread] {
    StandInBeginThread(&thread, sizeof thread);
    thread();
  });
}

// Work of a library on the stream, in the place of a kernel or of what `type` says. For stand-ins of other libraries.
cudaError_t StandInEnqueue(cudaStream_t stream, std::function<void()> work,
                           cudaGraphNodeType type = cudaGraphNodeTypeKernel);

// Work of a library that others must help to end: `begin` is called when the stream comes to it, and returns what says
// whether it has ended. Neither may wait.
cudaError_t StandInBegin(cudaStream_t stream, std::function<std::function<bool()>()> begin);

// --- Memory ----------------------------------------------------------------------------------------------------------

enum cudaMemcpyKind {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4
};
enum { cudaHostAllocDefault = 0, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2 };
enum cudaMemoryType {
  cudaMemoryTypeUnregistered = 0,
  cudaMemoryTypeHost = 1,
  cudaMemoryTypeDevice = 2,
  cudaMemoryTypeManaged = 3
};
struct cudaPointerAttributes {
  cudaMemoryType type;
  int device;
};

cudaError_t cudaMalloc(void** memory, size_t bytes);
template <typename T>
cudaError_t cudaMalloc(T** memory, size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(memory), bytes);
}
cudaError_t cudaFree(void* memory);
cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned flags);
template <typename T>
cudaError_t cudaHostAlloc(T** memory, size_t bytes, unsigned flags) {
  return cudaHostAlloc(reinterpret_cast<void**>(memory), bytes, flags);
}
cudaError_t cudaFreeHost(void* memory);
cudaError_t cudaHostGetDevicePointer(void** on_device, void* memory, unsigned flags);
template <typename T>
cudaError_t cudaHostGetDevicePointer(T** on_device, void* memory, unsigned flags) {
  return cudaHostGetDevicePointer(reinterpret_cast<void**>(on_device), memory, flags);
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory);

cudaError_t cudaMemcpy(void* target, const void* source, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* target, const void* source, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);
cudaError_t cudaMemcpy2DAsync(void* target, size_t target_pitch, const void* source, size_t source_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream = nullptr);
cudaError_t cudaMemset(void* target, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void* target, int value, size_t bytes, cudaStream_t stream = nullptr);

#endif  // CUDA_RUNTIME_H_STAND_IN_
