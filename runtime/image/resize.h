// Images in other sizes. Reading guide: a row of the result is a weighted sum of rows of the image, and so is a column;
// Weights says of which. A pixel's weights are a triangle around its place (bilinear), as wide as the image is reduced,
// so that all pixels count (antialiased). The numbers are those of Pillow, bit for bit: weights in 2^22ths, columns
// before rows, bytes in between. Its cost is that of the pixels that the part needs.
#ifndef CLEAVE_RUNTIME_IMAGE_RESIZE_H_
#define CLEAVE_RUNTIME_IMAGE_RESIZE_H_

#include <cstdint>

#include "runtime/image/image.h"

namespace cleave::runtime {

struct ImageSize {
  int64_t rows = 0;
  int64_t columns = 0;
};

struct ImagePart {
  int64_t top = 0;
  int64_t left = 0;
  int64_t rows = 0;
  int64_t columns = 0;
};

// The size of an image whose shorter side becomes `side`; the other one is rounded down.
ImageSize WithShorterSide(ImageSize size, int64_t side);

// So many rows and columns in the middle. Where it lies between two places it is the even one, as in torchvision.
ImagePart MiddleOf(ImageSize size, int64_t rows, int64_t columns);

// A part of what `image` is in another size. REQUIRES: the part lies within `size`.
Image ResizedPart(const Image& image, ImageSize size, ImagePart part);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_IMAGE_RESIZE_H_
