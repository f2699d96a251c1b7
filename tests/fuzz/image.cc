// A PNG or JPEG file: it is refused, or a part of it can be had in another size.
#include "runtime/image/image.h"

#include <cstdlib>
#include <utility>

#include "runtime/image/jpeg/jpeg.h"
#include "runtime/image/png/png.h"
#include "runtime/image/resize.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cleave::runtime;
  for (const auto decode : {DecodePng, DecodeJpeg}) {
    Result<Image> image = decode(data, size);
    if (!image.ok()) {
      if (image.error().message.empty()) std::abort();
      continue;
    }
    const Image grey = InChannels(std::move(image.value()), 1);
    if (static_cast<int64_t>(grey.pixels.size()) != grey.rows * grey.columns) std::abort();
    const ImageSize other = WithShorterSide({grey.rows, grey.columns}, 5);
    ResizedPart(grey, other, MiddleOf(other, 3, 5));
  }
  return 0;
}
