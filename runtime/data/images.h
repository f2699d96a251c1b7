// Private to runtime/data: labelled grey images, as mnist and digits give them: the fields image and label.
#ifndef CLEAVE_RUNTIME_DATA_IMAGES_H_
#define CLEAVE_RUNTIME_DATA_IMAGES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/data/source.h"

namespace cleave::runtime {

// The fields' numbers.
constexpr int kImage = 0;
constexpr int kLabel = 1;

struct LabelledImages {
  int64_t rows = 28;
  int64_t columns = 28;
  std::vector<uint8_t> pixels;  // One image after another, row-major, 0 is background.
  std::vector<uint8_t> labels;
  // Where images are drawn when they are needed: writes the pixels of one of them. Is called from several threads.
  std::function<void(int64_t image, uint8_t* pixels)> draw = nullptr;
};

// The value of a pixel for the model: MNIST's mean becomes 0 and its deviation 1.
inline float NormalisedPixel(int pixel) { return (static_cast<float>(pixel) / 255.0f - 0.1307f) / 0.3081f; }

// A source with the fields image (f32) and label (i32 or f32). Checks the inputs' shapes and types. `name` is for
// messages.
Result<OpenedSource> MakeImageSource(const std::string& name, const OpenRequest& request, LabelledImages train,
                                     LabelledImages test);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DATA_IMAGES_H_
