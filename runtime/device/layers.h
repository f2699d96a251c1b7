// The tensors of equal layers in an arena.
//
//   struct Layer {
//     const Arena& arena;
//     const int64_t i;
//     float* const weight = arena.At<float>(4096 + i * 1024);
//   };
//   const std::vector<Layer> layers = MakeLayers<Layer>(arena, 0, 12);
#ifndef CLEAVE_RUNTIME_DEVICE_LAYERS_H_
#define CLEAVE_RUNTIME_DEVICE_LAYERS_H_

#include <cstdint>
#include <vector>

#include "runtime/device/device.h"

namespace cleave::runtime {

// Layers first, first + step, …: `count` of them.
template <typename Layer>
std::vector<Layer> MakeLayers(const Arena& arena, int64_t first, int64_t count, int64_t step = 1) {
  std::vector<Layer> layers;
  for (int64_t n = 0; n < count; ++n) layers.push_back(Layer{arena, first + n * step});
  return layers;
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DEVICE_LAYERS_H_
