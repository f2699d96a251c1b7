#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/state.cuh"
#include "runtime/device/device.h"
#include "runtime/error/error.h"

namespace cleave::runtime {
namespace {

// OpenDevice asks CUDA about it, to learn whether the program holds code that the device can run.
__global__ void AnyKernel() {}

// Streams share as many queues to the GPU as this says, by default 8 and at most 32 (CUDA programming guide,
// "environment variables"). In a shared one, work that waits for another rank stops work that this rank waits for. It
// is read when CUDA starts, and set before there are threads. What a user has set stays.
[[maybe_unused]] const int kConnections = setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", /*overwrite=*/0);

Error NotThere(const std::string& what) { return {ExitCode::kEnvironment, what}; }

std::string Said(cudaError_t error) { return Format("%s (%s)", cudaGetErrorString(error), cudaGetErrorName(error)); }

bool IsEnvironment(cudaError_t error) {
  return error == cudaErrorInsufficientDriver || error == cudaErrorNoDevice || error == cudaErrorInvalidDevice ||
         error == cudaErrorInitializationError || error == cudaErrorNoKernelImageForDevice ||
         error == cudaErrorSystemDriverMismatch || error == cudaErrorUnsupportedPtxVersion;
}

// "12.4", as CUDA counts versions.
std::string VersionText(int version) { return Format("%d.%d", version / 1000, version % 1000 / 10); }

Result<int> CountDevices() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return count;
  cudaGetLastError();
  int driver = 0;
  int runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  if (driver == 0) {
    return NotThere(
        "this program computes on NVIDIA GPUs, and the machine has no NVIDIA driver: start it on a machine with a GPU, "
        "or compile the model with `--target cpu`");
  }
  if (error == cudaErrorInsufficientDriver) {
    return NotThere(Format("the NVIDIA driver is too old: it knows CUDA %s, and the program was built with CUDA %s",
                           VersionText(driver).c_str(), VersionText(runtime).c_str()));
  }
  if (error == cudaErrorNoDevice || error == cudaSuccess) {
    return NotThere(
        "this program computes on NVIDIA GPUs, and none can be seen (CUDA_VISIBLE_DEVICES may hide them): start it on "
        "a machine with a GPU, or compile the model with `--target cpu`");
  }
  return NotThere("counting the GPUs failed: " + Said(error));
}

// Whether the program was built for the device, and it works at all.
std::optional<Error> TryDevice(int device) {
  if (const cudaError_t error = cudaSetDevice(device); error != cudaSuccess)
    return NotThere(Format("GPU %d cannot be used: %s", device, Said(error).c_str()));
  cudaDeviceProp properties;
  if (const cudaError_t error = cudaGetDeviceProperties(&properties, device); error != cudaSuccess)
    return NotThere(Format("GPU %d cannot be used: %s", device, Said(error).c_str()));
  cudaFuncAttributes attributes;
  const cudaError_t error = cudaFuncGetAttributes(&attributes, AnyKernel);
  if (error == cudaSuccess) return std::nullopt;
  cudaGetLastError();
  if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorUnsupportedPtxVersion) {
    return NotThere(
        Format("the program was not built for GPU %d (%s, architecture %d.%d): build it with `make clean "
               "all ARCHS=%d%d`",
               device, properties.name, properties.major, properties.minor, properties.major, properties.minor));
  }
  return NotThere(Format("GPU %d (%s) cannot be used: %s", device, properties.name, Said(error).c_str()));
}

}  // namespace

std::optional<Error> OpenDevice(const DeviceRequest& request) {
  const Result<int> count = CountDevices();
  if (!count.ok()) return count.error();
  // A launcher may show each rank one GPU of its own: then more ranks than GPUs are right, and DeviceIdentity tells the
  // GPUs apart.
  const int device = request.shared ? 0 : request.local_rank % count.value();
  if (!request.shared && request.ranks_on_host > count.value() && count.value() > 1) {
    return NotThere(
        Format("%d ranks were started on a host that has %d GPUs: a rank needs a GPU of its own (`make "
               "COMM=local` builds a program whose ranks share one)",
               request.ranks_on_host, count.value()));
  }
  if (std::optional<Error> error = TryDevice(device)) return error;
  State();
  return std::nullopt;
}

std::string DeviceIdentity() {
  const int device = State().device;
  cudaDeviceProp properties;
  CheckCuda(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  std::string id;
  for (const char byte : properties.uuid.bytes) id += Format("%02x", static_cast<unsigned char>(byte));
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  return Format("%s GPU %d of host %s (%s)", id.c_str(), device, host, properties.name);
}

void CheckCuda(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  Die(IsEnvironment(error) ? ExitCode::kEnvironment : ExitCode::kFailed, Format("%s: %s", what, Said(error).c_str()));
}

}  // namespace cleave::runtime
