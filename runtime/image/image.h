// An image of bytes, as files hold it.
//
//   Result<Image> image = DecodePng(bytes);              // runtime/image/png
//   const Image grey = InChannels(image.value(), 1);
//   const Image middle = ResizedPart(grey, {256, 341}, {16, 58, 224, 224});  // runtime/image/resize.h
#ifndef CLEAVE_RUNTIME_IMAGE_IMAGE_H_
#define CLEAVE_RUNTIME_IMAGE_IMAGE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace cleave::runtime {

struct Image {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t channels = 3;         // 1: grey; 3: red, green and blue.
  std::vector<uint8_t> pixels;  // Row by row, the channels of a pixel beside each other.
};

// What is wrong with an image of this size; empty where nothing is. A header of a few bytes can name any size.
std::string SizeMistake(int64_t rows, int64_t columns);

// The same in 1 or 3 channels. Grey is the luma of ITU-R 601, rounded as Pillow does.
Image InChannels(Image image, int64_t channels);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_IMAGE_IMAGE_H_
