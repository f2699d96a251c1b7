// A stand-in for NCCL, for tests on machines without GPUs: the part of its API that runtime/ uses, with the same
// meaning, between ranks that are threads of one process, each with a device of its own (CUDA_STAND_IN_DEVICES).
//
// The work of a call ends when the devices of all ranks of the communicator have come to it. Where NCCL would hang or
// compute nonsense, the stand-in ends the process: it checks that all ranks make the same calls with the same counts,
// types, operations and roots, what the memory of a call is, and in which state a communicator is used (README.md). No
// two ranks may share a device, unless NCCL_MULTI_RANK_GPU_ENABLE is 1 and the version, NCCL_STAND_IN_VERSION (22809),
// at least 23000.
//
// Faults of the rank on device D, set by NCCL_STAND_IN_FAULT:
//   version:D    its library is another version
//   absent:D     it never comes to connect
//   gone:D       it is gone when it should take part in its first collective, which the others learn
//   broken:D     after its first collective its communicator fails, not at the first look at its state but later
//   late:D       it does not come to the second collective, and no error says so
//   register:D   it registers no memory
#ifndef NCCL_H_STAND_IN_
#define NCCL_H_STAND_IN_

#include <cuda_runtime.h>

#include <climits>
#include <cstddef>

// The numbers are those of NCCL.
enum ncclResult_t {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7
};

enum ncclDataType_t {
  ncclInt8 = 0,
  ncclInt32 = 2,
  ncclInt64 = 4,
  ncclFloat16 = 6,
  ncclFloat32 = 7,
  ncclFloat64 = 8,
  ncclBfloat16 = 9,
  ncclNumTypes = 12
};

enum ncclRedOp_t { ncclSum = 0, ncclProd = 1, ncclMax = 2, ncclMin = 3, ncclNumOps = 5 };

using ncclComm_t = struct ncclComm*;

constexpr size_t kNcclUniqueIdBytes = 128;
struct ncclUniqueId {
  char internal[kNcclUniqueIdBytes];
};

struct ncclConfig_t {
  int blocking;
};
#define NCCL_CONFIG_INITIALIZER \
  { INT_MIN }
#define NCCL_SPLIT_NOCOLOR -1

#define NCCL_VERSION(major, minor, patch) ((major)*10000 + (minor)*100 + (patch))
#define NCCL_VERSION_CODE NCCL_VERSION(2, 28, 9)

ncclResult_t ncclGetVersion(int* version);
ncclResult_t ncclGetUniqueId(ncclUniqueId* id);
const char* ncclGetErrorString(ncclResult_t result);
const char* ncclGetLastError(ncclComm_t communicator);

ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config);
// All ranks give the same ids. No more ranks belong to one than are quick to connect, which are 128 here.
ncclResult_t ncclCommInitRankScalable(ncclComm_t* communicator, int ranks, int rank, int id_count, ncclUniqueId* ids,
                                      ncclConfig_t* config);
ncclResult_t ncclCommSplit(ncclComm_t communicator, int colour, int key, ncclComm_t* part, ncclConfig_t* config);
ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* state);
ncclResult_t ncclCommFinalize(ncclComm_t communicator);
ncclResult_t ncclCommDestroy(ncclComm_t communicator);
ncclResult_t ncclCommAbort(ncclComm_t communicator);

// Memory of the device. It is registered when it is used on all ranks of a communicator or on none, and no longer when
// it is freed.
ncclResult_t ncclMemAlloc(void** memory, size_t bytes);
ncclResult_t ncclMemFree(void* memory);
ncclResult_t ncclCommRegister(ncclComm_t communicator, void* memory, size_t bytes, void** handle);
ncclResult_t ncclCommDeregister(ncclComm_t communicator, void* handle);

ncclResult_t ncclGroupStart();
ncclResult_t ncclGroupEnd();

ncclResult_t ncclAllReduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t operation,
                           ncclComm_t communicator, cudaStream_t stream);
ncclResult_t ncclReduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t operation,
                        int root, ncclComm_t communicator, cudaStream_t stream);
ncclResult_t ncclBroadcast(const void* send, void* receive, size_t count, ncclDataType_t type, int root,
                           ncclComm_t communicator, cudaStream_t stream);
ncclResult_t ncclAllGather(const void* send, void* receive, size_t count, ncclDataType_t type, ncclComm_t communicator,
                           cudaStream_t stream);
ncclResult_t ncclReduceScatter(const void* send, void* receive, size_t count, ncclDataType_t type,
                               ncclRedOp_t operation, ncclComm_t communicator, cudaStream_t stream);
ncclResult_t ncclSend(const void* send, size_t count, ncclDataType_t type, int peer, ncclComm_t communicator,
                      cudaStream_t stream);
ncclResult_t ncclRecv(void* receive, size_t count, ncclDataType_t type, int peer, ncclComm_t communicator,
                      cudaStream_t stream);

#endif  // NCCL_H_STAND_IN_
