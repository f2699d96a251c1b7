// Files of numbered tokens as a source of samples: what tokenizers write, nothing but numbers of 8, 16 or 32 bits.
#ifndef CLEAVE_RUNTIME_DATA_TOKEN_FILES_H_
#define CLEAVE_RUNTIME_DATA_TOKEN_FILES_H_

#include <vector>

#include "runtime/data/data.h"

namespace cleave::runtime {

// Files for `train`, and perhaps for `test`; their paths may be patterns. A sample is seq consecutive tokens of one
// file (tokens) and the same shifted by one (next). Samples do not overlap: each token is predicted once. Where no file
// is for testing, the last tenth of the samples is. `bits` of a token, little endian; 0: as the header of llm.c says,
// which is taken for one in any case. The tokens stay in the files, of which each rank reads those of its samples.
DataSpec TokenFiles(std::vector<InputFile> files, int bits);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DATA_TOKEN_FILES_H_
