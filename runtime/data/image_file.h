// Private to runtime/data: image files, PNG and JPEG by what they contain, whatever they are called.
#ifndef CLEAVE_RUNTIME_DATA_IMAGE_FILE_H_
#define CLEAVE_RUNTIME_DATA_IMAGE_FILE_H_

#include <optional>
#include <string>

#include "runtime/error/error.h"
#include "runtime/image/image.h"

namespace cleave::runtime {

// Whether a file of this name is taken for an image: .png, .jpg, .jpeg, in any case.
bool IsNamedLikeImage(const std::string& name);

// An Error where the file cannot be read, is no image, or ends too early. Looks at its beginning and its end; where the
// end is none of an image, decodes it.
std::optional<Error> CheckImageFile(const std::string& path);

Result<Image> ReadImageFile(const std::string& path);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DATA_IMAGE_FILE_H_
