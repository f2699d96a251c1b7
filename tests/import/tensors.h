// Tensors of files, for the interpreter: weights by their names, and arrays of integers.
#ifndef CLEAVE_TESTS_IMPORT_TENSORS_H_
#define CLEAVE_TESTS_IMPORT_TENSORS_H_

#include <string>

#include "ir/proof/interpret/interpret.h"
#include "tools/weights/source.h"

namespace cleave::tests {

// A failure of the test where it cannot be read.
ir::Tensor TensorOf(const tools::WeightSource& source, const std::string& name);
ir::Tensor ArrayOf(const std::string& npy_file);

}  // namespace cleave::tests

#endif  // CLEAVE_TESTS_IMPORT_TENSORS_H_
