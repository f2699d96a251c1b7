// Private to runtime/comm: connects ranks that have met, by the library that is linked: runtime/comm/gloo, or
// runtime/comm/meeting/cuda where NCCL connects their GPUs.
#ifndef CLEAVE_RUNTIME_COMM_MEETING_CONNECT_H_
#define CLEAVE_RUNTIME_COMM_MEETING_CONNECT_H_

#include <functional>
#include <memory>

#include "runtime/comm/transport.h"
#include "runtime/error/error.h"
#include "runtime/rendezvous/membership.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {

// For the members of a meeting that has come together. `timeout`: seconds in which they must connect. The members tell
// each other what `watch` says, when one of them asks. `end` is called, on another thread and at most once, when the
// job must end. An Error has the words of the library.
Result<std::unique_ptr<Transport>> ConnectMembers(std::unique_ptr<Membership> membership, double timeout, Watch& watch,
                                                  std::function<void(const Error&)> end);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_MEETING_CONNECT_H_
