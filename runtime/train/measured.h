// Private to runtime/train: what a run took, as all ranks measured it.
#ifndef CLEAVE_RUNTIME_TRAIN_MEASURED_H_
#define CLEAVE_RUNTIME_TRAIN_MEASURED_H_

#include <cstdint>

#include "runtime/comm/comm.h"
#include "runtime/train/report.h"
#include "runtime/train/train.h"

namespace cleave::runtime {

// Writes memory, traffic and the exit code into the record, gathered from all ranks. `copy_bytes`: of the copy that a
// checkpoint is made from, 0 without one. `data_bytes`: of the data set. Called by all ranks.
void MeasureRun(Comm& comm, const TrainingProgram& program, ExitCode code, int64_t copy_bytes, int64_t data_bytes,
                RunRecord& record);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_TRAIN_MEASURED_H_
