// Folders of images by class as a source of samples.
#ifndef CLEAVE_RUNTIME_DATA_IMAGE_FOLDERS_H_
#define CLEAVE_RUNTIME_DATA_IMAGE_FOLDERS_H_

#include <cstdint>
#include <vector>

#include "runtime/data/data.h"

namespace cleave::runtime {

// Folders for `train`, and perhaps for `test`. Each folder in them is a class, numbered in the order of the names of
// those of `train`, with PNG and JPEG files. The fields are image, [batch, channels, rows, columns] with 1 or 3
// channels, and label. The files stay where they are: each rank decodes those of which it holds a piece, when a step
// needs them.
DataSpec ImageFolders(std::vector<InputFile> folders, ImageReading reading, int64_t skip_bad = 0);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DATA_IMAGE_FOLDERS_H_
