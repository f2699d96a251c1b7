// A text as a source of samples.
#ifndef CLEAVE_RUNTIME_DATA_TOKENS_H_
#define CLEAVE_RUNTIME_DATA_TOKENS_H_

#include <string>

#include "runtime/data/data.h"

namespace cleave::runtime {

// A text file as bytes: a sample is seq consecutive ones (tokens) and the same shifted by one (next). The first 90 %
// train, the rest tests. A share that is set aside is one of the bytes that train. When a byte is not below the input's
// limit, the file's distinct bytes are numbered in byte order instead, if there are few enough.
DataSpec Tokens(std::string path);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DATA_TOKENS_H_
