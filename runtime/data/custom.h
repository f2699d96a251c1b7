// Samples that functions of the model's own make.
#ifndef CLEAVE_RUNTIME_DATA_CUSTOM_H_
#define CLEAVE_RUNTIME_DATA_CUSTOM_H_

#include <cstdint>
#include <vector>

#include "runtime/custom/view.h"
#include "runtime/data/data.h"

namespace cleave::runtime {

// One function for each input: it writes what the rank holds of the input of sample `sample`, the piece that the view
// is; `is_test`: of the test part, whose samples are counted by themselves. Functions are called from several threads,
// and give the same values whenever they are called.
DataSpec CustomSamples(std::vector<SampleFunction> functions, int64_t train, int64_t test);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DATA_CUSTOM_H_
