// Arrays in .npy files as a source of samples.
#ifndef CLEAVE_RUNTIME_DATA_NPY_H_
#define CLEAVE_RUNTIME_DATA_NPY_H_

#include <vector>

#include "runtime/data/data.h"

namespace cleave::runtime {

// A .npy file for each input: its first dimension counts the samples. All of them train. They stay in the files, of
// which each rank reads its pieces.
DataSpec Npy(std::vector<InputFile> files);

// A .npy file of the input's own, in which all of it stands, or with one dimension more a record of it for each step:
// after the last one steps begin again with the first.
RecordsFile OnceFromNpy(std::string path);
RecordsFile EachStepFromNpy(std::string path);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DATA_NPY_H_
