// Private to runtime/train: the parameters of a program whose ranks do not all have the same ones.
#ifndef CLEAVE_RUNTIME_TRAIN_PARAMETERS_H_
#define CLEAVE_RUNTIME_TRAIN_PARAMETERS_H_

#include <optional>
#include <vector>

#include "runtime/comm/comm.h"
#include "runtime/train/train.h"

namespace cleave::runtime {

// The parameters of all stages of a pipeline, the first stage's first, with the same layouts on all ranks: `own` has
// those of this rank's stage, and those of others have no values here. `stage_axis`: of the mesh; nullopt where the
// program is no pipeline and all ranks have the same parameters. Called by all ranks.
std::vector<ParameterView> ParametersOfAllStages(Comm& comm, std::optional<int> stage_axis,
                                                 std::vector<ParameterView> own);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TRAIN_PARAMETERS_H_
