// Private to runtime/comm/gloo: a Transport by Gloo's collectives.
//
// Each group has its own connections, between its members only. The messages of a call carry the call's number within
// its group, so that they are not taken for those of another call.
//
//   all_reduce, broadcast, barrier     Gloo's of that name: ring, binomial tree, dissemination
//   all_gather, all_to_all             gloo::allgatherv (ring), gloo::alltoallv (each to each)
//   reduce_scatter                     gloo::alltoallv of the pieces, then the sum in the order of members. Gloo's own
//                                      class for it has to be built anew for every pointer, overwrites its input, and
//                                      takes memory twice the size of that input
//   send_receive                       messages by Gloo's unbound buffers
#ifndef CLEAVE_RUNTIME_COMM_GLOO_TRANSPORT_H_
#define CLEAVE_RUNTIME_COMM_GLOO_TRANSPORT_H_

#include <functional>
#include <memory>
#include <string>

#include "runtime/comm/transport.h"
#include "runtime/error/error.h"
#include "runtime/rendezvous/membership.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {

// For the members of a meeting that has come together. `timeout`: seconds in which they must connect. The members tell
// each other what `watch` says, when one of them asks. `end` is called, on another thread and at most once, when the
// job must end. An Error has the words of the library.
Result<std::unique_ptr<Transport>> MakeGlooTransport(std::unique_ptr<Membership> membership, double timeout,
                                                     Watch& watch, std::function<void(const Error&)> end);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_GLOO_TRANSPORT_H_
