// The tensors of equal layers in an arena.
//
//   struct Layer {
//     const Arena& arena;
//     const int64_t i;
//     float* const weight = arena.At<float>(4096 + i * 1024);
//   };
//   const std::vector<Layer> layers = MakeLayers<Layer>(arena, 12);
#ifndef CLEAVE_RUNTIME_DEVICE_LAYERS_H_
#define CLEAVE_RUNTIME_DEVICE_LAYERS_H_

#include <cstdint>
#include <vector>

#include "runtime/device/device.h"

namespace cleave::runtime {

// Layers 0 to count - 1. `more`: what else a layer is given, behind `i`.
template <typename Layer, typename... More>
std::vector<Layer> MakeLayers(const Arena& arena, int64_t count, const More&... more) {
  std::vector<Layer> layers;
  for (int64_t i = 0; i < count; ++i) layers.push_back(Layer{arena, i, more...});
  return layers;
}

// The same of a stage of a pipeline, in which several micro-batches are under way, each with its own of the tensors
// that wait for a later pass: `Layer` has a field `slot` behind `i`.
//
//   LayersUnderWay<Layer> layers{arena, 2, 12};
//   layers.Begin(5);                    // From here on they are those of micro-batch 5.
//   for (const Layer& layer : layers) …
template <typename Layer>
class LayersUnderWay {
 public:
  template <typename... More>
  LayersUnderWay(const Arena& arena, int64_t slots, int64_t count, const More&... more)
      : layers_(static_cast<size_t>(slots)) {
    for (int64_t slot = 0; slot < slots; ++slot) {
      std::vector<Layer>& layers = layers_[static_cast<size_t>(slot)];
      for (int64_t i = 0; i < count; ++i) layers.push_back({arena, i, slot, more...});
    }
  }

  void Begin(int64_t micro_batch) { slot_ = static_cast<size_t>(micro_batch) % layers_.size(); }

  const Layer& operator[](int64_t n) const { return layers_[slot_][static_cast<size_t>(n)]; }
  auto begin() const { return layers_[slot_].begin(); }
  auto end() const { return layers_[slot_].end(); }

 private:
  std::vector<std::vector<Layer>> layers_;
  size_t slot_ = 0;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DEVICE_LAYERS_H_
