// For transports of device memory: gives each rank its GPU, and exchanges texts before there is a Comm.
#ifndef CLEAVE_RUNTIME_COMM_CUDA_OPEN_DEVICES_H_
#define CLEAVE_RUNTIME_COMM_CUDA_OPEN_DEVICES_H_

#include <optional>
#include <string>
#include <vector>

#include "runtime/comm/job.h"
#include "runtime/error/error.h"

namespace cleave::runtime {

// The texts of all ranks, by rank; or, on all of them, the Error of the lowest rank that has one, which names that rank
// unless all have the same.
Result<std::vector<std::string>> GatherResults(Comm::Impl& job, const Result<std::string>& mine);

// Opens this rank's GPU (runtime/device). An Error, the same on all ranks, where one of them has none, or two have the
// same one that are not to share it.
std::optional<Error> OpenDevices(Comm::Impl& job, bool shared);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_CUDA_OPEN_DEVICES_H_
