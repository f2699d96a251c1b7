// Tensors in files of the safetensors format as a source of samples.
#ifndef CLEAVE_RUNTIME_DATA_TENSOR_FILES_H_
#define CLEAVE_RUNTIME_DATA_TENSOR_FILES_H_

#include <vector>

#include "runtime/data/data.h"

namespace cleave::runtime {

// Files for `train`, and perhaps for `test`; their paths may be patterns. Each has the tensor that `tensors` names for
// an input, whose first dimension counts the samples of the file. Floats, and integers of 8 bits, become f32; integers
// become i32. The samples stay in the files, of which each rank reads its pieces.
DataSpec TensorFiles(std::vector<InputFile> files, std::vector<InputColumns> tensors);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DATA_TENSOR_FILES_H_
