// PNG files, by libpng.
//
//   Result<Image> image = DecodePng(bytes.data(), bytes.size());
#ifndef CLEAVE_RUNTIME_IMAGE_PNG_PNG_H_
#define CLEAVE_RUNTIME_IMAGE_PNG_PNG_H_

#include <cstddef>
#include <cstdint>

#include "runtime/error/error.h"
#include "runtime/image/image.h"

namespace cleave::runtime {

// The image in a file, grey or in three colours. The Error says what is wrong with the file, in the form "ends in the
// middle of its data"; the caller puts the file's name in front.
Result<Image> DecodePng(const uint8_t* bytes, size_t size);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_IMAGE_PNG_PNG_H_
