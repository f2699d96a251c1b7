#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/stream_word.h"

namespace cleave::runtime {
namespace {

// Called by one thread of the block.
__global__ void WriteWord(uint64_t word, volatile uint64_t* place) {
  if (threadIdx.x == 0) *place = word;
}

CUresult WriteValue(PFN_cuStreamWriteValue64_v11070 write, cudaStream_t stream, uint64_t* place, uint64_t value) {
  return write(stream, reinterpret_cast<CUdeviceptr>(place), value, CU_STREAM_WRITE_VALUE_DEFAULT);
}

// The driver's function, if the stream can write there both at once and in recorded work; else null.
PFN_cuStreamWriteValue64_v11070 FindWrite(cudaStream_t stream, uint64_t* place, uint64_t value) {
  constexpr unsigned kVersion = 11070;  // The first that can be captured.
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion("cuStreamWriteValue64", &found, kVersion, cudaEnableDefault, &status);
  if (error != cudaSuccess || status != cudaDriverEntryPointSuccess) {
    cudaGetLastError();
    return nullptr;
  }
  const auto write = reinterpret_cast<PFN_cuStreamWriteValue64_v11070>(found);
  if (WriteValue(write, stream, place, value) != CUDA_SUCCESS) return nullptr;
  CheckCuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  const CUresult captured = WriteValue(write, stream, place, value);
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
  cudaGetLastError();  // A capture in which something was refused is no failure here.
  if (graph != nullptr) cudaGraphDestroy(graph);
  return captured == CUDA_SUCCESS && ended == cudaSuccess ? write : nullptr;
}

}  // namespace

StreamWord::StreamWord(uint64_t* place) {
  CheckCuda(cudaHostGetDevicePointer(&on_device_, place, 0), "cudaHostGetDevicePointer");
  write_ = FindWrite(CurrentStream(), on_device_, *place);
}

void StreamWord::Write(uint64_t word) {
  if (write_ == nullptr) return Launch(WriteWord, {1, 32}, word, on_device_);
  const CUresult result = WriteValue(write_, CurrentStream(), on_device_, word);
  CheckCuda(result == CUDA_SUCCESS ? cudaSuccess : cudaErrorUnknown, "cuStreamWriteValue64");
}

}  // namespace cleave::runtime
