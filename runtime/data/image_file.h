// Private to runtime/data: image files, PNG and JPEG by what they contain, whatever they are called.
#ifndef CLEAVE_RUNTIME_DATA_IMAGE_FILE_H_
#define CLEAVE_RUNTIME_DATA_IMAGE_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/image/image.h"

namespace cleave::runtime {

// Whether a file of this name is taken for an image: .png, .jpg, .jpeg, in any case.
bool IsNamedLikeImage(const std::string& name);

// An Error where the file cannot be read, is no image, or ends too early. Looks at its beginning and its end; where the
// end is none of an image, decodes it.
std::optional<Error> CheckImageFile(const std::string& path);

// What a file that was read contains. `path` is for the message of the Error.
Result<Image> DecodeImageFile(const std::string& path, const std::vector<uint8_t>& bytes);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DATA_IMAGE_FILE_H_
