// Private to runtime/data: which pixels of an image a model sees.
#ifndef CLEAVE_RUNTIME_DATA_PICTURE_H_
#define CLEAVE_RUNTIME_DATA_PICTURE_H_

#include <cstdint>

#include "runtime/data/data.h"
#include "runtime/data/source.h"
#include "runtime/image/image.h"
#include "runtime/random/philox.h"

namespace cleave::runtime {

// What the model's input is: pixels of a size, grey or in colours.
struct Picture {
  int64_t channels = 3;
  int64_t rows = 0;
  int64_t columns = 0;
};

// What of an image becomes the picture of a sample. What is random is a function of the key, the sample and its epoch.
Image PictureIn(Image image, const Picture& picture, const ImageReading& reading, const Sample& sample, PhiloxKey key);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DATA_PICTURE_H_
