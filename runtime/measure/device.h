// Private to runtime/measure: what a rank's device does by itself, while those of all ranks do the same.
#ifndef CLEAVE_RUNTIME_MEASURE_DEVICE_H_
#define CLEAVE_RUNTIME_MEASURE_DEVICE_H_

#include <memory>
#include <vector>

#include "runtime/data/data.h"
#include "runtime/device/device.h"
#include "runtime/measure/pace.h"

namespace cleave::runtime {

// "product" of square matrices of 8 and more rows, of "f32", "bf16" and on a GPU "tf32".
void MeasureProducts(const Arena& arena, Pace& pace);

// "memory": reading and writing `size` bytes in all, each once.
void MeasureMemory(const Arena& arena, Pace& pace);

// On a GPU, "kernel": one that has next to nothing to do, among others like it.
void MeasureKernels(const Arena& arena, Pace& pace);

// On a GPU, "host_copy" of `size` bytes "to_host" and "from_host", between the device and memory of the host that
// Arena::OnHost gives.
void MeasureHostCopies(const Arena& arena, Pace& pace);

// Samples that are read again and again, from memory.
struct Samples {
  std::vector<float> images;  // Of a batch.
  std::unique_ptr<Batches> batches;
};

// On a CPU, "input": reading a batch of images into a tensor of `size` bytes. A GPU computes meanwhile. `samples`:
// empty in the first round, which makes them.
void MeasureInput(Pace& pace, Samples& samples);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_MEASURE_DEVICE_H_
