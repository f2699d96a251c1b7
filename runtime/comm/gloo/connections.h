// Private to runtime/comm/gloo: connections between the members of a group.
#ifndef CLEAVE_RUNTIME_COMM_GLOO_CONNECTIONS_H_
#define CLEAVE_RUNTIME_COMM_GLOO_CONNECTIONS_H_

#include <gloo/context.h>
#include <gloo/transport/device.h>

#include <chrono>
#include <memory>
#include <vector>

#include "runtime/rendezvous/membership.h"

namespace cleave::runtime {

// A job that stands still is ended by the watchdog of runtime/trace, not by Gloo.
constexpr std::chrono::hours kForever(24 * 365);

// Throws the exceptions of Gloo.
class Connections {
 public:
  // `timeout`: seconds that the others may take to connect.
  Connections(Membership& membership, double timeout);

  // Connects all members of a group with each other, and with nobody else: the ranks of the context are members'
  // numbers. `members`: ranks of the world, by member. Called by all ranks of the world, for groups of one size.
  std::shared_ptr<gloo::Context> Connect(const std::vector<int>& members, int index);

 private:
  Membership& membership_;
  const std::chrono::milliseconds timeout_;
  std::shared_ptr<gloo::transport::Device> device_;  // One thread that sends and receives, for all groups.
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_GLOO_CONNECTIONS_H_
