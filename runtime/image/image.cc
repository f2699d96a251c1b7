#include "runtime/image/image.h"

#include <cinttypes>
#include <utility>

#include "runtime/error/error.h"

namespace cleave::runtime {
namespace {

constexpr int64_t kMostPixels = int64_t{1} << 27;

}  // namespace

std::string SizeMistake(int64_t rows, int64_t columns) {
  if (rows < 1 || columns < 1) return "has no pixels";
  if (rows <= kMostPixels / columns) return "";
  return Format("is an image of %" PRId64 "x%" PRId64 " pixels, and at most %" PRId64 " are read", rows, columns,
                kMostPixels);
}

Image InChannels(Image image, int64_t channels) {
  if (image.channels == channels) return image;
  Image result = {image.rows, image.columns, channels, {}};
  const auto pixels = static_cast<size_t>(image.rows * image.columns);
  result.pixels.resize(pixels * static_cast<size_t>(channels));
  for (size_t i = 0; i < pixels; ++i) {
    if (channels == 3) {
      for (size_t channel = 0; channel < 3; ++channel) result.pixels[3 * i + channel] = image.pixels[i];
      continue;
    }
    const uint8_t* const color = image.pixels.data() + 3 * i;
    // In 2^16ths: 0.299, 0.587, 0.114 and a half.
    result.pixels[i] = static_cast<uint8_t>((color[0] * 19595 + color[1] * 38470 + color[2] * 7471 + 0x8000) >> 16);
  }
  return result;
}

}  // namespace cleave::runtime
