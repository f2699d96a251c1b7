// IDX files, the format of MNIST: a magic number that gives the element type and the number of dimensions, the sizes,
// the values; everything big-endian. http://yann.lecun.com/exdb/mnist
#ifndef CLEAVE_RUNTIME_DATA_IDX_H_
#define CLEAVE_RUNTIME_DATA_IDX_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/error/error.h"

namespace cleave::runtime {

// A tensor of bytes.
struct Idx {
  std::vector<int64_t> sizes;
  std::vector<uint8_t> values;
};

// The file `path`, or `path`.gz, with `dimensions` dimensions of unsigned bytes. Compressed content is recognised by
// its first bytes. Every Error names the file and what was expected and found.
Result<Idx> ReadIdx(const std::string& path, int dimensions);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DATA_IDX_H_
