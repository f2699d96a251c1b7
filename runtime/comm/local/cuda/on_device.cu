// Joining a job whose ranks are threads of one process and share a GPU.
#include <utility>

#include "runtime/comm/cuda/open_devices.h"
#include "runtime/comm/job.h"  // IWYU pragma: associated
#include "runtime/comm/local/cuda/transport.h"
#include "runtime/comm/local/transport.h"

namespace cleave::runtime {

std::optional<Error> OnDevice(Comm::Impl& job) {
  if (std::optional<Error> error = OpenDevices(job, /*shared=*/true)) return error;
  if (job.transport == nullptr) return std::nullopt;
  const int ranks = job.groups[0].group.size;
  if (ranks > kMostLocalMembers) {
    return Error{ExitCode::kInput,
                 Format("%s, and at most %d can share a GPU", PlanText(job.mesh).c_str(), kMostLocalMembers)};
  }
  // The transport that has joined the job is that of runtime/comm/local.
  const std::shared_ptr<LocalRanks> all = static_cast<LocalTransport*>(job.transport.get())->ranks();
  job.transport = std::make_unique<LocalDeviceTransport>(std::move(job.transport), all, job);
  return std::nullopt;
}

}  // namespace cleave::runtime
