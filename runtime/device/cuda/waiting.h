// How the host waits for a rank's GPU. While it waits, it checks again and again for a failure that would make the GPU
// wait for ever, such as a collective whose other members are gone.
#ifndef CLEAVE_RUNTIME_DEVICE_CUDA_WAITING_H_
#define CLEAVE_RUNTIME_DEVICE_CUDA_WAITING_H_

#include <cuda_runtime.h>

#include <functional>

namespace cleave::runtime {

// `look` is called at least once in every WaitForStream of this thread, and ends the program where it must; an empty
// function: nothing is looked at.
void WhileWaiting(std::function<void()> look);

// Returns when all work of the stream is done.
void WaitForStream(cudaStream_t stream);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DEVICE_CUDA_WAITING_H_
