// Devices, of which there may be none, and errors.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "cuda_runtime.h"
#include "memory.h"

namespace stand_in {
namespace {

thread_local cudaError_t last_error = cudaSuccess;
thread_local int current_device = 0;

struct ErrorName {
  cudaError_t error;
  const char* name;
  const char* text;
};

constexpr ErrorName kErrors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice",
     "no kernel image is available for execution on the device"},
    {cudaErrorUnsupportedPtxVersion, "cudaErrorUnsupportedPtxVersion",
     "the provided PTX was compiled with an unsupported toolchain."},
    {cudaErrorSystemDriverMismatch, "cudaErrorSystemDriverMismatch",
     "system has unsupported display driver / cuda driver combination"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched", "capture was not initiated in this stream"},
    {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation",
     "dependency created on uncaptured work in another stream"},
    {cudaErrorCapturedEvent, "cudaErrorCapturedEvent",
     "operation not permitted on an event last recorded in a capturing stream"},
    {cudaErrorGraphExecUpdateFailure, "cudaErrorGraphExecUpdateFailure",
     "the graph update was not performed because it included changes which violated constraints specific to "
     "instantiated graph update"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

const ErrorName& Describe(cudaError_t error) {
  for (const ErrorName& known : kErrors) {
    if (known.error == error) return known;
  }
  return kErrors[sizeof kErrors / sizeof kErrors[0] - 1];
}

// Bytes of shared memory that cudaFuncSetAttribute allowed, by device and kernel.
struct AskedShared {
  std::mutex mutex;
  std::map<std::pair<int, const void*>, size_t> bytes;
};
AskedShared& TheAskedShared() {
  static auto& asked = *new AskedShared;
  return asked;
}

// The setting of a test: CUDA_STAND_IN_<name>.
const char* Asked(const char* name) { return std::getenv((std::string("CUDA_STAND_IN_") + name).c_str()); }
int64_t Asked(const char* name, int64_t otherwise) {
  const char* const text = Asked(name);
  return text == nullptr ? otherwise : std::strtoll(text, nullptr, 10);
}

}  // namespace

bool HasDeviceFault(const char* fault) {
  const char* const asked = Asked("FAULT");
  return asked != nullptr && std::strcmp(asked, fault) == 0;
}

size_t AllowedSharedBytes(const void* kernel) {
  AskedShared& asked = TheAskedShared();
  const std::lock_guard<std::mutex> lock(asked.mutex);
  const auto found = asked.bytes.find({current_device, kernel});
  return found == asked.bytes.end() ? size_t{48} << 10 : found->second;
}

cudaError_t Failed(cudaError_t error) { return last_error = error; }

size_t DeviceBytes() { return static_cast<size_t>(Asked("MEMORY", int64_t{8} << 30)); }

cudaError_t FindDevice() {
  int count = 0;
  return cudaGetDeviceCount(&count);
}

}  // namespace stand_in

using stand_in::Asked;
using stand_in::Describe;
using stand_in::Failed;
using stand_in::HasDeviceFault;

cudaError_t cudaGetLastError() {
  const cudaError_t error = stand_in::last_error;
  stand_in::last_error = cudaSuccess;
  return error;
}
cudaError_t cudaPeekAtLastError() { return stand_in::last_error; }
const char* cudaGetErrorName(cudaError_t error) { return Describe(error).name; }
const char* cudaGetErrorString(cudaError_t error) { return Describe(error).text; }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  if (HasDeviceFault("no_driver")) return Failed(cudaErrorInsufficientDriver);
  *count = static_cast<int>(Asked("DEVICES", 8));
  return *count == 0 ? Failed(cudaErrorNoDevice) : cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) return error;
  if (device < 0 || device >= count) return Failed(cudaErrorInvalidDevice);
  stand_in::current_device = device;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = stand_in::current_device;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) return error;
  if (device < 0 || device >= count) return Failed(cudaErrorInvalidDevice);
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "a stand-in for a GPU");
  properties->totalGlobalMem = stand_in::DeviceBytes();
  properties->sharedMemPerBlock = 48 << 10;
  properties->maxThreadsPerBlock = 1024;
  properties->major = HasDeviceFault("old_device") ? 6 : 9;
  properties->multiProcessorCount = 2;
  properties->l2CacheSize = 1 << 20;
  properties->uuid.bytes[15] = static_cast<char>(device);
  properties->pciBusID = device + 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp properties;
  if (const cudaError_t error = cudaGetDeviceProperties(&properties, device); error != cudaSuccess) return error;
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = properties.multiProcessorCount;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = properties.major;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = properties.minor;
      break;
  }
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = HasDeviceFault("no_driver") ? 0 : 13000;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  if (const cudaError_t error = stand_in::FindDevice(); error != cudaSuccess) return error;
  if (HasDeviceFault("old_device")) return Failed(cudaErrorNoKernelImageForDevice);
  *attributes = {1024, 90};
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute, int value) {
  if (const cudaError_t error = stand_in::FindDevice(); error != cudaSuccess) return error;
  if (value < 0 || value > static_cast<int>(stand_in::kMostSharedBytes)) return Failed(cudaErrorInvalidValue);
  stand_in::AskedShared& asked = stand_in::TheAskedShared();
  const std::lock_guard<std::mutex> lock(asked.mutex);
  asked.bytes[{stand_in::current_device, kernel}] = static_cast<size_t>(value);
  return cudaSuccess;
}
