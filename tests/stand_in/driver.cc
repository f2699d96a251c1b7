// Functions of the driver, which a program finds by their names.
#include <cstring>

#include "cudaTypedefs.h"
#include "memory.h"

namespace {

CUresult WriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
  if (stand_in::HasDeviceFault("no_stream_writes")) return CUDA_ERROR_NOT_SUPPORTED;
  auto* const place = reinterpret_cast<void*>(address);
  if (stream == nullptr || flags != CU_STREAM_WRITE_VALUE_DEFAULT || address % sizeof value != 0 ||
      !stand_in::IsOfDevice(place, sizeof value)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto write = [place, value] { std::memcpy(place, &value, sizeof value); };
  const cudaError_t error = StandInEnqueue(stream, write, kStandInBatchMemOp);
  return error == cudaSuccess ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

}  // namespace

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version, unsigned long long,
                                             cudaDriverEntryPointQueryResult* status) {
  const bool is_known = std::strcmp(symbol, "cuStreamWriteValue64") == 0;
  *function = is_known && version >= 11070 ? reinterpret_cast<void*>(WriteValue64) : nullptr;
  *status = !is_known              ? cudaDriverEntryPointSymbolNotFound
            : *function == nullptr ? cudaDriverEntryPointVersionNotSufficent
                                   : cudaDriverEntryPointSuccess;
  return cudaSuccess;
}
