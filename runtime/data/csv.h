// Tables of numbers in text files as a source of samples.
#ifndef CLEAVE_RUNTIME_DATA_CSV_H_
#define CLEAVE_RUNTIME_DATA_CSV_H_

#include <cstdint>
#include <vector>

#include "runtime/data/data.h"

namespace cleave::runtime {

// Files for `train`, and perhaps for `test`; their paths may be patterns. The first line of each names its columns,
// every other line is a sample (RFC 4180: fields between commas, in quotes where they have to be). An input is made of
// its columns, in this order; the only name "*" stands for all columns that no input names. Up to `skip_bad` lines that
// have no such numbers are left out; a further one is an Error with file, line and column.
DataSpec Csv(std::vector<InputFile> files, std::vector<InputColumns> columns, int64_t skip_bad);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DATA_CSV_H_
