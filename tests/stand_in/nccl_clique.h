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
  int peer = 0;  // The root, or the other rank of a message.
};

// A call that the others know of.
struct Posted {
  Call call;
  bool done = false;
};

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

  // Makes a rank's call known. The last call that a collective needs does its work.
  std::shared_ptr<Posted> Post(int rank, const Call& call);

  // Whether all others have asked for the collective that is the rank's next.
  bool OthersWaitFor(int rank) const;

  void Fail(ncclResult_t why) {
    if (failure_ == ncclSuccess) failure_ = why;
  }
  ncclResult_t failure() const { return failure_; }

 private:
  static constexpr int kNobody = -1;

  // The calls of all ranks that belong together, by rank.
  using Collective = std::vector<std::shared_ptr<Posted>>;

  void Match(std::deque<std::shared_ptr<Posted>>& sends, std::deque<std::shared_ptr<Posted>>& receives);

  std::vector<int> devices_;                                                  // By rank.
  std::vector<uint64_t> calls_made_;                                          // Collectives, by rank.
  std::map<uint64_t, Collective> under_way_;                                  // By number.
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Posted>>> sends_;  // By who sends and who receives.
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Posted>>> receives_;
  ncclResult_t failure_ = ncclSuccess;
};

}  // namespace stand_in

#endif  // STAND_IN_NCCL_CLIQUE_H_
