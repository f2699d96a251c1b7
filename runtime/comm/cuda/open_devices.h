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

// Opens this rank's GPU (runtime/device). Returns an Error, the same on all ranks, when a rank has no GPU, or when two
// ranks have the same GPU and may not share it.
std::optional<Error> OpenDevices(Comm::Impl& job, bool shared);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_CUDA_OPEN_DEVICES_H_
