// For implementations of runtime/comm: what a Comm holds, and how its calls are counted, watched and checked.
#ifndef CLEAVE_RUNTIME_COMM_JOB_H_
#define CLEAVE_RUNTIME_COMM_JOB_H_

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/comm/comm.h"
#include "runtime/comm/message_plan.h"
#include "runtime/comm/transport.h"
#include "runtime/device/streams.h"
#include "runtime/device/workspace.h"

namespace cleave::runtime {

struct Comm::Impl {
  Impl(const Mesh& mesh, Watch& watch) : mesh(mesh), watch(watch) {}

  struct GroupState {
    std::vector<int> axes;
    int lane = 0;
    Group group;
    std::vector<Way> ways;
  };

  const Mesh mesh;
  Watch& watch;
  std::unique_ptr<Transport> transport;  // Null in a job of one rank that nothing started: it communicates nothing.
  int rank = 0;
  int local_ranks = 1;             // On this host.
  int process_ranks = 1;           // In this process.
  std::vector<GroupState> groups;  // Indexed by Group::id; the first is the world.
  KeptScratch send;                // What is packed, and what arrives.
  KeptScratch receive;
  std::map<Outbox, KeptScratch> outboxes;
  bool counting = true;
  bool overlaps = false;  // In an Overlap: what follows need not wait for collectives that are asked for now.
  std::array<Traffic, kCollectiveKinds> traffic;
  std::map<int64_t, CollectiveKind> left_to_thread;  // And not awaited, by number.
  // What the phase that is rehearsed sends and takes; nullopt: none is.
  std::optional<std::vector<PhaseEvent>> rehearsed;

  // Creates the group if it is not there. Called by all ranks.
  GroupState& GroupOn(const std::vector<int>& axes, int lane);

  // Whether a collective that is asked for now is left to the thread that communicates for the rank, by OnThread.
  bool LeavesToThread() const { return CommunicatesOnThread() && overlaps; }
  void OnThread(CollectiveKind kind, std::function<void()> collective);

  // Returns when that thread has done what has a number (EndCommunication), or all. The rank's time until then counts
  // for the last collective of it.
  void Await(int64_t number);
  void AwaitThread();

  // Ends the job where there is a problem.
  void Check(const Problem& problem, CollectiveKind kind) const;

  // Ends the job where a message has more elements than are counted.
  void CheckCount(int64_t count, CollectiveKind kind) const;
  void CheckCounts(const std::vector<int64_t>& counts, CollectiveKind kind) const;

  // Whether messages are exchanged as a plan says.
  bool ExchangesMessages() const;

  // `share` is how much of `bytes` this rank sends, as the number of times (n-1)/n of it.
  void Count(CollectiveKind kind, const Group& group, int64_t bytes, double share) {
    if (!counting) return;
    Traffic& counted = traffic[static_cast<size_t>(kind)];
    ++counted.count;
    counted.bytes += bytes;
    counted.sent_bytes += share * (group.size - 1) / group.size * static_cast<double>(bytes);
  }
  void CountSent(CollectiveKind kind, int64_t bytes) {
    if (counting) traffic[static_cast<size_t>(kind)].sent_bytes += static_cast<double>(bytes);
  }
};

// The device's part of joining: where tensors lie on GPUs, it replaces job.transport by one for device memory, which
// uses the transport that has joined the job. Every rank gets the same answer; an Error is not printed, and the job
// must be left. One implementation is linked: runtime/comm/host, nccl or local/cuda.
std::optional<Error> OnDevice(Comm::Impl& job);

// "m0=2, m1=4"
std::string MeshText(const Mesh& mesh);

// "the plan has 8 ranks (m0=2, m1=2, m2=2)"
std::string PlanText(const Mesh& mesh);

// Prints why the job cannot be joined, on one rank.
Error RefuseToJoin(std::string message);

// What the calling thread does for the rank beside the rank's own thread, as Watch::NumberOfCollective; else -1.
int32_t CollectiveBeside();

// Lives as long as the host is in a collective: the watch knows of it, and its seconds are counted.
class Running {
 public:
  Running(Comm::Impl& job, CollectiveKind kind);
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  Comm::Impl& job_;
  const CollectiveKind kind_;
  double start_;
};

// Lives while communication of tensors is asked for: what is asked for during its life runs beside the kernels of a
// GPU.
class Communicating {
 public:
  Communicating(Comm::Impl& job, CollectiveKind kind)
      : job_(job), running_(job, kind), has_begun_(CollectiveBeside() >= 0 || job.overlaps) {
    if (!has_begun_) BeginCommunication();
    job_.transport->BeginWork(kind);
  }
  ~Communicating() {
    job_.transport->EndWork();
    if (!has_begun_) AwaitCommunication(EndCommunication());
  }
  Communicating(const Communicating&) = delete;
  Communicating& operator=(const Communicating&) = delete;

 private:
  Comm::Impl& job_;
  const Running running_;
  const bool has_begun_;  // By the Overlap that it is part of.
};

// The same for a collective, which is counted.
class Collective {
 public:
  Collective(Comm::Impl& job, CollectiveKind kind, const Group& group, int64_t bytes, double share)
      : communicating_(job, kind) {
    job.Count(kind, group, bytes, share);
  }

 private:
  const Communicating communicating_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_JOB_H_
