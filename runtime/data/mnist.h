// MNIST as a source of samples.
#ifndef CLEAVE_RUNTIME_DATA_MNIST_H_
#define CLEAVE_RUNTIME_DATA_MNIST_H_

#include <string>

#include "runtime/data/data.h"

namespace cleave::runtime {

// The four IDX files of MNIST in a folder, each plain or .gz. Images are (x / 255 - 0.1307) / 0.3081, 28x28 (or what
// the files say).
DataSpec Mnist(std::string folder);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DATA_MNIST_H_
