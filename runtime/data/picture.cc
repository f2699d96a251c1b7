#include "runtime/data/picture.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/image/resize.h"

namespace cleave::runtime {
namespace {

// Parts that are tried before the middle is taken: one that is drawn may lie outside of the image.
constexpr uint64_t kTries = 10;

// A number from 0 to `most`.
int64_t AtMost(uint32_t word, int64_t most) {
  return static_cast<int64_t>(uint64_t{word} * static_cast<uint64_t>(most + 1) >> 32);
}

// The size that an image gets before it is cropped.
ImageSize SizeFor(const Image& image, const Picture& picture, int64_t shorter_side) {
  if (shorter_side > 0) return WithShorterSide({image.rows, image.columns}, shorter_side);
  // It covers what the model sees.
  const int64_t rows = picture.rows, columns = picture.columns;
  if (rows * image.columns >= columns * image.rows) return {rows, rows * image.columns / image.rows};
  return {columns * image.rows / image.columns, columns};
}

// A part of 8 % of the image up to all of it, 3:4 to 4:3 (Szegedy and others, Going Deeper with Convolutions, 2014), as
// torchvision's RandomResizedCrop draws it.
ImagePart ScaledPart(const Image& image, const Sample& sample, PhiloxKey key) {
  const double all = static_cast<double>(image.rows) * static_cast<double>(image.columns);
  for (uint64_t i = 0; i < kTries; ++i) {
    // Places behind those of all samples.
    const uint64_t place = (uint64_t{1} << 40) + static_cast<uint64_t>(sample.number) * kTries + i;
    const PhiloxBlock words = PhiloxAt(key, place, static_cast<uint64_t>(sample.epoch));
    const double area = all * (0.08 + 0.92 * static_cast<double>(UnitFloat(words[0])));
    const double ratio = std::pow(4.0 / 3.0, 2 * static_cast<double>(UnitFloat(words[1])) - 1);
    const auto columns = static_cast<int64_t>(std::lround(std::sqrt(area * ratio)));
    const auto rows = static_cast<int64_t>(std::lround(std::sqrt(area / ratio)));
    if (rows < 1 || columns < 1 || rows > image.rows || columns > image.columns) continue;
    return {AtMost(words[2], image.rows - rows), AtMost(words[3], image.columns - columns), rows, columns};
  }
  // As much of the middle as may be.
  const int64_t rows = std::min(image.rows, std::max<int64_t>(1, image.columns * 4 / 3));
  const int64_t columns = std::min(image.columns, std::max<int64_t>(1, image.rows * 4 / 3));
  return MiddleOf({image.rows, image.columns}, rows, columns);
}

// Left becomes right.
void Mirror(Image& image) {
  for (int64_t row = 0; row < image.rows; ++row) {
    uint8_t* left = image.pixels.data() + row * image.columns * image.channels;
    uint8_t* right = left + (image.columns - 1) * image.channels;
    for (; left < right; left += image.channels, right -= image.channels) {
      std::swap_ranges(left, left + image.channels, right);
    }
  }
}

}  // namespace

Image PictureIn(Image image, const Picture& picture, const ImageReading& reading, const Sample& sample, PhiloxKey key) {
  image = InChannels(std::move(image), picture.channels);
  const ImageCrop crop = sample.is_trained() ? reading.crop : ImageCrop::kCenter;
  const PhiloxBlock words = PhiloxAt(key, static_cast<uint64_t>(sample.number), static_cast<uint64_t>(sample.epoch));
  ImageSize size = SizeFor(image, picture, reading.shorter_side);
  if (crop == ImageCrop::kScaled) {
    image = ResizedPart(image, {image.rows, image.columns}, ScaledPart(image, sample, key));
    size = {picture.rows, picture.columns};
  }
  ImagePart part = MiddleOf(size, picture.rows, picture.columns);
  if (crop == ImageCrop::kRandom) {
    part.top = AtMost(words[0], size.rows - part.rows);
    part.left = AtMost(words[1], size.columns - part.columns);
  }
  Image seen = ResizedPart(image, size, part);
  if (sample.is_trained() && reading.flip && words[2] >> 31 == 1) Mirror(seen);
  return seen;
}

}  // namespace cleave::runtime
