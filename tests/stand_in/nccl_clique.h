// Private to tests/stand_in: ranks that are connected by a communicator of the stand-in for NCCL.
#ifndef STAND_IN_NCCL_CLIQUE_H_
#define STAND_IN_NCCL_CLIQUE_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "include/nccl.h"

namespace stand_in {

enum class CallKind { kAllReduce, kReduce, kBroadcast, kAllGather, kReduceScatter, kSend, kReceive };

// A collective, or a message, as one rank asks for it.
struct Call {
  CallKind kind = CallKind::kAllReduce;
  const void* send = nullptr;
  void* receive = nullptr;
  size_t count = 0;
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t operation = ncclSum;
  int peer = 0;                                                // The root, or the other rank of a message.
  bool sends_registered = false, receives_registered = false;  // Memory that its rank has registered.
};

// A call that the others know of.
struct Posted {
  Call call;
  bool done = false;
};

inline bool IsMessage(const Call& call) { return call.kind == CallKind::kSend || call.kind == CallKind::kReceive; }

// Memory that a call of a rank reads and writes. Null where there is none.
struct CallMemory {
  const char* send = nullptr;
  size_t send_bytes = 0;
  const char* receive = nullptr;
  size_t receive_bytes = 0;
};
CallMemory MemoryOf(const Call& call, int rank, int ranks);

// Prints what was forbidden in the use of NCCL, and aborts: calls in which NCCL would hang, or compute nonsense.
[[noreturn]] void RefuseCalls(const char* what);

// One lock of the process protects all of it.
std::mutex& NcclMutex();
std::condition_variable& NcclChanged();

class Clique {
 public:
  explicit Clique(int ranks) : devices_(static_cast<size_t>(ranks), kNobody), calls_made_(devices_.size(), 0) {}

  int ranks() const { return static_cast<int>(devices_.size()); }

  // A rank joins, once.
  void Join(int rank, int device);
  bool IsComplete() const;

  // The host of a rank comes to a call. NCCL connects the ranks when they first need it, and their hosts wait for that:
  // all of them at the first collective, two of them at their first message in one direction.
  void Arrive(int rank, const Call& call);
  bool IsConnected(int rank, const Call& call) const;

  // Whether the hosts of all others have come to their first collective.
  bool OthersWaitFor(int rank) const;

  // The device of a rank comes to a call. The last call that a collective needs does its work.
  std::shared_ptr<Posted> Post(int rank, const Call& call);

  void Fail(ncclResult_t why) {
    if (failure_ == ncclSuccess) failure_ = why;
  }
  ncclResult_t failure() const { return failure_; }

 private:
  static constexpr int kNobody = -1;

  // The calls of all ranks that belong together, by rank.
  using Collective = std::vector<std::shared_ptr<Posted>>;

  // Who sends and who receives. REQUIRES: it is a message.
  static std::pair<int, int> WayOf(int rank, const Call& call);

  void Match(std::deque<std::shared_ptr<Posted>>& sends, std::deque<std::shared_ptr<Posted>>& receives);

  std::vector<int> devices_;               // By rank.
  std::set<int> arrived_;                  // Ranks, at their first collective.
  std::set<std::pair<int, int>> senders_;  // By who sends and who receives: whether the sender has arrived.
  std::set<std::pair<int, int>> receivers_;
  std::vector<uint64_t> calls_made_;                                          // Collectives, by rank.
  std::map<uint64_t, Collective> under_way_;                                  // By number.
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Posted>>> sends_;  // By who sends and who receives.
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Posted>>> receives_;
  ncclResult_t failure_ = ncclSuccess;
};

}  // namespace stand_in

#endif  // STAND_IN_NCCL_CLIQUE_H_
